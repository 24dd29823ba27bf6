"""How the schema of a Ripple changes, and which version that calls for. Schemas are Spark's JSON, read without it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pondage.define.pond.definition import PondDefinition
from pondage.plan.deploy.change import Bump
from pondage.plan.deploy.fusion import unfused
from pondage.plan.deploy.graph import in_order, key_of
from pondage.plan.deploy.values import Plan


class _Field(msgspec.Struct):
    name: str
    type: object


class _Schema(msgspec.Struct):
    fields: list[_Field]


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column that was added, removed or changed; `before` and `after` are Spark's JSON of its type."""

    name: str
    before: object = None
    after: object = None


def column_changes(before: str, after: str) -> tuple[Column, ...]:
    """Answer what differs: changed columns in the old order, then removed ones, then added ones in the new order.

    Whether a column may be null does not count: Spark derives it from the plan.
    """
    old, new = _types(before), _types(after)
    return (
        *(
            Column(name=name, before=old[name], after=new[name])
            for name in old
            if name in new and old[name] != new[name]
        ),
        *(Column(name=name, before=old[name]) for name in old if name not in new),
        *(Column(name=name, after=new[name]) for name in new if name not in old),
    )


def column_names(schema: str) -> tuple[str, ...]:
    """Answer the names of a schema's columns; none when it cannot be read."""
    return tuple(_types(schema))


def schema_bump(columns: Sequence[Column], breaks: Sequence[str]) -> Bump | None:
    """Answer the part of the version that readers of the table must see change."""
    if breaks:
        return "major"
    return "minor" if columns else None


def larger(one: Bump | None, other: Bump | None) -> Bump | None:
    """Answer the bump that covers both."""
    order: tuple[Bump | None, ...] = (None, "patch", "minor", "major")
    return max(one, other, key=order.index)


def analysed(plan: Plan, known: Sequence[str], unchanged: Sequence[str]) -> tuple[list[PondDefinition], list[str]]:
    """Answer the project's Ponds, each behind its Sources, and the tables (`sales@1.clean`) whose schema is unknown.

    These are the tables of all Ponds that compute anew, and those without a `known` schema. An Inlet's Ripple in
    `unchanged` gives what it gave: it is not called, because that would ask the world outside.
    """
    own = {key_of(pond): unfused(pond) for pond in plan.ponds}
    ponds = [own[key] for key in in_order(own)]
    anew = set(plan.recomputes)
    asked = [
        table
        for pond in ponds
        for ripple in pond.ripples
        for table in [f"{key_of(pond)}.{ripple.name}"]
        if table not in known or (key_of(pond) in anew and (ripple.tables or table not in unchanged))
    ]
    return ponds, asked


def _types(schema: str) -> dict[str, object]:
    try:
        return {field.name: field.type for field in msgspec.json.decode(schema, type=_Schema).fields}
    except msgspec.MsgspecError:
        return {}
