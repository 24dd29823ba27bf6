"""Reactors of imported modules as what a deploy carries, with a digest of everything that is the author's."""

from __future__ import annotations

from pathlib import Path

import msgspec

from pondage.define.pond.definition import FeedDefinition, PondDefinition, RippleDefinition
from pondage.define.reactor.accumulator import AnyAccumulator
from pondage.define.reactor.reaction import ReactorDefinition
from pondage.define.reactor.reactor import Reactor
from pondage.define.types.type_registry import TypeRegistry
from pondage.define.values.row_type import columns_of, spark_schema
from pondage.errors import DefinitionError
from pondage.expr.lexemes import ExprSyntax
from pondage.expr.parse import compile_text
from pondage.project.digest import Digests, digest_of
from pondage.project.job_ripple import OwnComponents, reactor_job

_SIMPLE = (str, bytes, int, float, bool, type(None))


def reactor_definition(
    reactor: Reactor,
    entry: str,
    digests: Digests,
    place: str,
    *,
    root: Path,
    own: OwnComponents,
    types: TypeRegistry,
) -> ReactorDefinition:
    """Answer what a deploy carries of a reactor; raises DefinitionError for a job or a condition that is wrong."""
    for each in reactor.declaration.jobs:
        _require_condition(each.when, place)
    jobs = [reactor_job(each.file, reactor.place, root, own, digests, types) for each in reactor.declaration.jobs]
    _require_hooks(reactor, place)
    basis = digest_of(
        msgspec.json.encode(msgspec.structs.replace(reactor.declaration, graphs=(), description="")).decode(),
        *(digests.of_function(hook) for source in reactor.sources for hook in source.hooks.given),
        *(_configured(source) for source in reactor.sources),
        *(source.described() for source in reactor.sources),
        "" if reactor.publish is None or reactor.publish.schema is None else reactor.publish.schema.described(),
        *(digest for _, digest in jobs),
    )
    graphs = (digests.of_function(each) for runner in reactor.graphs.values() for each in runner.functions)
    return ReactorDefinition(
        declaration=reactor.declaration,
        entry=entry,
        digest=digest_of(basis, msgspec.json.encode(reactor.declaration).decode(), *graphs),
        place=place,
        jobs=tuple(job for job, _ in jobs),
        basis=basis,
    )


def published_pond(reactor: Reactor, found: ReactorDefinition) -> PondDefinition | None:
    """Answer the Pond that a reactor publishes, None when it does not; raises DefinitionError without a schema."""
    publish = reactor.publish
    if publish is None:
        return None
    if publish.schema is None:
        raise DefinitionError(
            f"reactor {reactor.name} publishes {publish.declaration.pond} without a schema",
            hint="Publish(..., schema=Quote): a dataclass or a msgspec.Struct",
            place=found.place,
            code="NO_SCHEMA",
        )
    schema = spark_schema(columns_of(publish.schema.type, place=found.place))
    pond = publish.declaration.pond
    return PondDefinition(
        name=pond,
        version=found.declaration.version,
        entry=found.entry,
        ripples=(RippleDefinition(name=pond, kind="feed", digest=digest_of(schema)),),
        mode="append" if publish.declaration.mode == "append" else "replace",
        description=found.declaration.description,
        place=found.place,
        feed=FeedDefinition(reactor=reactor.name, period_us=publish.declaration.every or 0, schema=schema),
    )


def _require_condition(when: str | None, place: str) -> None:
    try:
        _ = None if when is None else compile_text(when)
    except ExprSyntax as error:
        raise DefinitionError(f"when={when!r} cannot be read: {error}", place=place, code="BAD_CONDITION") from error


def _require_hooks(reactor: Reactor, place: str) -> None:
    for source in reactor.sources:
        if source.declaration.is_spark and (source.hooks.query is None or source.hooks.gather is None):
            raise DefinitionError(
                f"accumulator {source.name} of reactor {reactor.name} is read by Spark and has no query or no gather",
                hint=f"declare both: @{source.name}.query and @{source.name}.gather",
                place=place,
                code="NO_QUERY",
            )
        if source.declaration.kind == "polling" and source.hooks.poll is None:
            raise DefinitionError(
                f"accumulator {source.name} of reactor {reactor.name} is polled and has no function that does it",
                hint=f"@{source.name}.poll",
                place=place,
                code="NO_POLL",
            )


def _configured(accumulator: AnyAccumulator) -> str:
    """Answer what a source reads, as far as plain values say it."""
    source = accumulator.source
    if source is None:
        return ""
    plain = {name: value for name, value in sorted(vars(source).items()) if isinstance(value, _SIMPLE)}
    return f"{type(source).__qualname__} {plain!r}"
