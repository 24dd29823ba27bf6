"""Which Ponds were declared, also those whose name another one took: a module only shows the last of a name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pondage.define.pond.pond import Pond

_listening: list[list[Pond]] = []


@contextmanager
def declared_ponds() -> Iterator[list[Pond]]:
    """Answer a list that gets each Pond declared within the block. Outside of it nothing is kept."""
    ponds: list[Pond] = []
    _listening.append(ponds)
    try:
        yield ponds
    finally:
        _listening.remove(ponds)


def tell_declared(pond: Pond) -> None:
    """Tell whoever listens that this Pond was declared."""
    for ponds in _listening:
        ponds.append(pond)
