"""The life of a reactor: it begins, crashes, is revived, stops; and the timers that it sets for itself."""

from pondage.kernel.reaction import records as r
from pondage.kernel.reaction.demand import arm_targets, ask_source, publish_waiting, say_again
from pondage.kernel.reaction.effects import Connect, Health, RecoveryNote, StartSource
from pondage.kernel.reaction.events import Accumulator
from pondage.kernel.reaction.facts import new_facts
from pondage.kernel.reaction.firing import cancel, due_timeout, run_again
from pondage.kernel.reaction.ingest import flush
from pondage.kernel.reaction.parking import refuse_parked
from pondage.kernel.reaction.settling import fail_reactor, finish_stop
from pondage.kernel.reaction.shape import Kind
from pondage.kernel.reaction.state import RUNNING, Condition, SourceCondition, State, restart_wait
from pondage.kernel.reaction.supervise import (
    MAX_RECOVERIES,
    crash_source,
    due_poll,
    due_reset,
    due_stale,
    has_failed,
    look_at_health,
    on_connected,
    on_lost,
    on_started,
    restart_source,
    stop_sources,
)


def begin(state: State) -> None:
    """Begin a life: warm up, say again what Sinks must know, the open fire first, then the accumulators."""
    if state.condition is not Condition.STARTING:
        return
    if has_failed(state):
        state.condition = Condition.FAILED
        for name in state.facts.failed:
            if name in state.sources:
                state.sources[name].health = SourceCondition.FAILED
        look_at_health(state)
        say_again(state)
        return
    state.disarm("restart")
    state.condition = Condition.WARMING
    for name in state.facts.failed:
        if name in state.sources:
            state.sources[name].health = SourceCondition.FAILED
    look_at_health(state)
    say_again(state)
    run_again(state)
    _arm_what_is_known(state)
    for source in state.sources.values():
        if source.health is SourceCondition.STARTING:
            state.out.append(StartSource(source.name))


def on_accumulator(state: State, event: Accumulator) -> None:
    """An accumulator reports about itself."""
    source = state.sources.get(event.source)
    if source is None:
        return
    if event.what == "crashed":
        crash_source(state, source)
    elif state.condition not in RUNNING:
        return
    elif event.what == "started":
        on_started(state, source)
    elif event.what == "lost":
        on_lost(state, source)
    elif event.what == "connected" and on_connected(state, source):
        ask_source(state, source)


def on_reactor_crashed(state: State) -> None:
    """The reactor crashed: everything is torn down and begins again after a while; the sixth time it has failed."""
    if state.condition is Condition.STOPPING:
        finish_stop(state)
        return
    if state.condition not in RUNNING:
        return
    facts = state.facts
    attempt = facts.attempts + 1
    if attempt > MAX_RECOVERIES:
        state.record(r.Failed(None))
        state.out.append(RecoveryNote(None, attempt, None))
        fail_reactor(state)
        return
    wait = restart_wait(state.shape.second, attempt)
    state.record(r.Recovery(None, attempt))
    state.out.append(RecoveryNote(None, attempt, wait))
    cancel(state, is_given_up=False)
    stop_sources(state)
    state.arm("restart", "", state.now + wait)
    for source in state.sources.values():
        refuse_parked(state, source, "unavailable")
    if not state.shape.is_durable:
        facts = new_facts(state.shape)
        facts.attempts = attempt
    state.begin_life(facts)
    state.arm("restart", "", state.now + wait)
    state.out.append(Health(Condition.STARTING.value, []))
    state.last_said = (Condition.STARTING, [])


def shut_down(state: State, drain: int) -> None:
    """Refuse what is new, flush batches, fire on for at most `drain` (not while held), then stop."""
    if state.condition not in RUNNING:
        if state.condition is Condition.STARTING:
            finish_stop(state)
        return
    if state.condition is Condition.STOPPING:
        return
    state.condition = Condition.STOPPING
    state.is_draining = drain > 0 and state.facts.hold is None
    look_at_health(state)
    stop_sources(state)
    for source in state.sources.values():
        refuse_parked(state, source, "stopping")
        if source.shape.kind is Kind.BATCH:
            flush(state, source)
    state.arm("stop", "", state.now + drain)
    if drain <= 0:
        finish_stop(state)


def tick(state: State) -> None:
    """Do what is due, in the order of its time."""
    due = sorted((at, timer) for timer, at in state.timers.items() if at <= state.now)
    for at, timer in due:
        if state.timers.get(timer) == at:
            state.disarm(*timer)
            _do(state, timer, at)


def _do(state: State, timer: tuple[str, str], at: int) -> None:
    what, name = timer
    if name:
        _do_for_source(state, what, name, at)
    elif what == "fire":
        due_timeout(state)
    elif what == "restart":
        begin(state)
    elif what == "stop":
        finish_stop(state)
    elif what == "publish":
        publish_waiting(state)
    elif what == "target":
        arm_targets(state)
    elif what == "warming" and state.condition is Condition.WARMING:
        state.condition = Condition.DEGRADED
        state.is_health_due = True
    elif what == "reset" and state.facts.attempts:
        state.record(r.Recovery(None, 0))


def _do_for_source(state: State, what: str, name: str, at: int) -> None:
    source = state.sources[name]
    if what == "poll":
        due_poll(state, source, at)
    elif what == "batch":
        flush(state, source)
    elif what == "stale":
        due_stale(state, source)
    elif what == "restart":
        restart_source(state, source)
    elif what == "reset":
        due_reset(state, source)
    elif what == "reconnect":
        state.out.append(Connect(name, source.facts.offset, dict(source.facts.lanes)))


def _arm_what_is_known(state: State) -> None:
    shape, facts = state.shape, state.facts
    if facts.retry_at is not None:
        state.arm("retry", "", facts.retry_at)
    if shape.warming_timeout is not None:
        state.arm("warming", "", state.now + shape.warming_timeout)
    for name, source in state.sources.items():
        items, interval = source.facts.buffer, source.shape.interval
        if items and source.shape.kind is Kind.BATCH and interval is not None:
            state.arm("batch", name, items[0].at + interval)
    arm_targets(state)
