"""Facts about Sources, as their Sinks take them in. Facts go before demand, so that an instant has one result."""

from pondage.kernel.demand import pace
from pondage.kernel.demand.agreeing import reconsider
from pondage.kernel.demand.blocking import on_dropped, on_source_blocked, on_source_unblocked
from pondage.kernel.demand.deploying import on_appeared, on_vanished
from pondage.kernel.demand.shape import NONE
from pondage.kernel.demand.signals import (
    Appeared,
    Dropped,
    Fact,
    SourceBlocked,
    SourceUnblocked,
    Updated,
    Vanished,
)
from pondage.kernel.demand.work import Pond, Work


def deliver(work: Work, pond: Pond, fact: Fact) -> None:
    """Take in one fact."""
    match fact:
        case Updated():
            on_updated(work, pond, fact)
        case SourceBlocked():
            on_source_blocked(work, pond, fact.source)
        case SourceUnblocked():
            on_source_unblocked(work, pond, fact.source)
        case Dropped():
            on_dropped(work, pond, fact.source)
        case Appeared():
            on_appeared(work, pond, fact)
        case Vanished():
            on_vanished(work, pond, fact.source)


def on_updated(work: Work, pond: Pond, update: Updated) -> None:
    """Note what a Source published; a counter knows whether the Pond can start, whatever the number of Sources."""
    state, shape = pond.state, pond.shape
    source = state.sources.get(update.source)
    if source is None:
        return
    if update.source in shape.gating:
        pace.hear(pond, source, update)
        if state.goal != NONE and source.end_f < state.goal <= update.end_f:
            state.behind = state.behind - 1 if shape.required else 0
    source.end_f, source.delay = update.end_f, update.delay
    source.period, source.lead, source.wait = update.period, update.lead, update.wait
    state.arrived_at = work.now
    reconsider(work, pond)
    work.change(pond)
