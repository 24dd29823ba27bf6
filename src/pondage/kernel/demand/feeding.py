"""Ponds with a reactor behind them: what it publishes becomes Runs, demand and verbs go on to it."""

from pondage.kernel.demand.asking import on_target, on_want
from pondage.kernel.demand.blocking import set_blocked
from pondage.kernel.demand.effects import Commanded, Reason, RunFinished, StartRun
from pondage.kernel.demand.events import (
    Asked,
    Calm,
    Clear,
    Fed,
    Force,
    Kill,
    Live,
    Pulse,
    Sleep,
    Stuck,
    Tap,
    Tide,
    Verb,
    Wake,
    Wave,
)
from pondage.kernel.demand.pace import published
from pondage.kernel.demand.shape import NEVER
from pondage.kernel.demand.signals import Dropped
from pondage.kernel.demand.work import Pond, Work


def hear(work: Work, pond: Pond, event: Live) -> None:
    """Take in what a reactor says: as a Sink of any Pond, or as the one behind this."""
    if isinstance(event, Asked):
        if event.want is not None:
            on_want(work, pond, event.want)
        if event.target is not None:
            on_target(work, pond, event.target)
    elif not pond.shape.is_fed:
        return
    elif isinstance(event, Fed):
        _feed(work, pond, event)
    elif isinstance(event, Stuck):
        pond.state.is_failed = event.on
        pond.state.failed_f = pond.state.end_f if event.on else NEVER
        work.change(pond)
        set_blocked(work, pond, Reason.FAILED if event.on else Reason.RECOVERED)
    else:
        work.send_down(pond, Dropped(pond.key))


def _feed(work: Work, pond: Pond, event: Fed) -> None:
    state = pond.state
    freshness = event.freshness
    if freshness <= state.end_f:
        if event.batch is None:
            return  # said again
        freshness = state.end_f + 1  # the reactor has forgotten how far it was: its data counts all the same
    if event.batch is None and state.end_f == NEVER:
        return
    state.number += 1
    state.start_f = state.end_f = state.top_f = freshness
    state.delay = state.end_delay = event.delay
    state.has_run = state.is_period_stale = True
    for ripple in state.ripples.values():
        ripple.prev, ripple.start_f, ripple.end_f = ripple.start_f, freshness, freshness
    work.emit(
        StartRun(
            pond=pond.key,
            reason=Reason.RUN,
            number=state.number,
            freshness=freshness,
            delay=event.delay,
            taken={},
            is_fed=True,
            batch=event.batch,
        )
    )
    work.emit(
        RunFinished(pond=pond.key, reason=Reason.COMPLETED, number=state.number, freshness=freshness, delay=event.delay)
    )
    work.send_down(pond, published(pond))
    work.change(pond)


def hand_on(work: Work, pond: Pond, event: Verb) -> bool:
    """Hand a verb on to the reactor; False: the Pond itself carries it out."""
    match event:
        case Tap():
            on_want(work, pond, pond.state.end_f)
        case Pulse():
            on_target(work, pond, work.now if event.at is None else min(event.at, work.now))
        case Clear() | Sleep() | Force() | Kill():
            work.emit(Commanded(pond=pond.key, reason=Reason.VERB, verb=type(event).__name__.lower()))
        case Wave() | Tide() | Calm() | Wake():
            pass  # An eager reactor is a Wave already.
        case _:
            return False
    return True
