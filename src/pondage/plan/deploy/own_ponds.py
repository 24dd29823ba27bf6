"""Which Ponds an environment below another one has of its own: those that differ, and those that read them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from pondage.define.pond.definition import PondDefinition
from pondage.define.values.names import PondKey, pond_key
from pondage.plan.deploy.change import change_of
from pondage.plan.deploy.graph import downstream, key_of
from pondage.plan.deploy.planner import PlanError
from pondage.plan.deploy.values import Plan


def own_ponds(
    plan: Plan,
    above: Mapping[PondKey, PondDefinition],
    here: Collection[PondKey],
    *,
    chosen: Sequence[str] = (),
    is_all: bool = False,
) -> frozenset[PondKey]:
    """Answer the Ponds that the environment shall have of its own.

    `above` is what the environments above have, `here` what it has already. Without a choice: what computes something
    else than above, and everything that reads that. With one: these, and what they read that is nowhere above.
    """
    world = {key_of(pond): pond for pond in plan.ponds}
    if is_all:
        return frozenset(world)
    found: Collection[PondKey]
    if chosen:
        found = _with_sources(world, above, [_named(world, name) for name in chosen])
    else:
        found = downstream(world, [key for key, pond in world.items() if _differs(above.get(key), pond)])
    return frozenset(found) | {key for key in here if key in world}


def narrowed(plan: Plan, own: Collection[PondKey], *, parent: str) -> Plan:
    """Answer the plan with these Ponds alone; the others of the project are read from above."""
    return msgspec.structs.replace(
        plan,
        ponds=tuple(pond for pond in plan.ponds if key_of(pond) in own),
        added=tuple(key for key in plan.added if key in own),
        recomputes=tuple(key for key in plan.recomputes if key in own),
        goes_on=tuple(key for key in plan.goes_on if key in own),
        parent=parent,
        borrowed=tuple(key_of(pond) for pond in plan.ponds if key_of(pond) not in own),
    )


def _differs(above: PondDefinition | None, pond: PondDefinition) -> bool:
    change = None if above is None else change_of(above, pond)
    return above is None or (change is not None and change.runs)


def _named(world: Mapping[PondKey, PondDefinition], name: str) -> PondKey:
    matching = [key for key in world if name in (key, key.partition("@")[0])]
    if not matching:
        raise PlanError(
            f"the project declares no Pond {name!r}", hint=f"it declares {', '.join(sorted(world))}", code="NO_POND"
        )
    return max(matching, key=lambda key: world[key].major)


def _with_sources(
    world: Mapping[PondKey, PondDefinition], above: Mapping[PondKey, PondDefinition], start: Sequence[PondKey]
) -> list[PondKey]:
    found, pending = dict.fromkeys(start), list(start)
    while pending:
        for source in world[pending.pop()].sources:
            key = pond_key(source.pond, source.major or 0)
            if key in world and key not in above and key not in found:
                found[key] = None
                pending.append(key)
    return list(found)
