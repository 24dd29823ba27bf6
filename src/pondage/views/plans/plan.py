"""A plan as people and programs read it: every Pond once, with what happens to it."""

from __future__ import annotations

from typing import Literal

import msgspec

from pondage.define.pond.definition import PondDefinition, Triggers
from pondage.define.values.names import pond_key
from pondage.ledger.database.mapping import of_row
from pondage.plan.deploy.reactors import ReactorChange
from pondage.plan.deploy.values import JobChange, Message, Plan, PondChange, Problem, RippleChange
from pondage.plan.flow.exposed import ExposedChange
from pondage.views.words import duration_text


class ColumnDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A column that is added (`before` is null), removed (`after` is null) or gets another type."""

    name: str
    before: str | None = None
    after: str | None = None


class SchemaView(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a Ripple's schema before it runs.

    `unknown`: known after the next run. `breaks` is against the contract of the major version; `problem` says why an
    analysis could not find the schema. `upkeep` says of a table with `mode="auto"` what its Runs can do: `append`,
    `keyed by customer_id`, or that they compute everything, and why.
    """

    ripple: str
    state: Literal["same", "changed", "new", "unknown"]
    columns: tuple[ColumnDifference, ...] = ()
    breaks: tuple[str, ...] = ()
    problem: str | None = None
    upkeep: str | None = None


class FusionView(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of an inner Ripple: fused `into` another, or written when that is null; and why."""

    ripple: str
    into: str | None
    reason: str


class PlannedPond(msgspec.Struct, frozen=True, kw_only=True):
    """What a deploy does to one Pond. `runs`: its next Run computes anew; it still runs only when somebody asks.

    A `kept` one has left the project's files, and stays as it is for those who are bound to it (`kept_for`). `rebound`
    are Sources that are read in another major than before: `by_kind@1 → @2`.
    """

    key: str
    change: Literal["added", "changed", "removed", "unchanged", "kept"]
    version_from: str | None = None
    version_to: str | None = None
    what: tuple[str, ...] = ()
    ripples: tuple[RippleChange, ...] = ()
    sources: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    runs: bool = False
    proposed: str | None = None
    schemas: tuple[SchemaView, ...] = ()
    fuse: bool = False
    fusions: tuple[FusionView, ...] = ()
    kept_for: tuple[str, ...] = ()
    rebound: tuple[str, ...] = ()


class PlanView(msgspec.Struct, frozen=True, kw_only=True):
    """What `pondage deploy` would do. With problems it is refused as a whole.

    `recomputes` are the Ponds that compute anew when they are wanted next, each behind its Sources; those of them in
    `goes_on` have tables that grow, and only take their next batch. `asking` are those of them, or below them, whose
    code has a standing trigger: they want it by themselves. `borrowed` are the project's Ponds that are read from the
    environment `parent`; `exposed` are the components and types that trees may use.
    """

    project: str
    environment: str
    is_empty: bool
    ponds: tuple[PlannedPond, ...]
    messages: tuple[Message, ...]
    problems: tuple[Problem, ...]
    digest: str
    recomputes: tuple[str, ...] = ()
    goes_on: tuple[str, ...] = ()
    asking: tuple[str, ...] = ()
    reactors: tuple[ReactorChange, ...] = ()
    is_analyzed: bool = False
    jobs: tuple[JobChange, ...] = ()
    exposed: tuple[ExposedChange, ...] = ()
    parent: str | None = None
    borrowed: tuple[str, ...] = ()


def plan_view(plan: Plan) -> PlanView:
    """Answer the view of a plan. Pure."""
    definitions = {str(pond_key(pond.name, pond.major)): pond for pond in plan.ponds}
    changes = {str(change.key): change for change in plan.changed}
    ponds = [
        *(_kept(str(key), "added", definitions[key]) for key in plan.added),
        *(_changed(definitions[key], change) for key, change in changes.items()),
        *(PlannedPond(key=key, change="removed") for key in plan.removed),
        *(PlannedPond(key=each.key, change="kept", kept_for=each.binders) for each in plan.kept),
        *(_kept(str(key), "unchanged", definitions[key]) for key in plan.unchanged),
    ]
    ponds = [_with_fusions(pond, definitions.get(pond.key), plan) for pond in ponds]
    return of_row(
        PlanView,
        plan,
        is_empty=plan.is_empty,
        ponds=tuple(ponds),
        asking=tuple(key for key in plan.recomputes if key in definitions and trigger_texts(definitions[key].triggers)),
        parent=plan.parent or None,
    )


def _with_fusions(pond: PlannedPond, definition: PondDefinition | None, plan: Plan) -> PlannedPond:
    found = tuple(
        FusionView(ripple=each.ripple, into=each.into, reason=each.reason)
        for each in plan.fusions
        if each.pond == pond.key
    )
    return msgspec.structs.replace(pond, fuse=definition is not None and definition.fuse, fusions=found)


def _kept(key: str, change: Literal["added", "unchanged"], pond: PondDefinition) -> PlannedPond:
    return PlannedPond(
        key=key,
        change=change,
        version_from=None if change == "added" else pond.version,
        version_to=pond.version,
        what=(f"mode {pond.mode_text}",) if change == "added" and pond.mode != "replace" else (),
        sources=_sources(pond),
        triggers=trigger_texts(pond.triggers),
        runs=change == "added",
        schemas=tuple(_unknown(ripple.name) for ripple in pond.ripples) if change == "added" else (),
    )


def _unknown(ripple: str) -> SchemaView:
    return SchemaView(ripple=ripple, state="unknown")


def _setting(change: PondChange, name: str) -> str:
    if name == "mode" or (name == "partition" and change.mode_from != change.mode_to):
        return f"mode {change.mode_from} -> {change.mode_to}"
    return name


def _changed(pond: PondDefinition, change: PondChange) -> PlannedPond:
    return PlannedPond(
        key=change.key,
        change="changed",
        version_from=change.version_from,
        version_to=change.version_to,
        what=tuple(dict.fromkeys(_setting(change, each) for each in change.what)),
        ripples=change.ripples,
        sources=_sources(pond),
        triggers=trigger_texts(pond.triggers),
        runs=change.runs,
        proposed=change.proposed,
        rebound=tuple(each.text for each in change.rebound),
        schemas=tuple(_unknown(each.name) for each in change.ripples if _is_computed(each)),
    )


def _is_computed(ripple: RippleChange) -> bool:
    return ripple.change == "added" or bool({"code", "inputs", "parameters"} & set(ripple.what))


def _sources(pond: PondDefinition) -> tuple[str, ...]:
    return tuple(f"{source.pond}@{source.major}{'' if source.required else ' (optional)'}" for source in pond.sources)


def trigger_texts(triggers: Triggers) -> tuple[str, ...]:
    """Answer the standing triggers that an author declared, in words."""
    found = ["wave" if triggers.pacing == "eager" else "wave, just in time"] if triggers.wave else []
    found += [f"tide {duration_text(tide.limit_us)}" for tide in triggers.tides]
    found += [f"schedule {schedule.cron} ({schedule.tz})" for schedule in triggers.schedules]
    return tuple(found)
