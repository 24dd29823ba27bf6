"""From a declaration to what the machine knows. Times are microseconds."""

from collections.abc import Mapping

from pondage.define.reactor.reaction import AccumulatorDeclaration, ReactorDeclaration
from pondage.kernel.reaction.shape import (
    Criteria,
    Failing,
    FailurePolicy,
    Gate,
    Kind,
    Policy,
    Publication,
    ReactorShape,
    Reduce,
    SourceShape,
    Strategy,
    as_list,
)


def shape_of(
    declaration: ReactorDeclaration,
    *,
    reduces: Mapping[str, Reduce] | None = None,
    is_durable: bool | None = None,
) -> ReactorShape:
    """Give the machine's reactor. `reduces` are the authors' functions for batches; `is_durable` overrides durability.

    The declaration must be free of problems (`problems_of`); raises ValueError otherwise.
    """
    failure, publish = declaration.on_failure, declaration.publish
    return ReactorShape(
        sources={each.name: _source(each, (reduces or {}).get(each.name)) for each in declaration.accumulators},
        criteria=Criteria(declaration.criteria),
        strategy=Strategy(declaration.strategy),
        graphs=declaration.graphs,
        dispatched=frozenset(declaration.dispatched),
        on_failure=None
        if failure is None
        else FailurePolicy(
            policy=Failing(failure.policy),
            retries=failure.retries,
            base=failure.base,
            cap=failure.cap,
            then=Failing(failure.then),
        ),
        timeout=declaration.timeout,
        window=declaration.window,
        is_durable=declaration.durable is not False if is_durable is None else is_durable,
        gate=Gate(declaration.gate),
        publish=None if publish is None else Publication(pond=publish.pond, every=publish.every),
        fails_with_source=declaration.on_source_failed == "fail",
        warming_timeout=declaration.warming_timeout,
        crash_attempts=declaration.crash_attempts,
        second=1_000_000,
    )


def _source(given: AccumulatorDeclaration, reduce: Reduce | None) -> SourceShape:
    return SourceShape(
        name=given.name,
        kind=Kind(given.kind),
        policy=Policy(given.policy),
        capacity=given.capacity,
        size=given.size,
        interval=given.interval,
        window=given.window,
        reduce=reduce or as_list,
        flush_on_fire=given.flush_on_fire,
        stale_after=given.stale_after,
        optional=given.optional,
        pond=given.pond,
    )
