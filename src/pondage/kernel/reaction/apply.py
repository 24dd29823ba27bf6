"""`apply(shape, facts, record)`: the only place where durable facts change. A fold of it is a recovery."""

from collections.abc import Callable, Iterable
from typing import Any

from pondage.kernel.reaction import records as r
from pondage.kernel.reaction.committing import apply_commit, apply_failure
from pondage.kernel.reaction.facts import (
    REACTOR,
    Entry,
    Facts,
    Fire,
    Item,
    Letter,
    Outcome,
    SourceFacts,
    copy_facts,
    new_facts,
)
from pondage.kernel.reaction.shape import NONE, Kind, ReactorShape

OUTCOMES_KEPT = 256
LANES_KEPT = 1024
"""So many lanes of a source are remembered; a source must not have more that can still move."""


def recover(shape: ReactorShape, records: Iterable[r.AnyRecord]) -> Facts:
    """Fold records to facts, from nothing or from the last full state among them."""
    return fold(shape, new_facts(shape), records)


def fold(shape: ReactorShape, facts: Facts, records: Iterable[r.AnyRecord]) -> Facts:
    """Fold records on these facts, which are changed, or on a full state among the records."""
    for record in records:
        if type(record) is r.Full:
            facts = copy_facts(record.facts)
        else:
            apply(shape, facts, record)
    return facts


def apply(shape: ReactorShape, facts: Facts, record: r.AnyRecord) -> None:
    """Change the facts by one record."""
    APPLY[type(record)](shape, facts, record)


def note_outcome(facts: Facts, cid: str | None, outcome: Outcome) -> None:
    """Remember what a command came to; the oldest are forgotten."""
    if cid is None:
        return
    facts.outcomes.pop(cid, None)
    facts.outcomes[cid] = outcome
    if len(facts.outcomes) > OUTCOMES_KEPT:
        del facts.outcomes[next(iter(facts.outcomes))]


def _boundary(shape: ReactorShape, facts: Facts, record: r.Boundary) -> None:
    source = facts.sources[record.source]
    entry = Entry(record.arrival, record.seq, record.f, record.d, record.value)
    accept_entry(shape, facts, source, entry)
    if record.offset is not None:
        _move(source, record.offset, record.lane)
    if record.cleared:
        del source.buffer[: record.cleared]


def _move(source: SourceFacts, offset: int, lane: str | None) -> None:
    if lane is None:
        source.offset = offset
        return
    source.lanes.pop(lane, None)
    source.lanes[lane] = offset
    if len(source.lanes) > LANES_KEPT:
        del source.lanes[next(iter(source.lanes))]


def accept_entry(shape: ReactorShape, facts: Facts, source: SourceFacts, entry: Entry) -> None:
    """Take a boundary in: behind those that wait, or as the newest."""
    facts.arrivals = entry.arrival
    source.seen = entry.seq
    source.f = entry.f
    if shape.is_sequential:
        source.queue.append(entry)
    else:
        source.cur = entry


def _state_item(shape: ReactorShape, facts: Facts, record: r.StateItem) -> None:
    source, size = facts.sources[record.source], shape.sources[record.source].window
    if record.offset is not None:
        _move(source, record.offset, record.lane)
    if size == 0:
        return
    window = [*source.window, record.value]
    source.window = window[-size:] if size > 0 else window
    entry = Entry(record.arrival, record.seq, record.f, record.d, list(source.window))
    accept_entry(shape, facts, source, entry)


def _batch_item(_: ReactorShape, facts: Facts, record: r.BatchItem) -> None:
    source = facts.sources[record.source]
    source.buffer.append(Item(record.f, record.d, record.at, record.value))
    if record.offset is not None:
        _move(source, record.offset, record.lane)


def _offset(_: ReactorShape, facts: Facts, record: r.Offset) -> None:
    _move(facts.sources[record.source], record.offset, record.lane)


def _undecodable(_: ReactorShape, facts: Facts, record: r.Undecodable) -> None:
    _move(facts.sources[record.source], record.offset, record.lane)
    place = str(record.offset) if record.lane is None else f"{record.lane}/{record.offset}"
    key = f"{record.source}@{place}"
    facts.dead[key] = Letter(key, {}, record.error, record.at, record.raw)


def _spoiled(_: ReactorShape, facts: Facts, record: r.Spoiled) -> None:
    del facts.sources[record.source].buffer[: record.cleared]
    facts.dead[record.letter] = Letter(record.letter, {}, record.error, record.at, record.raw)


def _overflow(_: ReactorShape, facts: Facts, record: r.Overflow) -> None:
    source = facts.sources[record.source]
    del source.queue[source.pinned]
    source.dropped += 1


def _start(shape: ReactorShape, facts: Facts, record: r.Start) -> None:
    fire = Fire(
        record.id,
        record.attempt,
        record.reason,
        record.consumes,
        {},
        dict.fromkeys(record.graphs, record.attempt),
        list(record.done),
        {},
        record.unhealthy,
        record.kind,
        record.cid,
        None,
        record.is_kept,
    )
    if record.kind == "with":
        fire.inputs = _injected(shape, facts, record)
    elif record.kind == "redrive":
        fire.letter = str(facts.commands[0].arg)
        fire.inputs = facts.dead[fire.letter].inputs
    begin_fire(shape, facts, fire)
    if record.kind != "auto":
        facts.commands.pop(0)


def begin_fire(shape: ReactorShape, facts: Facts, fire: Fire) -> None:
    """Open a fire; its inputs are what the state shows, unless a command gave them."""
    facts.fire = fire
    if fire.id > facts.fire_no:
        facts.fire_no = fire.id
    facts.fires += 1
    if fire.kind == "auto" or fire.kind == "force":
        fire.inputs = _inputs(shape, facts, fire.consumes)
        _take(shape, facts, fire)


def _injected(_: ReactorShape, facts: Facts, record: r.Start) -> dict[str, Entry]:
    inputs = {}
    given = facts.commands[0].arg
    for name, value in given.items() if isinstance(given, dict) else ():
        facts.arrivals += 1
        inputs[name] = Entry(facts.arrivals, facts.sources[name].seen, record.at, 0, value)
    return inputs


def _inputs(shape: ReactorShape, facts: Facts, consumes: dict[str, int]) -> dict[str, Entry]:
    if not shape.is_sequential:
        return {name: source.cur for name, source in facts.sources.items() if source.cur is not None}
    inputs = {}
    for name, source in facts.sources.items():
        if name in consumes:
            inputs[name] = source.queue[source.pinned]
            source.pinned += 1
        elif source.cur is not None:
            inputs[name] = source.cur
    return inputs


def _take(shape: ReactorShape, facts: Facts, fire: Fire) -> None:
    if not shape.has_ponds:
        return
    for name in fire.consumes:
        if shape.sources[name].kind is Kind.POND and name in fire.inputs:
            facts.sources[name].taken = fire.inputs[name].f


def _plan(shape: ReactorShape, facts: Facts, record: r.Plan) -> None:
    shown = {name: source.cur for name, source in facts.sources.items()}
    planned = []
    for place, consumes in enumerate(record.consumes):
        for name in consumes:
            source = facts.sources[name]
            shown[name] = source.queue[source.pinned]
            source.pinned += 1
        inputs = {name: entry for name, entry in shown.items() if entry is not None}
        planned.append(Fire(record.id + place, 0, record.reason, consumes, inputs, {}, is_kept=True, is_planned=True))
    first = planned[0]
    first.attempt = 1
    first.pending = dict.fromkeys(record.graphs, 1)
    first.unhealthy = record.unhealthy
    facts.fire, facts.plan = first, planned[1:]
    facts.fire_no = planned[-1].id
    facts.fires += 1
    _take(shape, facts, first)


def launch_fire(shape: ReactorShape, facts: Facts, record: r.Launch) -> None:
    """Open the next fire of the plan."""
    fire = facts.plan.pop(0)
    fire.attempt, fire.reason, fire.unhealthy = record.attempt, record.reason, record.unhealthy
    fire.pending = dict.fromkeys(record.graphs, record.attempt)
    fire.errors, fire.kind, fire.cid = {}, record.kind, record.cid
    facts.fire = fire
    facts.fires += 1
    if record.kind != "auto":
        facts.commands.pop(0)
    _take(shape, facts, fire)


def _again(shape: ReactorShape, facts: Facts, record: r.Again) -> None:
    fire = facts.fire
    assert fire is not None
    fire.attempt, fire.reason = record.attempt, "replay"
    fire.crashes += 1
    fire.pending = {graph: number for graph, number in fire.pending.items() if graph in shape.dispatched}
    fire.pending.update(dict.fromkeys(record.graphs, record.attempt))
    facts.fires += 1


def _graph_done(_: ReactorShape, facts: Facts, record: r.GraphDone) -> None:
    fire = facts.fire
    assert fire is not None
    del fire.pending[record.graph]
    if record.error is None:
        fire.done.append(record.graph)
    else:
        fire.errors[record.graph] = record.error


def _commit(shape: ReactorShape, facts: Facts, record: r.Commit) -> None:
    fire = facts.fire
    assert fire is not None
    apply_commit(shape, facts, fire, record)
    facts.fire = None
    if fire.cid is not None:
        note_outcome(facts, fire.cid, Outcome(record.id, record.outcome, record.error))


def _failure(shape: ReactorShape, facts: Facts, record: r.Failure) -> None:
    fire = facts.fire
    assert fire is not None
    cid = fire.cid
    facts.fire = None
    apply_failure(shape, facts, fire, record)
    if cid is not None:
        note_outcome(facts, cid, Outcome(record.id, "failed", record.error))


def _accepted(_: ReactorShape, facts: Facts, record: r.Accepted) -> None:
    facts.commands.append(record.command)


def _refused(_: ReactorShape, facts: Facts, record: r.Refused) -> None:
    facts.commands.pop(0)
    note_outcome(facts, record.cid, Outcome(error=record.error))


def _hold(_: ReactorShape, facts: Facts, record: r.Hold) -> None:
    if facts.hold == "halted" and record.hold is None:
        facts.tries, facts.retry_at = 0, None
    facts.hold = record.hold
    if record.clears_failure:
        facts.is_bad = False


def _recovery(_: ReactorShape, facts: Facts, record: r.Recovery) -> None:
    if record.source is None:
        facts.attempts = record.attempts
    else:
        facts.sources[record.source].attempts = record.attempts


def _failed(_: ReactorShape, facts: Facts, record: r.Failed) -> None:
    facts.failed.append(REACTOR if record.source is None else record.source)


def _revived(_: ReactorShape, facts: Facts, __: r.Revived) -> None:
    facts.failed = []
    facts.attempts = 0
    facts.is_bad = False
    for source in facts.sources.values():
        source.attempts = 0


def _passed(_: ReactorShape, facts: Facts, record: r.Passed) -> None:
    facts.com_f = facts.pub_f = record.f
    facts.com_d = facts.pub_d = 0
    facts.com_fire = None
    facts.targets = [target for target in facts.targets if target > record.f]


def _published(_: ReactorShape, facts: Facts, __: r.Published) -> None:
    facts.pub_f, facts.pub_d = facts.com_f, facts.com_d
    facts.targets = [target for target in facts.targets if target > facts.pub_f]


def _want(_: ReactorShape, facts: Facts, record: r.Want) -> None:
    facts.want = record.f


def _target(_: ReactorShape, facts: Facts, record: r.Target) -> None:
    facts.targets = sorted([*facts.targets, record.f])


def _dropped(_: ReactorShape, facts: Facts, __: r.DemandDropped) -> None:
    facts.want, facts.targets = NONE, []


def _graphs(_: ReactorShape, facts: Facts, record: r.Graphs) -> None:
    facts.graphs = list(record.graphs)


APPLY: dict[type, Callable[[ReactorShape, Facts, Any], None]] = {
    r.Boundary: _boundary,
    r.StateItem: _state_item,
    r.BatchItem: _batch_item,
    r.Offset: _offset,
    r.Undecodable: _undecodable,
    r.Spoiled: _spoiled,
    r.Overflow: _overflow,
    r.Start: _start,
    r.Plan: _plan,
    r.Launch: launch_fire,
    r.Again: _again,
    r.GraphDone: _graph_done,
    r.Commit: _commit,
    r.Failure: _failure,
    r.Accepted: _accepted,
    r.Refused: _refused,
    r.Hold: _hold,
    r.Recovery: _recovery,
    r.Failed: _failed,
    r.Revived: _revived,
    r.Passed: _passed,
    r.Published: _published,
    r.Want: _want,
    r.Target: _target,
    r.DemandDropped: _dropped,
    r.Graphs: _graphs,
}
