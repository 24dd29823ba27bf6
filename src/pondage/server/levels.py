"""What a token may do: each level includes those below it."""

from __future__ import annotations

from enum import IntEnum


class Level(IntEnum):
    """The least that a route asks of a token. OPEN asks for none, and only one route has it."""

    OPEN = 0
    READ = 1
    DEMAND = 2
    OPERATE = 3
    ADMIN = 4

    @classmethod
    def named(cls, name: str) -> Level:
        """Answer the level that a token's row names."""
        return cls[name.upper()]
