"""Where in a document one is: steps that become a JSON pointer only when somebody asks.

A hostile document can have long keys above many elements: writing a pointer for each of them would take for ever.
"""

from __future__ import annotations

from typing import NamedTuple

from pondage.define.values.schema import pointed


class Trail(NamedTuple):
    """A step below another one; the first has no parent, and its key is a pointer already."""

    parent: Trail | None
    key: str | int

    def below(self, key: str | int) -> Trail:
        """Go one step further."""
        return Trail(self, key)

    def __str__(self) -> str:
        steps: list[str | int] = []
        here = self
        while here.parent is not None:
            steps.append(here.key)
            here = here.parent
        return "".join([str(here.key), *(pointed("", step) for step in reversed(steps))])


def trail(pointer: str) -> Trail:
    """Begin at a pointer."""
    return Trail(None, pointer)
