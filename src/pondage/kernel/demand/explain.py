"""`explain`: why does a Pond run, or not run? It reads the Pond and, when it is blocked, its blocked ancestors."""

from pondage.kernel.demand import readers, tide
from pondage.kernel.demand.gates import (
    Backfilling,
    Deploying,
    Disagree,
    Gate,
    HasFailed,
    HeldDemand,
    IsBlocked,
    Killed,
    NoDemand,
    NotDeployed,
    Paused,
    RippleBusy,
    Running,
    TideDue,
    WaitsForSource,
    WaitsForWindow,
)
from pondage.kernel.demand.goal import source_f
from pondage.kernel.demand.ponds import Ponds
from pondage.kernel.demand.shape import NONE, PondKey
from pondage.kernel.demand.timing import opens_at
from pondage.kernel.demand.work import Pond


def explain(ponds: Ponds, key: PondKey, now: int) -> list[Gate]:
    """Give the gates of a Pond in a fixed order; an empty list for a Pond that is not deployed."""
    state, shape = ponds.state(key), ponds.shape(key)
    if state is None or shape is None:
        return []
    pond = Pond(state, shape)
    gates: list[Gate] = []
    if state.chunk is not None or state.chunks:
        executing = [name for name, ripple in state.ripples.items() if ripple.is_busy and state.chunk is not None]
        gates.append(Backfilling(executing, len(state.chunks), state.is_for_chunk))
    if state.chunk is None and (state.active or state.busy):
        busy = [(name, ripple.start_f) for name, ripple in state.ripples.items() if ripple.is_busy]
        gates.append(Running(busy, [run.freshness for run in state.active]))
    if state.is_killed:
        return [*gates, Killed()]
    if state.is_failed:
        left = max(shape.retries.on_change + 1 - state.failures, 0)
        gates.append(HasFailed(state.failed_f, state.failures, left))
    if state.blocked_sources:
        gates.append(IsBlocked(_blockers(ponds, pond)))
    if state.deploying is not None:
        gates.append(Deploying(state.deploying))
    gates.extend(_waiting(pond, now) if state.goal != NONE else _idle(pond))
    if state.older:
        gates.append(Disagree(list(state.older)))
    if state.paused:
        gates.append(Paused(sorted(state.paused.items())))
    gates.extend(readers.resting(ponds, pond, now))
    gates.extend(NotDeployed(source) for source, known in state.sources.items() if not known.is_deployed)
    return gates


def _idle(pond: Pond) -> list[Gate]:
    state = pond.state
    gates: list[Gate] = []
    if state.is_failed and (state.targets or state.has_pull):
        gates.append(HeldDemand(list(state.targets), state.has_pull))
    elif not state.active and not state.busy and not state.older:
        gates.append(NoDemand())
    due = tide.due_at(pond)
    if due != NONE:
        gates.append(TideDue(due))
    return gates


def _waiting(pond: Pond, now: int) -> list[Gate]:
    state, shape = pond.state, pond.shape
    gates: list[Gate] = []
    if shape.required:
        gates.extend(
            WaitsForSource(source, state.sources[source].end_f, state.goal)
            for source, is_required in shape.sources
            if is_required and state.sources[source].end_f < state.goal
        )
    elif not shape.is_inlet and state.behind:
        gates.append(WaitsForSource("any", source_f(pond, now), state.goal))
    elif shape.is_inlet and source_f(pond, now) < state.goal:
        opens = opens_at(pond, now)
        gates.append(WaitsForWindow(None if opens == NONE else opens))
    if state.busy_roots and state.chunk is None:
        gates.append(RippleBusy([name for name in shape.roots if state.ripples[name].is_busy]))
    return gates


def _blockers(ponds: Ponds, pond: Pond) -> list[PondKey]:
    found: set[PondKey] = set()
    seen = {pond.key}
    pending = [pond]
    while pending:
        below = pending.pop()
        for key in below.shape.required:
            if not below.state.sources[key].is_blocked or key in seen:
                continue
            seen.add(key)
            state, shape = ponds.state(key), ponds.shape(key)
            if state is None or shape is None or state.is_failed or state.is_killed:
                found.add(key)
            if state is not None and shape is not None:
                pending.append(Pond(state, shape))
    return sorted(found)
