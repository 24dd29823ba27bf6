"""Ponds whose name a later one of the same file took: the module has only the last, and the first would never run."""

from __future__ import annotations

from collections.abc import Sequence

from pondage.define.pond.pond import Pond
from pondage.errors import DefinitionError, PondageError


def lost_ponds(declared: Sequence[Pond], found: Sequence[Pond]) -> list[PondageError]:
    """Answer an error for each declared Pond that no module has any more, though another line declares its name."""
    errors: list[PondageError] = []
    kept = {id(pond) for pond in found}
    for lost in declared:
        others = (pond for pond in found if pond.name == lost.name and _is_other_line(pond.place, lost.place))
        other = None if id(lost) in kept else next(others, None)
        if other is not None:
            file = _file(other.place).rpartition("/")[2]
            errors.append(
                DefinitionError(
                    f"Pond {lost.name!r} is declared twice in {file}, and Python keeps only the last",
                    hint=f"the other one is at {lost.place}; rename one, or put it into another file",
                    place=other.place,
                    code="DUPLICATE_POND",
                )
            )
    return errors


def _is_other_line(place: str, other: str) -> bool:
    """Answer if both are lines of one file. The same line is one declaration that ran again: a loop, a reload."""
    return place != other and _file(place) == _file(other)


def _file(place: str) -> str:
    return place.rpartition(":")[0]
