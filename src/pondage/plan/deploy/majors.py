"""Major versions that stay: nobody is moved to a newer one by somebody else's deploy. Pure.

A major that leaves a project's files stays deployed, with its own code, while somebody is bound to it; who reads an
older major than there is is told of the newer one, and moves when the author writes it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pondage.define.pond.definition import PondDefinition
from pondage.define.values.names import PondKey, pond_key
from pondage.errors import PondageError
from pondage.plan.deploy.schemas import column_names
from pondage.plan.deploy.values import KeptMajor, Message, PondChange, Problem

Definitions = Mapping[PondKey, PondDefinition]
Columns = Mapping[PondKey, Mapping[str, Collection[str]]]
"""For each Pond the columns that it was seen to read of each table (`by_kind@1.by_kind`)."""


def kept_majors(
    left: Definitions, staying: Definitions, holders: Mapping[PondKey, Sequence[str]], ended: Collection[PondKey]
) -> tuple[KeptMajor, ...]:
    """Answer which of the Ponds that `left` a project's files stay, and for whom.

    `staying` are all others, `holders` what else is bound to a Pond (a trigger, a promotion, a reader in an environment
    below), `ended` those that somebody takes away explicitly. A Pond that leaves as a whole, with its last major, is
    taken away as its author says; but what a kept major reads is kept with it.
    """
    names = {pond.name for pond in staying.values()}
    readers = {key: [one.name for one in staying.values() if key in _read_by(one)] for key in left}
    kept: dict[PondKey, list[str]] = {}
    pending = [key for key, pond in left.items() if pond.name in names and (readers[key] or holders.get(key, ()))]
    while pending:
        key = pending.pop()
        if key in ended or key in kept:
            continue
        kept[key] = [*readers[key], *holders.get(key, ())]
        pending += [source for source in _read_by(left[key]) if source in left]
    for key in kept:
        kept[key] += [str(reader) for reader in kept if key in _read_by(left[reader])]
    return tuple(KeptMajor(key=key, binders=tuple(dict.fromkeys(kept[key]))) for key in sorted(kept))


def require_ended(ended: Collection[str], own: Definitions, mine: Definitions) -> frozenset[PondKey]:
    """Answer the keys that are to be taken away; raises `PondageError` for one that is not there, or still declared."""
    for given in ended:
        if given in own:
            raise PondageError(
                f"{given} is declared in the project's files",
                place=own[PondKey(given)].place or None,
                hint="take it out of the files; then the deploy takes it away, or keeps it while somebody reads it",
                code="STILL_DECLARED",
            )
        if given not in mine:
            known = sorted(key for key in mine if key not in own)
            raise PondageError(
                f"the project has no {given} deployed here",
                hint=f"what has left its files and is still deployed: {', '.join(known) or 'nothing'}",
                code="NO_POND",
            )
    return frozenset(PondKey(given) for given in ended)


def newer_majors(own: Definitions, world: Definitions) -> list[Message]:
    """Answer which Ponds of the project read an older major than there is, and what to write to move."""
    newest: dict[str, int] = {}
    for pond in world.values():
        newest[pond.name] = max(pond.major, newest.get(pond.name, 0))
    return [
        Message(
            kind="newer_major",
            text=f"{pond.name} reads {source.pond}@{source.major}; @{newest[source.pond]} exists: "
            f"write `{source.pond}>={newest[source.pond]}`",
            pond=key,
        )
        for key, pond in sorted(own.items())
        for source in pond.sources
        if source.major is not None and source.major < newest.get(source.pond, 0)
    ]


def rebinding_problems(
    changed: Sequence[PondChange],
    own: Definitions,
    read: Columns,
    schemas: Mapping[str, str],
    anew: Collection[PondKey],
) -> list[Problem]:
    """Answer which Ponds would be bound to a major that has not the columns that they read of the one before.

    `read` is what their Runs were seen to read, by the code that they still have; `schemas` the published ones by
    table. What is computed `anew` may have others: an analysis tells, and else the contract when it is read.
    """
    problems: list[Problem] = []
    for change in changed:
        seen = read.get(change.key, {})
        for rebound in change.rebound:
            before, after = (pond_key(rebound.pond, major) for major in (rebound.before, rebound.after))
            for table, columns in sorted(seen.items()):
                owner, _, ripple = table.rpartition(".")
                schema = schemas.get(f"{after}.{ripple}") if owner == before and after not in anew else None
                missing = sorted(set(columns) - set(column_names(schema))) if schema is not None else []
                if missing:
                    problems.append(_missing(own[change.key], change.key, rebound.text, f"{after}.{ripple}", missing))
    return problems


def _missing(pond: PondDefinition, key: PondKey, rebound: str, table: str, columns: Sequence[str]) -> Problem:
    return Problem(
        code="NO_SUCH_COLUMN",
        message=f"{pond.name} would read {rebound}, but it reads {', '.join(columns)}, which {table} has not",
        pond=key,
        place=pond.place or None,
        hint=f"let {pond.name} read what {table} has, in the same deploy; or stay with the older major",
    )


def _read_by(pond: PondDefinition) -> list[PondKey]:
    return [pond_key(source.pond, source.major) for source in pond.sources if source.major is not None]
