"""A plan with the schemas that a worker found: columns that come and go, broken contracts, the version to choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from pondage.define.values.names import PondKey
from pondage.plan.deploy.change import proposal
from pondage.plan.deploy.schemas import Column, column_changes, larger, schema_bump
from pondage.plan.deploy.values import Message, Plan, Problem
from pondage.views.plans.plan import ColumnDifference, PlannedPond, PlanView, SchemaView
from pondage.views.plans.schema import type_text
from pondage.work.answers import InferredSchema

_UNRESOLVED = "UNRESOLVED_COLUMN"
"""What Spark says of a column that is not there: a problem of whoever moves to another major version."""


def with_schemas(view: PlanView, plan: Plan, found: Sequence[InferredSchema], known: Mapping[str, str]) -> PlanView:
    """Answer the plan with what is known of every schema now; a broken contract is a problem. Pure."""
    by_pond: dict[str, list[tuple[str, InferredSchema]]] = {}
    for each in found:
        key, _, ripple = each.table.rpartition(".")
        by_pond.setdefault(key, []).append((ripple, each))
    changes = {str(change.key): change for change in plan.changed}
    ponds: list[PlannedPond] = []
    messages, problems = list(view.messages), list(view.problems)
    for pond in view.ponds:
        schemas = tuple(_schema(ripple, each, known.get(each.table)) for ripple, each in by_pond.get(pond.key, ()))
        change = changes.get(pond.key)
        bump = None if change is None else change.bump
        is_whole = True
        if change is not None and not change.is_size_known:
            bump, is_whole = "patch", bool(schemas) and all(schema.state != "unknown" for schema in schemas)
        for schema in schemas:
            bump = larger(bump, schema_bump(_columns(schema), schema.breaks))
        if pond.version_from is not None and pond.version_to is not None:
            # What could not be analysed may be larger than a patch.
            is_told = is_whole or bump != "patch"
            bump, proposed = proposal(pond.version_from, pond.version_to, bump if is_told else None)
            if not is_told or (proposed is not None and proposed != pond.proposed):
                messages = [each for each in messages if each.kind != "version" or each.pond != pond.key]
                text = f"{pond.key}: a {bump} change; version {proposed} would say so (it is {pond.version_to})"
                if not is_told:
                    text = f"{pond.key}: size not known: not all of it could be analysed (it is {pond.version_to})"
                messages.append(Message(kind="version", text=text, pond=PondKey(pond.key)))
            pond = msgspec.structs.replace(pond, proposed=proposed)
        for ripple, each in by_pond.get(pond.key, ()):
            problems += _broken(pond, ripple, each)
            if each.code == "NO_SUCH_COLUMN" or (pond.rebound and _UNRESOLVED in (each.problem or "")):
                problems.append(_missing_column(pond, each))
            elif each.problem is not None:
                messages.append(_not_found(pond, ripple, each))
        ponds.append(msgspec.structs.replace(pond, schemas=schemas))
    return msgspec.structs.replace(
        view, ponds=tuple(ponds), messages=tuple(messages), problems=tuple(problems), is_analyzed=True
    )


def _schema(ripple: str, found: InferredSchema, known: str | None) -> SchemaView:
    if found.schema is None:
        return SchemaView(ripple=ripple, state="unknown", problem=found.problem)
    columns = column_changes(known or '{"fields":[]}', found.schema)
    return SchemaView(
        ripple=ripple,
        state="new" if known is None else "changed" if columns else "same",
        columns=tuple(_difference(each) for each in columns),
        breaks=found.breaks,
        upkeep=found.upkeep,
    )


def _difference(column: Column) -> ColumnDifference:
    return ColumnDifference(
        name=column.name,
        before=None if column.before is None else type_text(column.before),
        after=None if column.after is None else type_text(column.after),
    )


def _columns(schema: SchemaView) -> list[Column]:
    # The columns of a table that nobody has seen yet change nothing for its readers.
    return [] if schema.state == "new" else [Column(name=each.name) for each in schema.columns]


def _broken(pond: PlannedPond, ripple: str, found: InferredSchema) -> list[Problem]:
    if not found.breaks:
        return []
    version = f"raise the version to {pond.proposed}" if pond.proposed else "raise its major version"
    return [
        Problem(
            code="CONTRACT",
            message=f"{pond.key}.{ripple} breaks the contract of its major version: {'; '.join(found.breaks)}",
            pond=PondKey(pond.key),
            place=found.place,
            hint=f"keep the columns, or {version}, so that Sinks can choose when to follow",
        )
    ]


def _missing_column(pond: PlannedPond, found: InferredSchema) -> Problem:
    return Problem(
        code="NO_SUCH_COLUMN",
        message=found.problem or "",
        pond=PondKey(pond.key),
        place=found.place,
        hint="correct columns= where the Source is declared",
    )


def _not_found(pond: PlannedPond, ripple: str, found: InferredSchema) -> Message:
    place = f" at {found.place}" if found.place else ""
    problem = (found.problem or "").removeprefix(f"{pond.key.partition('@')[0]}.{ripple}: ")
    text = f"{pond.key}.{ripple} could not be analysed, so its schema is known after the next run: {problem}{place}"
    return Message(kind="schema", text=text, pond=PondKey(pond.key))
