"""Prepared statements: a text that was understood once, and the values that were bound to it last."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass

import pyarrow as pa

from pondage.embedded.question import Parameter

MOST = 1_000
"""So many are remembered; beyond that the one that was used longest ago is forgotten."""


@dataclass(kw_only=True)
class Prepared:
    """A statement of one token, about one environment."""

    sql: str
    environment: str
    token: str
    schema: pa.Schema
    parameters: int
    bound: tuple[Parameter, ...] = ()


class Statements:
    """The prepared statements of a server, by handles that nobody can guess. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, Prepared] = OrderedDict()

    def add(self, prepared: Prepared) -> bytes:
        """Remember a statement, and answer its handle."""
        handle = secrets.token_bytes(16)
        with self._lock:
            self._known[handle] = prepared
            while len(self._known) > MOST:
                self._known.popitem(last=False)
        return handle

    def find(self, handle: bytes, token: str) -> Prepared | None:
        """Answer the statement of a handle, None where it is closed, forgotten or somebody else's."""
        with self._lock:
            found = self._known.get(handle)
            if found is None or found.token != token:
                return None
            self._known.move_to_end(handle)
            return found

    def close(self, handle: bytes, token: str) -> None:
        """Forget a statement."""
        with self._lock:
            if (found := self._known.get(handle)) is not None and found.token == token:
                del self._known[handle]
