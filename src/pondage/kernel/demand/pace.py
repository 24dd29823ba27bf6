"""The pace a Pond can keep: the slowest Ripple on the way (period), the whole way (lead), time lost waiting (wait)."""

from pondage.kernel.demand.shape import NONE
from pondage.kernel.demand.signals import Updated
from pondage.kernel.demand.state import RippleState, SourceState
from pondage.kernel.demand.work import Pond


def measure(pond: Pond, ripple: RippleState, duration: int) -> None:
    """Let a measured duration enter the Ripple's moving average."""
    state = pond.state
    before = ripple.estimate
    ripple.estimate = duration if before == NONE else (7 * before + 3 * duration) // 10
    if ripple.estimate >= state.period:
        state.period = ripple.estimate
    elif before == state.period:
        state.is_period_stale = True


def hear(pond: Pond, source: SourceState, update: Updated) -> None:
    """Note the pace that a gating Source published; the largest of all Sources is kept without asking the others."""
    state = pond.state
    if (
        (update.period < source.period == state.source_period)
        or (update.lead < source.lead == state.source_lead)
        or (update.wait < source.wait == state.source_wait)
    ):
        state.is_pace_stale = True
    else:
        state.source_period = max(state.source_period, update.period)
        state.source_lead = max(state.source_lead, update.lead)
        state.source_wait = max(state.source_wait, update.wait)


def refresh(pond: Pond) -> None:
    """Make the cached largest values true again, if one of them may have fallen. Part of a change, never of a look."""
    state = pond.state
    if state.is_period_stale:
        state.period = _own_period(pond)
        state.is_period_stale = False
    if state.is_pace_stale:
        state.source_period, state.source_lead, state.source_wait = _source_pace(pond)
        state.is_pace_stale = False


def period(pond: Pond) -> int:
    """Give the time between two Runs that the slowest Ripple on the way allows; 0 before anything was measured."""
    own = _own_period(pond) if pond.state.is_period_stale else pond.state.period
    return max(own, _source_pace(pond)[0])


def source_lead(pond: Pond) -> int:
    """Give the longest way through the gating Sources."""
    return _source_pace(pond)[1]


def lead(pond: Pond) -> int:
    """Give the longest way from the outside through the Pond itself, when nothing waits; 0 before it was measured."""
    return _critical_path(pond) + source_lead(pond)


def total_wait(pond: Pond) -> int:
    """Give how long the latest input waited here and, at worst, in the gating Sources."""
    return pond.state.wait + _source_pace(pond)[2]


def published(pond: Pond) -> Updated:
    """Give what the Pond tells its Sinks."""
    state = pond.state
    return Updated(
        source=pond.key,
        end_f=state.end_f,
        delay=state.end_delay,
        period=period(pond),
        lead=lead(pond),
        wait=total_wait(pond),
    )


def _own_period(pond: Pond) -> int:
    if pond.shape.feed_period is not None:
        return pond.shape.feed_period
    return max((ripple.estimate for ripple in pond.state.ripples.values() if ripple.estimate != NONE), default=0)


def _source_pace(pond: Pond) -> tuple[int, int, int]:
    state = pond.state
    if not state.is_pace_stale:
        return state.source_period, state.source_lead, state.source_wait
    sources = [source for key, source in state.sources.items() if key in pond.shape.gating]
    return (
        max((source.period for source in sources), default=0),
        max((source.lead for source in sources), default=0),
        max((source.wait for source in sources), default=0),
    )


def _critical_path(pond: Pond) -> int:
    ripples, parents = pond.state.ripples, pond.shape.ripples
    longest: dict[str, int] = {}
    for name in pond.shape.order:
        before = max((longest[parent] for parent in parents[name]), default=0)
        longest[name] = before + max(ripples[name].estimate, 0)
    return max(longest.values(), default=0)
