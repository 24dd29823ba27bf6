"""New identities: tokens that fence, and public ids that people and paths see."""

from __future__ import annotations

import random
import secrets
from typing import Protocol


class Ids(Protocol):
    """A source of identities; a test gives a seeded one."""

    def new(self, prefix: str) -> str:
        """Answer a new public id or token, made of letters and digits only."""


class RandomIds:
    """Identities that nobody can guess and that never repeat."""

    def new(self, prefix: str) -> str:
        """Answer a new id of 16 random hex digits behind the prefix."""
        return prefix + secrets.token_hex(8)


class SeededIds:
    """Identities of a test: the same seed gives the same ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def new(self, prefix: str) -> str:
        """Answer the next id of the seed."""
        return f"{prefix}{self._random.getrandbits(64):016x}"
