"""Deployed code: unpacked under its digest and imported from there, so that a worker needs no copy of the project."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import TypeVar

from pondage.define.component import definition_of
from pondage.define.pond import Pond
from pondage.define.reactor import Reactor
from pondage.errors import PondageError
from pondage.ledger import work
from pondage.ledger.ledger import Ledger
from pondage.read.archive import unpack

Declared = TypeVar("Declared", Pond, Reactor, FunctionType)


class CodeError(PondageError):
    """The deployed code cannot be imported, or does not hold what was declared."""

    code = "CODE"


class DeployedCode:
    """The author's modules of one archive. They are imported when first needed, once for the process."""

    def __init__(self, ledger: Ledger, digest: str, directory: Path) -> None:
        self._ledger = ledger
        self._digest = digest
        self._directory = directory
        self._lock = threading.Lock()
        self._place: Path | None = None

    def place(self) -> Path:
        """Answer where the code is, after making it importable before everything else."""
        with self._lock:
            if self._place is None:
                place = self._directory / self._digest
                if not place.is_dir():
                    unpack(work.archive(self._ledger, self._digest), place, digest=self._digest)
                # In front, so that no installed module of the same name is taken for the author's.
                sys.path.insert(0, os.fspath(place))
                importlib.invalidate_caches()
                self._place = place
            return self._place

    def shown(self, place: str | None) -> str | None:
        """Answer a place in the unpacked code as the author knows it: `ponds.py:7`, relative to the project."""
        if place is None or self._place is None:
            return place
        return place.removeprefix(f"{self._place}{os.sep}")

    def pond(self, entry: str) -> Pond:
        """Answer the author's Pond at `module:attribute`; raises `CodeError`, or what the module raises."""
        return self._found(entry, Pond)

    def reactor(self, entry: str) -> Reactor:
        """Answer the author's reactor at `module:attribute`; raises `CodeError`, or what the module raises."""
        return self._found(entry, Reactor)

    def component(self, entry: str) -> Callable[..., object]:
        """Answer the author's component at `module:function`; raises `CodeError`, or what the module raises."""
        found = self._found(entry, FunctionType)
        if definition_of(found) is None:
            raise CodeError(f"{entry} of the deployed code is no component", hint="declare it with @component")
        return found

    def _found(self, entry: str, kind: type[Declared]) -> Declared:
        place = self.place()
        module_name, _, attribute = entry.partition(":")
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name != module_name:
                raise
            raise CodeError(
                f"the deployed code has no module {module_name}", hint="deploy it again with `pondage deploy`"
            ) from error
        origin = getattr(module, "__file__", None)
        if origin is None or not Path(origin).is_relative_to(place):
            raise CodeError(
                f"module {module_name} was imported from {origin}, not from the deployed code",
                hint="give the module a name that no installed package has",
            )
        found = getattr(module, attribute, None)
        if not isinstance(found, kind):
            raise CodeError(
                f"{entry} of the deployed code is no {kind.__name__}", hint="deploy it again with `pondage deploy`"
            )
        return found
