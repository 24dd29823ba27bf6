"""Which major version of a Pond a source of a reactor reads: it is bound, and stays so, as a Sink is. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from pondage.define.pond.definition import PondDefinition
from pondage.define.reactor.reaction import AccumulatorDeclaration, ReactorDeclaration, ReactorDefinition


def bound_reactors(
    declared: Sequence[ReactorDefinition],
    former: Mapping[str, ReactorDeclaration],
    own: Iterable[PondDefinition],
    others: Iterable[PondDefinition],
) -> list[ReactorDefinition]:
    """Answer reactors with a major for every Pond source that has no minimum.

    One stays on the major that it reads now, by its `former` declaration; a new one is bound to the newest of the
    project's `own` Ponds, else of the `others` that are deployed. What a rollback brings back keeps what it had.
    """
    newest = {**_newest(others), **_newest(own)}
    return [
        msgspec.structs.replace(each, declaration=_bound(each.declaration, former.get(each.name), newest))
        for each in declared
    ]


def rebound_texts(before: ReactorDeclaration, after: ReactorDeclaration) -> tuple[str, ...]:
    """Answer which Ponds are read in another major than before: `by_kind@1 → @2`."""
    majors = _majors(before)
    return tuple(
        f"{each.pond}@{major} → @{each.bound_major}"
        for each in after.accumulators
        if (major := majors.get(each.pond or "")) is not None and each.bound_major not in (None, major)
    )


def _bound(
    declaration: ReactorDeclaration, former: ReactorDeclaration | None, newest: Mapping[str, int]
) -> ReactorDeclaration:
    before = {} if former is None else _majors(former)

    def bound(each: AccumulatorDeclaration) -> AccumulatorDeclaration:
        if each.pond is None or each.bound_major is not None:
            return each
        return msgspec.structs.replace(each, major=before.get(each.pond, newest.get(each.pond)))

    return msgspec.structs.replace(declaration, accumulators=tuple(bound(each) for each in declaration.accumulators))


def _majors(declaration: ReactorDeclaration) -> dict[str, int]:
    return {
        each.pond: each.bound_major
        for each in declaration.accumulators
        if each.pond is not None and each.bound_major is not None
    }


def _newest(ponds: Iterable[PondDefinition]) -> dict[str, int]:
    found: dict[str, int] = {}
    for pond in ponds:
        found[pond.name] = max(pond.major, found.get(pond.name, 0))
    return found
