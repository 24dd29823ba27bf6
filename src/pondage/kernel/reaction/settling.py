"""What follows from every event: health, failure, room for what waits, the next fire, the end of a shutdown."""

from pondage.kernel.reaction import records as r
from pondage.kernel.reaction.demand import publish_waiting, say_blocked
from pondage.kernel.reaction.effects import Stopped
from pondage.kernel.reaction.firing import cancel, evaluate
from pondage.kernel.reaction.ingest import unpark
from pondage.kernel.reaction.parking import refuse_parked
from pondage.kernel.reaction.state import Condition, State
from pondage.kernel.reaction.supervise import has_failed, look_at_health, stop_sources

UP = frozenset({Condition.WARMING, Condition.LIVE, Condition.DEGRADED})


def settle(state: State) -> None:
    """Draw every conclusion of what just happened. Doing it twice changes nothing."""
    if state.facts.failed and state.condition in UP and has_failed(state):
        fail_reactor(state)
    if state.is_health_due:
        look_at_health(state)
    if state.has_room:
        _fill(state)
    if state.facts.fire is None:
        evaluate(state)
    while state.has_room:
        _fill(state)
        if state.facts.fire is None:
            evaluate(state)
    if state.condition is Condition.STOPPING:
        _stop_when_drained(state)
    if state.is_health_due:
        look_at_health(state)
    if state.shape.publish is not None:
        say_blocked(state)


def _fill(state: State) -> None:
    state.has_room = False
    for source in state.sources.values():
        if source.parked or source.facts.buffer:
            unpark(state, source)


def fail_reactor(state: State) -> None:
    """Fail as a whole: nothing runs, waits or is accepted any more, until somebody revives it."""
    state.condition = Condition.FAILED
    state.is_health_due = True
    cancel(state, is_given_up=False)
    stop_sources(state)
    state.timers.clear()
    state.next_at = None
    say_blocked(state)
    for source in state.sources.values():
        refuse_parked(state, source, "failed")
    refuse_commands(state, "failed")
    publish_waiting(state)


def refuse_commands(state: State, error: str) -> None:
    """Refuse the commands that wait for their fire."""
    while state.facts.commands:
        cid = state.facts.commands[0].cid
        state.record(r.Refused(cid, error))
        state.reply(cid, {"error": error})


def finish_stop(state: State) -> None:
    """Stop now: what runs is cancelled and replayed by the next life; results that wait are published."""
    cancel(state, is_given_up=False)
    publish_waiting(state)
    state.timers.clear()
    state.next_at = None
    state.condition = Condition.STOPPED
    state.is_health_due = True
    look_at_health(state)
    state.out.append(Stopped())


def _stop_when_drained(state: State) -> None:
    facts = state.facts
    if facts.fire is not None:
        return
    has_retry = state.is_draining and facts.hold is None and facts.retry_at is not None and state.now < facts.retry_at
    if not has_retry:
        finish_stop(state)
