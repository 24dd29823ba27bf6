"""Health and supervision: accumulators start, connect, crash and come back; the reactor follows (section 4.6)."""

from pondage.kernel.reaction import records as r
from pondage.kernel.reaction.effects import (
    Connect,
    Health,
    Poll,
    RecoveryNote,
    SourceHealth,
    StartSource,
    StopSource,
)
from pondage.kernel.reaction.facts import REACTOR
from pondage.kernel.reaction.parking import refuse_parked
from pondage.kernel.reaction.shape import Kind
from pondage.kernel.reaction.state import (
    DOWN,
    HEALTHY,
    Condition,
    SourceCondition,
    SourceLife,
    State,
    restart_wait,
)

MAX_RECOVERIES = 5
RESET_AFTER_S = 60
JOURNAL = "journal"


def set_health(state: State, source: SourceLife, health: SourceCondition) -> None:
    """Change an accumulator's health, say it, and watch over what follows from it."""
    if source.health is health:
        return
    was_healthy = source.health in HEALTHY
    source.health = health
    state.is_health_due = True
    state.out.append(SourceHealth(source.name, health.value))
    if health in HEALTHY and not was_healthy:
        _came_back(state, source)
    elif was_healthy and health not in HEALTHY:
        source.is_silent = False
        state.disarm("stale", source.name)
        state.disarm("reset", source.name)


def on_started(state: State, source: SourceLife) -> None:
    """An accumulator runs: one without an outside source is healthy by definition, the others connect."""
    if source.health is not SourceCondition.STARTING:
        return
    if source.shape.connects:
        set_health(state, source, SourceCondition.CONNECTING)
        state.out.append(Connect(source.name, source.facts.offset, dict(source.facts.lanes)))
    else:
        set_health(state, source, SourceCondition.SOCKET_ONLY)
    state.has_room = True


def on_connected(state: State, source: SourceLife) -> bool:
    """An accumulator has its outside source; answers whether that is news."""
    if source.health not in (SourceCondition.CONNECTING, SourceCondition.DISCONNECTED) or not source.shape.connects:
        return False
    state.disarm("reconnect", source.name)
    set_health(state, source, SourceCondition.LIVE)
    if source.shape.kind is Kind.POLLING and source.shape.interval is not None:
        state.arm("poll", source.name, state.now + source.shape.interval)
    return True


def on_lost(state: State, source: SourceLife) -> None:
    """An accumulator lost its outside source: reconnect after 1, 2, 4, ... 60 s, without an end."""
    if source.health in DOWN or not source.shape.connects:
        return
    source.lost += 1
    set_health(state, source, SourceCondition.DISCONNECTED)
    state.arm("reconnect", source.name, state.now + restart_wait(state.shape.second, source.lost))


def crash_source(state: State, source: SourceLife) -> None:
    """An accumulator crashed: restart it alone, up to five times; the sixth failure is for good."""
    if source.health in (SourceCondition.CRASHED, SourceCondition.FAILED) or state.condition in (
        Condition.STARTING,
        Condition.FAILED,
        Condition.STOPPED,
    ):
        return
    for timer in ("poll", "reconnect", "reset", "stale", "restart"):
        state.disarm(timer, source.name)
    source.is_polling = False
    attempt = source.facts.attempts + 1
    if attempt > MAX_RECOVERIES:
        _fail_source(state, source, attempt)
        return
    wait = restart_wait(state.shape.second, attempt)
    state.record(r.Recovery(source.name, attempt))
    set_health(state, source, SourceCondition.CRASHED)
    state.out.append(RecoveryNote(source.name, attempt, wait))
    state.arm("restart", source.name, state.now + wait)
    refuse_parked(state, source, "unavailable", only_offsets=True)


def restart_source(state: State, source: SourceLife) -> None:
    """Start an accumulator that had crashed or failed: only it, in its place."""
    set_health(state, source, SourceCondition.STARTING)
    state.out.append(StartSource(source.name))


def due_poll(state: State, source: SourceLife, at: int) -> None:
    """Poll on a fixed grid: never two at once, and a tick that was missed is not made up for."""
    interval = source.shape.interval or 1
    state.arm("poll", source.name, at + ((state.now - at) // interval + 1) * interval)
    if not source.is_polling and source.health in (SourceCondition.LIVE, SourceCondition.DISCONNECTED):
        source.is_polling = True
        state.out.append(Poll(source.name))


def due_stale(state: State, source: SourceLife) -> None:
    """Find out whether the source has been silent too long."""
    silent_at = source.heard_at + (source.shape.stale_after or 0)
    if state.now >= silent_at:
        source.is_silent = True
        state.is_health_due = True
    else:
        state.arm("stale", source.name, silent_at)


def due_reset(state: State, source: SourceLife) -> None:
    """Forget old crashes after a minute of health."""
    source.lost = 0
    if source.facts.attempts:
        state.record(r.Recovery(source.name, 0))


def look_at_health(state: State) -> None:
    """Work out the reactor's state from its sources and the journal, and say it when it changed."""
    condition = state.condition
    state.is_health_due = False
    if condition is Condition.STARTING:
        return
    if condition is Condition.WARMING:
        state.unhealthy = [name for name, source in state.sources.items() if source.health not in HEALTHY]
        if not state.unhealthy:
            condition = Condition.LIVE
            state.disarm("warming")
    if condition is Condition.LIVE or condition is Condition.DEGRADED:
        state.unhealthy = [
            name for name, source in state.sources.items() if source.health not in HEALTHY or source.is_silent
        ]
        if not state.is_journal_ok:
            state.unhealthy.append(JOURNAL)
        condition = Condition.DEGRADED if state.unhealthy else Condition.LIVE
        is_back = state.condition is Condition.WARMING or condition is Condition.LIVE
        if is_back and state.facts.attempts and ("reset", "") not in state.timers:
            state.arm("reset", "", state.now + RESET_AFTER_S * state.shape.second)
        if state.condition is Condition.WARMING:
            state.has_room = True
        state.condition = condition
    elif condition is Condition.FAILED:
        state.unhealthy = [name for name in state.sources if name in state.facts.failed]
    elif condition is not Condition.WARMING:
        state.unhealthy = []
    said = state.last_said
    if said is None or said[0] is not state.condition or said[1] != state.unhealthy:
        state.out.append(Health(state.condition.value, state.unhealthy))
        state.last_said = (state.condition, state.unhealthy)


def stop_sources(state: State) -> None:
    """Stop every accumulator that runs."""
    for source in state.sources.values():
        if source.health is not SourceCondition.FAILED:
            state.out.append(StopSource(source.name))
        for timer in ("poll", "reconnect", "reset", "stale", "restart"):
            state.disarm(timer, source.name)


def _came_back(state: State, source: SourceLife) -> None:
    source.heard_at = state.now
    if source.shape.stale_after is not None:
        state.arm("stale", source.name, state.now + source.shape.stale_after)
    if source.facts.attempts or source.lost:
        state.arm("reset", source.name, state.now + RESET_AFTER_S * state.shape.second)


def _fail_source(state: State, source: SourceLife, attempt: int) -> None:
    state.record(r.Failed(source.name))
    set_health(state, source, SourceCondition.FAILED)
    state.out.append(RecoveryNote(source.name, attempt, None))
    refuse_parked(state, source, "unavailable", only_offsets=True)


def has_failed(state: State) -> bool:
    """Do the facts say that the reactor as a whole has failed?"""
    failed = state.facts.failed
    return bool(failed) and (REACTOR in failed or state.shape.fails_with_source)
