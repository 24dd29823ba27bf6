"""Taking boundaries in: acceptance, back-pressure, batches, windows, undecodable events (section 4.1)."""

from collections import deque

import msgspec

from pondage.define.reactor.boundary import InvalidBoundary
from pondage.kernel.reaction import records as r
from pondage.kernel.reaction.apply import accept_entry
from pondage.kernel.reaction.effects import Throttle
from pondage.kernel.reaction.events import Flush, Polled, PondRun, Push, Skip, UndecodableEvent
from pondage.kernel.reaction.facts import Entry, is_known
from pondage.kernel.reaction.parking import hear, refuse, refuse_unavailable
from pondage.kernel.reaction.shape import Kind, Policy
from pondage.kernel.reaction.state import DOWN, RUNNING, Condition, SourceCondition, SourceLife, State
from pondage.kernel.reaction.supervise import crash_source, set_health

CLOSED = frozenset({Condition.FAILED, Condition.STOPPING, Condition.STOPPED})


def on_push(state: State, event: Push) -> None:
    """Take in a push of a producer."""
    source = state.sources.get(event.source)
    if source is None:
        state.reply(event.cid, {"accepted": False, "error": "unknown_source"})
    elif source.shape.kind is Kind.POND:
        state.reply(event.cid, {"accepted": False, "error": "pond_source"})
    else:
        admit(state, source, event)


def on_pond(state: State, event: PondRun) -> None:
    """Take in a completed Run of a Pond source; its freshness is its offset, so a repeat is known."""
    source = state.sources.get(event.source)
    if source is not None and source.shape.kind is Kind.POND:
        admit(state, source, Push(event.source, event.ref, None, event.f, event.f, event.d))


def admit(state: State, source: SourceLife, event: Push) -> None:
    """Accept, park or refuse."""
    offset = event.offset
    if offset is not None and is_known(source.facts, offset, event.lane):
        source.dup += 1
        state.reply(event.cid, {"accepted": True, "dup": True})
    elif state.condition in CLOSED:
        refuse(state, source, event.cid, state.condition.lower())
    elif source.health in DOWN:
        if source.shape.policy is Policy.BLOCK and offset is None:
            source.parked.append(event)
        else:
            refuse_unavailable(state, source, event.cid)
    elif source.parked:
        source.parked.append(event)  # behind those that wait already: the order of a source is kept
    elif state.shape.is_sequential and _is_full(source):
        _overflow(state, source, event)
    else:
        _accept(state, source, event)


def on_skip(state: State, event: Skip) -> None:
    """Move the offset past an event that gave no boundary."""
    source = state.sources.get(event.source)
    if source is None or state.condition in CLOSED or source.health in DOWN:
        state.reply(event.cid, {"accepted": False, "error": "unavailable"})
        return
    if not is_known(source.facts, event.offset, event.lane):
        state.record(r.Offset(event.source, event.offset, event.lane))
        hear(state, source)
    state.reply(event.cid, {"accepted": True})


def on_undecodable(state: State, event: UndecodableEvent) -> None:
    """Refuse what a socket sent; keep what a stream sent as a dead letter, with the offset in the same record."""
    source = state.sources.get(event.source)
    if source is None:
        state.reply(event.cid, {"accepted": False, "error": "unknown_source"})
    elif event.offset is None:
        source.rejected += 1
        state.reply(event.cid, {"accepted": False, "error": "invalid", "path": event.error})
    elif is_known(source.facts, event.offset, event.lane):
        state.reply(event.cid, {"accepted": True, "dup": True})
    elif state.condition in CLOSED:
        refuse(state, source, event.cid, state.condition.lower())
    elif source.health in DOWN:
        refuse_unavailable(state, source, event.cid)
    else:
        state.record(r.Undecodable(event.source, event.offset, event.error, state.now, event.lane, event.raw))
        state.reply(event.cid, {"accepted": False, "error": "invalid", "path": event.error})


def on_polled(state: State, event: Polled) -> None:
    """Take in what a poll brought; an error disconnects until the next good poll."""
    source = state.sources.get(event.source)
    if source is None or source.shape.kind is not Kind.POLLING:
        return
    source.is_polling = False
    if event.error is not None:
        if source.health is SourceCondition.LIVE:
            set_health(state, source, SourceCondition.DISCONNECTED)
        return
    if source.health is SourceCondition.DISCONNECTED:
        set_health(state, source, SourceCondition.LIVE)
    if event.value is not None:
        admit(state, source, Push(event.source, event.value))


def on_flush(state: State, event: Flush) -> None:
    """Let a batch emit what it holds; anything else has nothing to flush."""
    source = state.sources.get(event.source)
    if source is not None and source.shape.kind is Kind.BATCH:
        flush(state, source)


def flush(state: State, source: SourceLife) -> None:
    """Emit and clear a batch by one record. Empty: nothing. Queue full, or not running: as soon as it can."""
    items = source.facts.buffer
    if not items:
        return
    if state.condition not in RUNNING or (state.shape.is_sequential and _is_full(source)):
        source.is_flush_due = True
        return
    source.is_flush_due = False
    try:
        value = source.shape.reduce([item.value for item in items])
    except InvalidBoundary as error:
        _spoil(state, source, str(error))
        return
    except Exception:  # noqa: BLE001 - the author's reduce failed: the accumulator has crashed, and that is recorded
        crash_source(state, source)
        return
    newest = max(items, key=_freshness)
    f = max(newest.f, source.facts.f + 1)
    arrival, seq = state.facts.arrivals + 1, source.facts.seen + 1
    state.record(r.Boundary(source.name, arrival, seq, f, newest.d, value, None, len(items)))
    state.disarm("batch", source.name)


def _spoil(state: State, source: SourceLife, error: str) -> None:
    """Put the items of a batch aside: what came of them cannot be kept, and could not the next time either."""
    items = source.facts.buffer
    number, letter = 1, f"{source.name}@batch"
    while f"{letter}-{number}" in state.facts.dead:
        number += 1
    raw = msgspec.json.encode([item.value for item in items]).decode()
    state.record(r.Spoiled(source.name, f"{letter}-{number}", error, state.now, len(items), raw))
    state.disarm("batch", source.name)


def unpark(state: State, source: SourceLife) -> None:
    """Take in what waits, in order, as far as there is room."""
    if source.is_flush_due or _has_reached_size(source):
        flush(state, source)
    waiting = source.parked
    while waiting and source.health not in DOWN and state.condition not in CLOSED:
        if state.shape.is_sequential and _is_full(source):
            return
        event = waiting.popleft()
        source.parked = deque()
        admit(state, source, event)
        source.parked = waiting
    if source.is_throttled and not source.parked:
        source.is_throttled = False
        state.out.append(Throttle(source.name, False))


def _accept(state: State, source: SourceLife, event: Push) -> None:
    shape, facts, name = source.shape, source.facts, source.name
    f = state.now if event.f is None else event.f
    kind = shape.kind
    seq = facts.seen + 1
    if kind is Kind.BATCH:
        if not facts.buffer and shape.interval is not None:
            state.arm("batch", name, state.now + shape.interval)
        state.record(r.BatchItem(name, f, event.d, state.now, event.value, event.offset, event.lane))
    else:
        if f <= facts.f:
            f = facts.f + 1
        arrival = state.facts.arrivals + 1
        if kind is not Kind.STATE and not state.is_durable and event.offset is None:
            # What the record would do, without one: nobody keeps it.
            accept_entry(state.shape, state.facts, facts, Entry(arrival, seq, f, event.d, event.value))
        elif kind is not Kind.STATE:
            state.record(r.Boundary(name, arrival, seq, f, event.d, event.value, event.offset, 0, event.lane))
        else:
            seq = 0 if shape.window == 0 else seq
            state.record(r.StateItem(name, arrival, seq, f, event.d, event.value, event.offset, event.lane))
    if event.cid is not None:
        state.reply(event.cid, {"accepted": True, "seq": seq})
    if shape.stale_after is not None:
        hear(state, source)
    if kind is Kind.BATCH and _has_reached_size(source):
        flush(state, source)


def _overflow(state: State, source: SourceLife, event: Push) -> None:
    policy = source.shape.policy
    if policy is Policy.BLOCK:
        source.parked.append(event)
        if not source.is_throttled:
            source.is_throttled = True
            state.out.append(Throttle(source.name, True))
    elif policy is Policy.REJECT:
        refuse(state, source, event.cid, "full")
    else:
        state.record(r.Overflow(source.name))
        if source.is_flush_due:
            flush(state, source)
        _accept(state, source, event)


def _is_full(source: SourceLife) -> bool:
    facts = source.facts
    return len(facts.queue) - facts.pinned >= source.shape.capacity


def _has_reached_size(source: SourceLife) -> bool:
    size = source.shape.size
    return size is not None and source.shape.kind is Kind.BATCH and len(source.facts.buffer) >= size


def _freshness(item: object) -> int:
    return item.f  # type: ignore[attr-defined, no-any-return]
