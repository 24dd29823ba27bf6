"""The short way from a push or a good report to the next fire: what `settle` comes to when nothing else is due.

Nearly every fire is like this, and the long way asks dozens of questions whose answers are known. It changes facts by
the functions that apply records, and a test plays random worlds both ways.
"""

from pondage.kernel.reaction.apply import begin_fire, launch_fire
from pondage.kernel.reaction.choosing import choose_latest
from pondage.kernel.reaction.committing import commit_good
from pondage.kernel.reaction.effects import Fired, Log, StartFire
from pondage.kernel.reaction.events import Done
from pondage.kernel.reaction.facts import Facts, Fire
from pondage.kernel.reaction.records import Commit, Launch
from pondage.kernel.reaction.shape import ReactorShape
from pondage.kernel.reaction.state import Condition, State

_RETRY = ("retry", "")
_LIVE, _DEGRADED = Condition.LIVE, Condition.DEGRADED


def go_on(state: State, event: Done) -> bool:
    """Commit the open fire and start the next one. False: there is more to it, and nothing was changed."""
    facts = state.facts
    fire = facts.fire
    if (
        fire is None
        or event.ok is not True
        or fire.id != event.fire
        or fire.pending.get(event.graph) != event.attempt
        or len(fire.pending) != 1
        or fire.kind != "auto"
        or fire.errors
        or not fire.consumes
        or not _is_quiet(state, facts)
    ):
        return False
    if facts.plan:
        planned = facts.plan[0]
        if planned.attempt or planned.done or state.is_careful:
            return False
        # Both were pinned before, so there is no more room than there was: what is parked stays parked.
        _commit(state, facts, fire)
        _launch(state, facts, planned)
        return True
    if _parks(state) or (state.is_durable and (not state.shape.is_sequential or _waits(facts))):
        return False  # there is room for more now; or the next fires are chosen and pinned by a record
    _commit(state, facts, fire)
    if not state.is_durable:
        _start_next(state, facts)
    return True


def begin_next(state: State) -> bool:
    """Start what was pushed. False: there is more to it, and nothing was changed."""
    facts = state.facts
    if facts.fire is not None:
        return not state.is_health_due and not state.has_room
    if state.is_durable or facts.plan or facts.standing or state.has_room or not _is_quiet(state, facts):
        return False
    if _parks(state):
        return False
    _start_next(state, facts)
    return True


def _is_quiet(state: State, facts: Facts) -> bool:
    condition = state.condition
    return not (
        (condition is not _LIVE and condition is not _DEGRADED)
        or facts.commands
        or facts.hold is not None
        or facts.retry_at is not None
        or facts.failed
        or not facts.graphs
        or state.is_health_due
        or (state.timers and _RETRY in state.timers)
    )


def _parks(state: State) -> bool:
    # A loop and no any(): a generator for each fire would cost as much as all other questions.
    for source in state.sources.values():  # noqa: SIM110
        if source.parked:
            return True
    return False


def _commit(state: State, facts: Facts, fire: Fire) -> None:
    out, now = state.out, state.now
    if state.is_durable:
        out.append(Log(Commit(fire.id, fire.attempt, "ok", now, None, fire.is_planned)))
    commit_good(state.shape, facts, fire, now)
    facts.fire = None
    out.append(Fired(fire.id, fire.attempt, "ok"))


def _launch(state: State, facts: Facts, fire: Fire) -> None:
    graphs = list(facts.graphs)
    record = Launch(fire.id, 1, fire.reason, graphs, state.now, state.unhealthy)
    if state.is_durable:
        state.out.append(Log(record))
    launch_fire(state.shape, facts, record)
    _announce(state, fire, graphs, is_early=True)


def _start(state: State, facts: Facts, consumes: dict[str, int]) -> None:
    shape, graphs = state.shape, list(facts.graphs)
    reason = "when_all" if shape.needs_all else "when_any"
    fire = Fire(
        facts.fire_no + 1,
        1,
        reason,
        consumes,
        {},
        dict.fromkeys(graphs, 1),
        [],
        {},
        state.unhealthy,
        "auto",
        None,
        None,
        shape.is_sequential,
    )
    begin_fire(shape, facts, fire)
    _announce(state, fire, graphs, is_early=False)


def _announce(state: State, fire: Fire, graphs: list[str], *, is_early: bool) -> None:
    state.started_fire = fire.id
    inputs = {name: entry.value for name, entry in fire.inputs.items()}
    state.out.append(StartFire(fire.id, 1, graphs, inputs, fire.reason, fire.unhealthy, is_early))


def _start_next(state: State, facts: Facts) -> None:
    shape = state.shape
    if not shape.is_sequential:
        consumes = choose_latest(shape, facts)
    else:
        consumes = _heads_of_all(shape, facts) if shape.needs_all else _first_head(facts)
    if consumes is not None:
        _start(state, facts, consumes)


def _waits(facts: Facts) -> bool:
    return any(len(source.queue) > source.pinned for source in facts.sources.values())


def _first_head(facts: Facts) -> dict[str, int] | None:
    """Give what the next fire of WhenAny consumes when nothing is pinned, as `choose_sequential` does."""
    first, name_of_first = None, ""
    for name, source in facts.sources.items():
        if source.queue:
            entry = source.queue[0]
            if first is None or entry.arrival < first.arrival:
                first, name_of_first = entry, name
    return None if first is None else {name_of_first: first.seq}


def _heads_of_all(shape: ReactorShape, facts: Facts) -> dict[str, int] | None:
    """Give what the next fire of WhenAll consumes when nothing is pinned, as `choose_sequential` does."""
    taken = {}
    for name, source in facts.sources.items():
        if source.queue:
            taken[name] = source.queue[0].seq
        elif not shape.sources[name].optional:
            return None
    return taken or None
