"""What freshness the next Run of a Pond needs, and what its Sources (or the clock) can give."""

from bisect import bisect_right

from pondage.kernel.demand.shape import NONE
from pondage.kernel.demand.work import Pond


def source_f(pond: Pond, now: int) -> int:
    """Give the freshness that a Run started now would have; NONE for an Inlet between windows."""
    shape, sources = pond.shape, pond.state.sources
    if shape.is_inlet:
        if shape.calendar is None:
            return now
        occurrence = shape.calendar.occurrence(now)
        return occurrence[1] if occurrence else NONE
    if shape.required:
        return min(sources[key].end_f for key in shape.required)
    return max(source.end_f for source in sources.values())


def source_delay(pond: Pond, freshness: int, now: int) -> int:
    """Give the D of a Run at that freshness: the length of the window, or the worst of the Sources that set it."""
    shape = pond.shape
    if shape.is_inlet:
        occurrence = shape.calendar.occurrence(now) if shape.calendar else None
        return occurrence[1] - occurrence[0] if occurrence else 0
    return max((source.delay for source in pond.state.sources.values() if source.end_f == freshness), default=0)


def aim(pond: Pond) -> None:
    """Bring the cached goal up to date after anything it depends on; the Sources are counted only when it moved."""
    goal = _goal(pond)
    if goal != pond.state.goal:
        pond.state.goal = goal
        count_behind(pond)


def count_behind(pond: Pond) -> None:
    """Count the gating Sources below the goal, so that an update of one costs the same for any number of Sources."""
    state, shape = pond.state, pond.shape
    if state.goal == NONE or shape.is_inlet:
        state.behind = 0
    elif shape.required:
        state.behind = sum(state.sources[key].end_f < state.goal for key in shape.required)
    else:
        state.behind = 0 if source_f(pond, 0) >= state.goal else 1


def _goal(pond: Pond) -> int:
    state = pond.state
    if state.is_woken:
        return state.start_f + 1
    if state.is_failed:
        return state.start_f + 1 if state.failures <= pond.shape.retries.on_change else NONE
    if state.has_pull:
        return state.start_f + 1
    targets = state.targets
    at = bisect_right(targets, state.start_f)
    return targets[at] if at < len(targets) else NONE
