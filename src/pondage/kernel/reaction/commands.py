"""Commands: each is answered once, and a repeated command id gets the same answer again (section 4.5)."""

from collections.abc import Callable

from pondage.kernel.reaction import records as r
from pondage.kernel.reaction.demand import drop_demand, say_blocked
from pondage.kernel.reaction.effects import Held
from pondage.kernel.reaction.events import Ask, Bind, Unbind
from pondage.kernel.reaction.facts import Command, Outcome
from pondage.kernel.reaction.firing import cancel_graphs, fail_attempt
from pondage.kernel.reaction.living import begin
from pondage.kernel.reaction.look import look
from pondage.kernel.reaction.settling import refuse_commands, settle
from pondage.kernel.reaction.state import Condition, SourceCondition, State
from pondage.kernel.reaction.supervise import look_at_health, restart_source

_CLOSED = (Condition.FAILED, Condition.STOPPING, Condition.STOPPED)


def on_command(state: State, event: Ask) -> None:
    """Carry out a command, or accept it for the next fire."""
    handler = _COMMANDS.get(event.name)
    if handler is None:
        state.reply(event.cid, {"error": "unknown_command"})
    else:
        handler(state, event)


def on_bind(state: State, event: Bind) -> None:
    """Bind a graph, from the next fire on."""
    graphs = state.facts.graphs
    if event.graph in graphs:
        state.reply(event.cid, {"error": "already_bound"})
        return
    state.record(r.Graphs([*graphs, event.graph]))
    state.reply(event.cid, {"bound": event.graph})


def on_unbind(state: State, event: Unbind) -> None:
    """Let a graph go, from the next fire on. With none bound nothing fires and nothing is lost."""
    graphs = state.facts.graphs
    if event.graph not in graphs:
        state.reply(event.cid, {"error": "unknown_graph"})
        return
    state.record(r.Graphs([graph for graph in graphs if graph != event.graph]))
    state.reply(event.cid, {"unbound": event.graph})
    if not state.facts.graphs:
        refuse_commands(state, "no_graph")


def _fire(state: State, event: Ask) -> None:
    facts, cid = state.facts, event.cid
    if cid is not None:
        if cid in facts.outcomes:
            state.reply(cid, {**_answer(facts.outcomes[cid]), "again": True})
            return
        if any(command.cid == cid for command in facts.commands) or (facts.fire is not None and facts.fire.cid == cid):
            return  # it is answered when its fire ends
    refusal = _refusal(state, event)
    if refusal is not None:
        state.reply(cid, refusal)
        return
    state.record(r.Accepted(Command(cid, event.name, event.arg, state.now)))


def _refusal(state: State, event: Ask) -> dict[str, object] | None:
    if state.condition in _CLOSED:
        return {"error": state.condition.value.lower()}
    if not state.facts.graphs:
        return {"error": "no_graph"}
    if event.name == "fire_with":
        if not isinstance(event.arg, dict):
            return {"error": "bad_argument"}
        unknown = [name for name in event.arg if name not in state.sources]
        return {"error": "unknown_source", "names": unknown} if unknown else None
    if event.name == "redrive":
        letter = state.facts.dead.get(str(event.arg)) if isinstance(event.arg, (int, str)) else None
        if letter is None:
            return {"error": "no_such_dead_letter"}
        return {"error": "undecodable"} if isinstance(letter.id, str) else None
    return None


def _answer(outcome: Outcome) -> dict[str, object]:
    if outcome.outcome is None:
        return {"error": outcome.error}
    answer: dict[str, object] = {"fire": outcome.fire, "outcome": outcome.outcome}
    if outcome.error is not None:
        answer["error"] = outcome.error
    return answer


def _get_state(state: State, event: Ask) -> None:
    state.reply(event.cid, look(state))


def _pause(state: State, event: Ask) -> None:
    if state.facts.hold is None:
        state.record(r.Hold("paused"))
        state.is_draining = False
        state.out.append(Held("paused"))
    running = state.facts.fire
    state.reply(event.cid, {"hold": state.facts.hold, "running": None if running is None else running.id})


def _sleep(state: State, event: Ask) -> None:
    _pause(state, event)
    drop_demand(state)


def _resume(state: State, event: Ask) -> None:
    facts = state.facts
    if facts.hold is not None or facts.is_bad:
        was_held = facts.hold is not None
        state.record(r.Hold(None, True))
        if facts.retry_at is None:
            state.disarm("retry")
        if was_held:
            state.out.append(Held(None))
        say_blocked(state)
    settle(state)
    state.reply(event.cid, {"hold": None, "fire": state.started_fire})


def _kill(state: State, event: Ask) -> None:
    fire = state.facts.fire
    killed = None
    if fire is not None:
        killed, attempt, pending = fire.id, fire.attempt, dict(fire.pending)
        state.disarm("fire")
        fail_attempt(state, fire, fire.done, "killed", is_halted=True)
        cancel_graphs(state, killed, attempt, pending, is_given_up=True)
    elif state.facts.hold != "halted":
        state.record(r.Hold("halted"))
        state.out.append(Held("halted"))
    state.disarm("retry")
    refuse_commands(state, "killed")
    say_blocked(state)
    drop_demand(state)
    state.reply(event.cid, {"hold": "halted", "killed": killed})


def _revive(state: State, event: Ask) -> None:
    facts = state.facts
    if state.condition is Condition.FAILED:
        state.record(r.Revived())
        state.reply(event.cid, {"revived": True})
        state.begin_life(facts)
        begin(state)
        return
    failed = [source for source in state.sources.values() if source.health is SourceCondition.FAILED]
    if not failed:
        state.reply(event.cid, {"revived": False})
        return
    state.record(r.Revived())
    state.reply(event.cid, {"revived": True})
    for source in failed:
        restart_source(state, source)
    look_at_health(state)


_COMMANDS: dict[str, Callable[[State, Ask], None]] = {
    "force_fire": _fire,
    "fire_with": _fire,
    "redrive": _fire,
    "get_state": _get_state,
    "pause": _pause,
    "sleep": _sleep,
    "resume": _resume,
    "kill": _kill,
    "revive": _revive,
}
