"""Starting fires and ending them: evaluation after every event, reports, failure policies (sections 4.2 to 4.4)."""

from pondage.kernel.reaction import records as r
from pondage.kernel.reaction.choosing import choose_forced, choose_latest, choose_sequential
from pondage.kernel.reaction.committing import version_vector
from pondage.kernel.reaction.demand import is_asking, is_gated, publish_fire, say_blocked, try_pass
from pondage.kernel.reaction.effects import CancelFire, Fired, Held, StartFire, WantPond
from pondage.kernel.reaction.events import Done
from pondage.kernel.reaction.facts import Command, Entry, Fire
from pondage.kernel.reaction.ingest import flush
from pondage.kernel.reaction.shape import Failing, Kind
from pondage.kernel.reaction.state import RUNNING, Condition, State, backoff

_KINDS = {"force_fire": "force", "fire_with": "with", "redrive": "redrive"}


def evaluate(state: State) -> None:
    """Start what may start; otherwise let the freshness pass. Runs after every event: no wake-up is lost."""
    facts, condition = state.facts, state.condition
    if facts.fire is not None or condition not in RUNNING:
        return
    while facts.commands:
        if _start_command(state, facts.commands[0]):
            return
    if facts.hold is not None or condition is Condition.WARMING or not facts.graphs:
        return
    if condition is Condition.STOPPING and not state.is_draining:
        return
    if facts.retry_at is not None and state.now < facts.retry_at:
        return
    is_started = not (state.is_gated and is_gated(state)) and _start_automatic(state)
    if not is_started and state.shape.publish is not None:
        try_pass(state)


def on_done(state: State, event: Done) -> None:
    """Take in the report of a graph; one of another fire, attempt or graph is stale and ignored."""
    fire = state.facts.fire
    if fire is None or fire.id != event.fire or fire.pending.get(event.graph) != event.attempt:
        return
    error = None if event.ok else (event.error or "failed")
    if len(fire.pending) > 1:
        state.record(r.GraphDone(event.graph, error))
        return
    done = [*fire.done, event.graph] if error is None else fire.done
    errors = fire.errors if error is None else {**fire.errors, event.graph: error}
    end_attempt(state, fire, done, next(iter(errors.values()), None))


def end_attempt(state: State, fire: Fire, done: list[str], error: str | None) -> None:
    """Every graph has reported, or the attempt is given up: commit, or do what the policy says."""
    if state.timers:
        state.disarm("fire")
    if error is None:
        _commit(state, fire, "ok", None)
    elif fire.is_manual:
        fail_attempt(state, fire, done, error)
    else:
        _follow_policy(state, fire, done, error)


def fail_attempt(
    state: State, fire: Fire, done: list[str], error: str, *, retry_at: int | None = None, is_halted: bool = False
) -> None:
    """End an attempt that consumed nothing. Only an automatic fire counts for the retry budget."""
    facts = state.facts
    fire_id, attempt, cid, is_manual = fire.id, fire.attempt, fire.cid, fire.is_manual
    tries = facts.tries if is_manual else facts.tries + 1
    if is_manual and not is_halted:
        retry_at = facts.retry_at
    state.record(r.Failure(fire_id, attempt, error, state.now, done, tries, retry_at, is_halted))
    if is_halted:
        state.out.append(Held("halted"))
    state.has_room = True
    if facts.retry_at is not None:
        state.arm("retry", "", facts.retry_at)
    state.out.append(Fired(fire_id, attempt, "failed", error))
    if is_manual:
        state.reply(cid, {"fire": fire_id, "outcome": "failed", "error": error})


def give_up(state: State, fire: Fire, error: str) -> None:
    """End a fire that the process does not survive: its policy without any retry."""
    if fire.is_manual:
        fail_attempt(state, fire, fire.done, error)
        return
    failing = state.failing
    _end_by(state, fire, fire.done, error, failing.then if failing.policy is Failing.RETRY else failing.policy)


def cancel(state: State, *, is_given_up: bool) -> None:
    """Stop the graphs of the open fire. A dispatch outlives its host, unless the fire is given up for good."""
    fire = state.facts.fire
    if fire is not None:
        state.disarm("fire")
        cancel_graphs(state, fire.id, fire.attempt, fire.pending, is_given_up=is_given_up)


def cancel_graphs(state: State, fire: int, attempt: int, pending: dict[str, int], *, is_given_up: bool) -> None:
    """Stop these graphs."""
    graphs = [graph for graph in pending if is_given_up or graph not in state.shape.dispatched]
    if graphs:
        state.out.append(CancelFire(fire, attempt, graphs, [pending[graph] for graph in graphs]))


def due_timeout(state: State) -> None:
    """Fail the open fire; its graphs are cancelled only after the record says so."""
    fire = state.facts.fire
    if fire is None:
        return
    fire_id, attempt, pending = fire.id, fire.attempt, dict(fire.pending)
    end_attempt(state, fire, fire.done, "timeout")
    cancel_graphs(state, fire_id, attempt, pending, is_given_up=True)


def run_again(state: State) -> None:
    """At the start of a life: the open fire first, under the same id and inputs; an open dispatch is adopted."""
    fire = state.facts.fire
    if fire is None:
        return
    adopted = [graph for graph in fire.pending if graph in state.shape.dispatched]
    lost = [graph for graph in fire.pending if graph not in adopted]
    graphs = _still_bound(state, fire, lost)
    if not graphs:
        if not adopted:
            end_attempt(state, fire, fire.done, next(iter(fire.errors.values()), None))
            return
        if lost:
            state.record(r.Again(fire.id, fire.attempt + 1, [], state.now))
        _arm_timeout(state)
        return
    if fire.crashes >= state.shape.crash_attempts:
        pending = dict(fire.pending)
        fire_id, attempt = fire.id, fire.attempt
        give_up(state, fire, "crash")
        cancel_graphs(state, fire_id, attempt, {graph: pending[graph] for graph in adopted}, is_given_up=True)
        return
    state.record(r.Again(fire.id, fire.attempt + 1, graphs, state.now))
    _announce(state, graphs, is_early=False)


def _still_bound(state: State, fire: Fire, graphs: list[str]) -> list[str]:
    """Leave out graphs that a deploy took away while the fire was open; when all were, it runs what is bound now."""
    bound = state.facts.graphs
    left = [graph for graph in graphs if graph in bound]
    if left or not graphs:
        return left
    return [graph for graph in bound if graph not in fire.done and graph not in fire.pending] if bound else graphs


def _start_automatic(state: State) -> bool:
    shape, facts = state.shape, state.facts
    if not shape.is_sequential:
        consumes = choose_latest(shape, facts)
        if consumes is None:
            return False
        _start_fire(state, consumes, "auto", None, is_kept=False)
        return True
    if facts.plan:
        _launch(state, "auto", None)
        return True
    state.is_careful = False
    fires = choose_sequential(shape, facts, state.plan_size)
    if not fires:
        return False
    if len(fires) == 1:
        _start_fire(state, fires[0], "auto", None, is_kept=True)
        return True
    reason = "when_all" if shape.needs_all else "when_any"
    before = _taken(state) if state.has_ponds else None
    state.record(r.Plan(facts.fire_no + 1, reason, fires, list(facts.graphs), state.now, state.unhealthy))
    _announce(state, facts.graphs, is_early=False, before=before)
    return True


def _start_command(state: State, command: Command) -> bool:
    shape, facts = state.shape, state.facts
    kind, refusal = _KINDS[command.name], None
    if not facts.graphs:
        refusal = "no_graph"
    elif kind == "redrive" and str(command.arg) not in facts.dead:
        refusal = "no_such_dead_letter"
    if refusal is not None:
        state.record(r.Refused(command.cid, refusal))
        state.reply(command.cid, {"error": refusal})
        return False
    if kind == "force" and facts.plan:
        _launch(state, kind, command.cid)
    elif kind == "force":
        satisfied = shape.is_sequential and bool(choose_sequential(shape, facts, 1))
        _start_fire(state, choose_forced(shape, facts), kind, command.cid, is_kept=satisfied)
    else:
        consumes = {}
        if kind == "with" and not shape.is_sequential and isinstance(command.arg, dict):
            consumes = {name: facts.sources[name].seen for name in command.arg if facts.sources[name].seen}
        _start_fire(state, consumes, kind, command.cid, is_kept=False)
    return True


def _start_fire(state: State, consumes: dict[str, int], kind: str, cid: str | None, *, is_kept: bool) -> None:
    facts, shape = state.facts, state.shape
    fire_id, attempt, done = facts.fire_no + 1, 1, []
    if facts.standing and kind != "with":
        standing = facts.standing.get(version_vector(consumes, _shown(state, consumes, kind)))
        if standing is not None:
            fire_id, attempt, done = standing.id, standing.attempt + 1, list(standing.done)
    if kind != "auto":
        reason = kind
    elif attempt > 1:
        reason = "retry"
    else:
        reason = "when_all" if shape.needs_all else "when_any"
    graphs = [graph for graph in facts.graphs if graph not in done] if done else list(facts.graphs)
    before = _taken(state) if state.has_ponds else None
    state.record(
        r.Start(fire_id, attempt, kind, reason, consumes, graphs, state.now, done, state.unhealthy, cid, is_kept)
    )
    _announce(state, graphs, is_early=False, before=before)


def _launch(state: State, kind: str, cid: str | None) -> None:
    facts = state.facts
    fire = facts.plan[0]
    attempt = fire.attempt + 1
    reason = kind if kind != "auto" else "retry" if attempt > 1 else fire.reason
    graphs = [graph for graph in facts.graphs if graph not in fire.done]
    before = _taken(state) if state.has_ponds else None
    state.record(r.Launch(fire.id, attempt, reason, graphs, state.now, state.unhealthy, kind, cid))
    _announce(state, graphs, is_early=attempt == 1 and kind == "auto" and not state.is_careful, before=before)


def _shown(state: State, consumes: dict[str, int], kind: str) -> dict[str, Entry]:
    facts = state.facts
    if kind == "redrive":
        return facts.dead[str(facts.commands[0].arg)].inputs
    shown = {}
    for name, source in facts.sources.items():
        entry = source.cur
        if state.shape.is_sequential and name in consumes:
            entry = source.queue[source.pinned]
        if entry is not None:
            shown[name] = entry
    return shown


def _announce(state: State, graphs: list[str], *, is_early: bool, before: dict[str, int] | None = None) -> None:
    fire = state.facts.fire
    assert fire is not None
    state.has_room = True
    state.started_fire = fire.id
    if before:
        for name, taken in before.items():
            if state.facts.sources[name].taken > taken and is_asking(state):
                state.out.append(WantPond(name, state.facts.sources[name].taken))
    if not graphs:
        end_attempt(state, fire, fire.done, None)  # every graph that is bound has succeeded before
        return
    _arm_timeout(state)
    inputs = {name: entry.value for name, entry in fire.inputs.items()}
    state.out.append(StartFire(fire.id, fire.attempt, graphs, inputs, fire.reason, fire.unhealthy, is_early))


def _arm_timeout(state: State) -> None:
    if state.shape.timeout is not None:
        state.arm("fire", "", state.now + state.shape.timeout)


def _taken(state: State) -> dict[str, int]:
    return {name: source.facts.taken for name, source in state.sources.items() if source.shape.kind is Kind.POND}


def _follow_policy(state: State, fire: Fire, done: list[str], error: str) -> None:
    failing, tries = state.failing, state.facts.tries + 1
    if failing.policy is Failing.RETRY and tries <= failing.retries:
        base = state.shape.second if failing.base is None else failing.base
        cap = 60 * state.shape.second if failing.cap is None else failing.cap
        wait = backoff(base, tries, cap)
        fail_attempt(state, fire, done, error, retry_at=state.now + wait)
        return
    policy = failing.then if failing.policy is Failing.RETRY else failing.policy
    _end_by(state, fire, done, error, policy)


def _end_by(state: State, fire: Fire, done: list[str], error: str, policy: Failing) -> None:
    if policy is Failing.DROP:
        _commit(state, fire, "dropped", error)
    elif policy is Failing.HALT:
        fail_attempt(state, fire, done, error, is_halted=True)
    else:
        _commit(state, fire, "dead", error)


def _commit(state: State, fire: Fire, outcome: str, error: str | None) -> None:
    facts = state.facts
    before = facts.com_f
    is_derivable = outcome == "ok" and fire.is_planned
    state.record(r.Commit(fire.id, fire.attempt, outcome, state.now, error, is_derivable))
    state.has_room = True
    if state.timers and facts.retry_at is None:
        state.disarm("retry")
    state.out.append(Fired(fire.id, fire.attempt, outcome, error))
    if fire.cid is not None:
        state.reply(fire.cid, {"fire": fire.id, "outcome": outcome})
    if state.shape.publish is not None:
        say_blocked(state)
        publish_fire(state, before)
    if outcome == "ok" and state.flushes_on_fire:
        for source in state.sources.values():
            if source.shape.flush_on_fire:
                flush(state, source)
