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


def period(pond: Pond) -> int:
    """Give the time between two Runs that the slowest Ripple on the way allows; 0 before anything was measured."""
    state = pond.state
    if state.is_period_stale:
        state.period = max((ripple.estimate for ripple in state.ripples.values()), default=0)
        state.period = max(state.period, 0)
        state.is_period_stale = False
    _freshen(pond)
    return max(state.period, state.source_period)


def source_lead(pond: Pond) -> int:
    """Give the longest way through the gating Sources."""
    _freshen(pond)
    return pond.state.source_lead


def total_wait(pond: Pond) -> int:
    """Give how long the latest input waited here and, at worst, in the gating Sources."""
    _freshen(pond)
    return pond.state.wait + pond.state.source_wait


def published(pond: Pond) -> Updated:
    """Give what the Pond tells its Sinks."""
    state = pond.state
    return Updated(
        source=pond.key,
        end_f=state.end_f,
        delay=state.end_delay,
        period=period(pond),
        lead=_critical_path(pond) + source_lead(pond),
        wait=total_wait(pond),
    )


def _freshen(pond: Pond) -> None:
    state = pond.state
    if state.is_pace_stale:
        sources = [source for key, source in state.sources.items() if key in pond.shape.gating]
        state.source_period = max((source.period for source in sources), default=0)
        state.source_lead = max((source.lead for source in sources), default=0)
        state.source_wait = max((source.wait for source in sources), default=0)
        state.is_pace_stale = False


def _critical_path(pond: Pond) -> int:
    ripples, parents = pond.state.ripples, pond.shape.ripples
    longest: dict[str, int] = {}
    for name in pond.shape.order:
        before = max((longest[parent] for parent in parents[name]), default=0)
        longest[name] = before + max(ripples[name].estimate, 0)
    return max(longest.values(), default=0)
