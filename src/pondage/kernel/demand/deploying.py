"""Deploying over live state: a definition takes over when the Runs that started on the former one are finished."""

from pondage.kernel.demand import chunks, pace
from pondage.kernel.demand.agreeing import ask_anew
from pondage.kernel.demand.asking import forget_told, prune_triggers, resend
from pondage.kernel.demand.blocking import on_source_blocked, on_source_unblocked, set_blocked
from pondage.kernel.demand.effects import Blocked, Deployed, Reason
from pondage.kernel.demand.events import Deploy
from pondage.kernel.demand.goal import aim, count_behind
from pondage.kernel.demand.shape import NONE, PondKey, PondShape
from pondage.kernel.demand.signals import Appeared, Updated, Vanished
from pondage.kernel.demand.state import RippleState, SourceState, new_ripple, new_state
from pondage.kernel.demand.work import Pond, Work


def on_deploy(work: Work, event: Deploy) -> None:
    """Create the Pond, or change it now or as soon as nothing of it runs. An unknown reference is ignored."""
    shape = work.ponds.definition(event.pond, event.definition)
    if shape is None or shape.key != event.pond:
        return
    pond = work.load(event.pond)
    if pond is None:
        _create(work, shape, event.definition)
        return
    # Whoever asked for chunks meant the code that was there; the one that runs is finished with it.
    chunks.give_back(work, pond, Reason.DEPLOYED)
    pond.state.deploying = event.definition
    work.change(pond)


def adopt(work: Work, pond: Pond) -> None:
    """Put the awaited definition in force, once no Run is active and nothing is executing."""
    state = pond.state
    if state.deploying is None or state.active or state.busy:
        return
    definition, state.deploying = state.deploying, None
    shape = work.ponds.definition(pond.key, definition)
    work.change(pond)
    if shape is None:
        return
    former = dict(pond.shape.sources)
    joined = [key for key, required in shape.sources if former.get(key) != required]
    state.definition = definition
    state.ripples = {name: _carried(pond, name, parents) for name, parents in shape.ripples.items()}
    state.sources = {key: _linked(work, key) if key in joined else state.sources[key] for key, _ in shape.sources}
    state.blocked_sources = sum(state.sources[key].is_blocked for key in shape.required)
    state.has_told = False
    state.is_period_stale = state.is_pace_stale = True
    pond.shape = shape
    prune_triggers(work, pond)
    ask_anew(work, pond)
    pond.candidates = {}
    work.ponds.put(state, shape)
    work.emit(Deployed(pond=pond.key, reason=Reason.DEPLOYED, definition=definition))
    aim(pond)
    count_behind(pond)
    was_blocked = state.is_blocked
    set_blocked(work, pond, Reason.SOURCE)
    if not was_blocked and not state.is_blocked:
        for key in joined:
            resend(work, pond, key)


def on_remove(work: Work, pond: Pond) -> None:
    """Take the Pond away, after it was killed; Sinks that still name it wait until it is deployed again."""
    work.send_down(pond, Vanished(pond.key))
    work.ponds.remove(pond.key)
    work.forget(pond.key)


def on_appeared(work: Work, pond: Pond, fact: Appeared) -> None:
    """Bind a Source that was not deployed until now: take what it has, and then treat it as unblocked."""
    key = fact.update.source
    source = pond.state.sources.get(key)
    if source is None:
        return
    was_blocked = source.is_blocked
    linked = _bound(fact.update, fact.is_blocked)
    linked.is_blocked = was_blocked
    pond.state.sources[key] = linked
    pond.state.is_pace_stale = True
    forget_told(pond, key)
    ask_anew(work, pond)
    count_behind(pond)
    work.change(pond)
    if fact.is_blocked:
        on_source_blocked(work, pond, key)
    else:
        on_source_unblocked(work, pond, key)


def on_vanished(work: Work, pond: Pond, key: PondKey) -> None:
    """Treat a Source that was removed as blocked."""
    source = pond.state.sources.get(key)
    if source is not None:
        source.is_deployed = False
        work.change(pond)
        on_source_blocked(work, pond, key)


def _create(work: Work, shape: PondShape, definition: str) -> None:
    state = new_state(shape, definition)
    pond = Pond(state, shape)
    state.sources = {key: _linked(work, key) for key, _ in shape.sources}
    state.blocked_sources = sum(state.sources[key].is_blocked for key in shape.required)
    state.is_blocked = state.blocked_sources > 0
    state.is_pace_stale = True
    work.ponds.put(state, shape)
    work.keep(pond)
    work.emit(Deployed(pond=pond.key, reason=Reason.DEPLOYED, definition=definition))
    if state.is_blocked:
        work.emit(Blocked(pond=pond.key, reason=Reason.SOURCE))
    work.send_down(pond, Appeared(pace.published(pond), state.is_blocked))


def _linked(work: Work, key: PondKey) -> SourceState:
    source = work.load(key)
    if source is None:
        return SourceState(is_blocked=True, is_deployed=False)
    return _bound(pace.published(source), source.state.is_blocked)


def _bound(update: Updated, is_blocked: bool) -> SourceState:
    # What it has counts as taken, so that the first pull asks for something fresher than that.
    return SourceState(
        end_f=update.end_f,
        delay=update.delay,
        is_blocked=is_blocked,
        period=update.period,
        lead=update.lead,
        wait=update.wait,
        taken=update.end_f,
        told=NONE,
    )


def _carried(pond: Pond, name: str, parents: tuple[str, ...]) -> RippleState:
    state = pond.state
    ripple = state.ripples.get(name)
    if ripple is None:
        return new_ripple(parents, state.end_f)
    ripple.taken = {parent: ripple.taken.get(parent, state.end_f) for parent in parents}
    ripple.told = {parent: ripple.told.get(parent, NONE) for parent in parents}
    ripple.has_told = False
    ripple.waits_for = NONE
    return ripple
