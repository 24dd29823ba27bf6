"""Ponds that read only what agrees: a Run starts when its Sources stand on the same Runs of their common ancestors.

The machine knows freshnesses, not Runs, so it asks its host before such a Run starts. Sources that do not agree are
asked to catch up, by targets as any other, and the demand is held until one of them has published. They are asked no
further than one step beyond where the freshest was: Sources that move by themselves may never meet, and asking for ever
would have everything above run without end. Whoever asks this Pond anew has it ask them anew.
"""

from pondage.kernel.demand.effects import Compare, Reason
from pondage.kernel.demand.events import Compared
from pondage.kernel.demand.goal import aim
from pondage.kernel.demand.shape import NONE
from pondage.kernel.demand.signals import Target
from pondage.kernel.demand.work import Pond, Work


def may_read(work: Work, pond: Pond, freshness: int, reason: Reason) -> bool:
    """Answer whether a Run at this freshness may start; when nobody knows, ask."""
    state = pond.state
    if not pond.shape.must_agree:
        return True
    if work.agreed.pop(pond.key, NONE) == freshness:
        return True
    if not state.older and not state.is_comparing:
        state.is_comparing = True
        work.emit(Compare(pond=pond.key, reason=reason, freshness=freshness))
        work.changed[pond.key] = None
    return False


def on_compared(work: Work, pond: Pond, event: Compared) -> None:
    """Take in the answer: start, or hold what is asked for and have the Sources that are behind catch up."""
    state = pond.state
    if not state.is_comparing:
        return
    state.is_comparing = False
    work.change(pond)
    if not event.older:
        work.agreed[pond.key] = event.freshness
        return
    if state.is_woken:  # it asks nothing of the Sources, and is not held
        state.is_woken = False
        aim(pond)
    if state.goal == NONE and not state.is_forced:
        return
    state.older = [key for key in event.older if key in state.sources]
    if state.catch_up_to == NONE:
        state.catch_up_to = max(work.now, *(source.end_f + 1 for source in state.sources.values()))
    for key in state.older:
        if state.sources[key].end_f < state.catch_up_to:
            work.send_up(key, Target(state.sources[key].end_f + 1))


def reconsider(work: Work, pond: Pond) -> None:
    """Compare again before the next Run: a Source has published."""
    work.agreed.pop(pond.key, None)
    if pond.state.older:
        pond.state.older = []
        work.change(pond)


def ask_anew(work: Work, pond: Pond) -> None:
    """Compare again, and ask the Sources again: somebody wants something of this Pond, or a Source hears it again."""
    pond.state.catch_up_to = NONE
    reconsider(work, pond)
