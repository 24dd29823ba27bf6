"""Tides: targets spaced so that a Pond is never staler than a limit, and never faster than its bottleneck.

A Wave with just-in-time pacing is a Tide with limit 0.
"""

from pondage.kernel.demand import pace
from pondage.kernel.demand.shape import NEVER, NONE
from pondage.kernel.demand.state import Pacing, PondState
from pondage.kernel.demand.work import Pond


def limit(state: PondState) -> int:
    """Give the smallest limit of the Pond's Tides that ask; NONE when it has none."""
    if state.asking_wave is Pacing.JUST_IN_TIME:
        return 0
    return min(state.asking_tides, default=NONE)


def due_at(pond: Pond) -> int:
    """Give when the next target is due; NONE without a Tide."""
    state = pond.state
    bound = limit(state)
    if bound == NONE:
        return NONE
    earliest = state.start_f + 1
    if state.start_f == NEVER and not state.targets:
        return earliest
    reference = state.start_f - state.delay
    if state.targets:
        reference = max(reference, state.targets[-1])
    period = pace.period(pond)
    skip = state.skip if bound < period else 0
    # At least one unit apart: before anything was measured, limit and period may both be 0.
    return max(reference + max(bound, period, 1), earliest) + skip


def is_due(pond: Pond, now: int) -> bool:
    """Is a target to be emitted now? Not while blocked, and not while enough of them are under way."""
    state = pond.state
    due = due_at(pond)
    return due != NONE and now >= due and not state.is_blocked and _under_way(state) < _capacity(pond)


def has_room(pond: Pond) -> bool:
    """Would a target be emitted when it is due? If not, it is a completion that makes room, not the clock."""
    return not pond.state.is_blocked and _under_way(pond.state) < _capacity(pond)


def correct(pond: Pond, freshness: int, now: int) -> None:
    """When a Run starts: if the input of a target waited long, delay the next target by it, once per feedback."""
    state = pond.state
    if limit(state) == NONE or freshness < state.corrected_at:
        return
    waited = pace.total_wait(pond)
    if 4 * waited > pace.period(pond):
        state.skip = waited
        state.corrected_at = now


def _under_way(state: PondState) -> int:
    return sum(target > state.start_f for target in state.targets)


def _capacity(pond: Pond) -> int:
    if not pond.state.has_run:
        return 1  # the first interval is the lead: nothing is known yet about the pace
    period = max(pace.period(pond), 1)
    return -(-pace.source_lead(pond) // period) + 1
