"""`step`: advance Ponds by everything that happened in one instant.

An instant is settled in a fixed order of kinds, so that the arrival order inside it does not matter: reports, finished
Runs, verbs; then facts before anything else, demand and starts; and Tides on the settled state.
"""

from collections.abc import Iterable

import msgspec

from pondage.kernel.demand import chunks, facts, feeding, pace, readers, reports, tide, verbs
from pondage.kernel.demand.agreeing import on_compared
from pondage.kernel.demand.asking import on_target, on_want
from pondage.kernel.demand.deploying import adopt, on_deploy
from pondage.kernel.demand.effects import ChunkEnded, Effect, Reason
from pondage.kernel.demand.events import Backfill, Compared, Deploy, Done, Event, Fail, Live, Report, Sleep
from pondage.kernel.demand.ponds import Ponds
from pondage.kernel.demand.running import evaluate, finish
from pondage.kernel.demand.shape import NONE, PondKey
from pondage.kernel.demand.signals import Demand, Slumber, Target, Want
from pondage.kernel.demand.timing import set_timer
from pondage.kernel.demand.work import Pond, Work


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What a step did: the Ponds whose state changed (write these, no others) and what to carry out, in order."""

    changed: tuple[PondKey, ...]
    effects: tuple[Effect, ...]
    profiled: tuple[tuple[PondKey, str], ...] = ()
    """The triggers whose profile may have changed: write these, too."""


def step(ponds: Ponds, events: Iterable[Event], now: int) -> Step:
    """Advance the Ponds in place by these events, all of the instant `now`.

    Deterministic and total: the result depends only on the arguments, and no event raises. When the host raises, the
    states are half advanced and must be thrown away.
    """
    work = Work(ponds, now)
    _apply(work, list(events))
    _settle(work)
    while _emit_tides(work):
        _settle(work)
    chunks.start_waiting(work)
    for key in list(work.touched):
        pond = work.load(key)
        if pond is not None:
            set_timer(work, pond)
    return Step(changed=tuple(work.changed), effects=tuple(work.effects), profiled=tuple(work.profiled))


def _apply(work: Work, events: list[Event]) -> None:
    reported: dict[PondKey, Pond] = {}
    for report in _reports(events):
        pond = work.load(report.pond)
        if pond is not None:
            reported[report.pond] = pond
            if chunks.is_of_chunk(pond, report):
                _report_to_chunk(work, pond, report)
            elif isinstance(report, Done):
                reports.on_done(work, pond, report)
            else:
                reports.on_fail(work, pond, report)
    # Counting finished Runs only now makes the order of the reports irrelevant, and no verb undoes completed work.
    for pond in reported.values():
        finish(work, pond)
    for number, event in enumerate(events):
        if isinstance(event, Done | Fail):
            continue
        if isinstance(event, Deploy):
            on_deploy(work, event)
            continue
        pond = work.load(event.pond)
        if pond is None:
            if isinstance(event, Backfill):  # whoever holds the other chunks waits for the end of this one
                work.emit(ChunkEnded(pond=event.pond, reason=Reason.REMOVED, chunk=event.chunk))
            continue
        if isinstance(event, Compared):
            on_compared(work, pond, event)
        elif isinstance(event, Live):
            feeding.hear(work, pond, event)
        elif not (pond.shape.is_fed and feeding.hand_on(work, pond, event)):
            verbs.apply(work, pond, event, number)
            if isinstance(event, Sleep) and event.upstream:
                _deliver(work)  # it reaches every Source before the verbs behind it, which may ask anew


def _report_to_chunk(work: Work, pond: Pond, report: Report) -> None:
    if isinstance(report, Done):
        chunks.on_done(work, pond, report)
    else:
        chunks.on_fail(work, pond, report)


def _reports(events: list[Event]) -> list[Report]:
    found = [event for event in events if isinstance(event, Done | Fail)]
    # Two Ripples of one Run that fail together share its retry budget: who gets it must not depend on who came first.
    found.sort(key=lambda event: (event.pond, event.ripple, event.attempt))
    return found


def _settle(work: Work) -> None:
    _deliver(work)
    while (pond := work.next_ready()) is not None:
        readers.look_all(work, pond)
        adopt(work, pond)
        evaluate(work, pond)
        _deliver(work)


def _deliver(work: Work) -> None:
    while work.facts or work.demands:
        if work.facts:
            key, fact = work.facts.popleft()
            pond = work.load(key)
            if pond is not None:
                facts.deliver(work, pond, fact)
        else:
            key, demand = work.demands.popleft()
            pond = work.load(key)
            if pond is not None:
                _take_up(work, pond, demand)


def _take_up(work: Work, pond: Pond, demand: Demand) -> None:
    match demand:
        case Want():
            on_want(work, pond, demand.freshness)
        case Target():
            on_target(work, pond, demand.freshness)
        case Slumber():
            if (pond.key, demand.number) not in work.slept:
                verbs.sleep(work, pond)
                verbs.on_slumber(work, pond, demand.number)


def _emit_tides(work: Work) -> bool:
    due = []
    for key in work.touched:
        pond = work.load(key)
        if pond is None or tide.limit(pond.state) == NONE:
            continue
        if key in work.changed:
            pace.refresh(pond)
        if tide.is_due(pond, work.now):
            due.append(pond)
    for pond in due:
        pond.state.skip = 0
        work.change(pond)
        on_target(work, pond, work.now)
    return bool(due)
