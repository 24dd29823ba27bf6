"""Measuring what a simulation did: Runs, Spark time, staleness at the Outlets, results that nobody used."""

from collections.abc import Sequence

import msgspec

from pondage.kernel.demand import PondKey
from pondage.simulate.consumption import Answer
from pondage.simulate.pipeline import Pipeline, Place
from pondage.simulate.record import Recorder, RunRecord


class PondFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One Pond: completed Runs, those of them that nobody used, time spent executing, mean time between Runs."""

    pond: str
    runs: int
    wasted: int
    spent_us: int
    cycle_us: int | None


class OutletFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One Outlet. Staleness counts from its first Run to the end; None before it ever ran.

    `lead_us` is the longest way to it when nothing waits, `ideal_us` the mean staleness that cannot be beaten.
    """

    pond: str
    runs: int
    mean_staleness_us: int | None
    worst_staleness_us: int | None
    cycle_us: int | None
    lead_us: int
    ideal_us: int


class ConsumedFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What the consumers of a trace got."""

    consumptions: int
    unanswered: int
    mean_age_us: int | None
    worst_age_us: int | None
    mean_wait_us: int | None
    worst_wait_us: int | None


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """One policy on one pipeline. `utilisation` is the share of the time in which the slowest Ripple executed."""

    policy: str
    runs: int
    wasted: int
    spent_us: int
    utilisation: float
    mean_staleness_us: int | None
    worst_staleness_us: int | None
    ponds: tuple[PondFigures, ...]
    outlets: tuple[OutletFigures, ...]
    consumed: ConsumedFigures | None = None


def measure(
    policy: str,
    pipeline: Pipeline,
    recorder: Recorder,
    *,
    start: int,
    end: int,
    answers: Sequence[Answer | None] | None,
) -> Figures:
    """Measure [start, end). Without a trace (`answers` is None) every result of an Outlet counts as used."""
    _mark_useful(pipeline, recorder, every_outlet_is_read=answers is None)
    spent: dict[tuple[PondKey, str], int] = {}
    for span in recorder.spans:
        place = span.pond, span.ripple
        spent[place] = spent.get(place, 0) + max(min(span.end, end) - span.start, 0)
    ponds = tuple(_pond(pipeline, recorder, key, spent) for key in pipeline.order)
    outlets = tuple(_outlet(pipeline, recorder, key, end) for key in pipeline.outlets)
    busiest = slowest(pipeline, recorder)
    means = [one.mean_staleness_us for one in outlets if one.mean_staleness_us is not None]
    worsts = [one.worst_staleness_us for one in outlets if one.worst_staleness_us is not None]
    return Figures(
        policy=policy,
        runs=sum(one.runs for one in ponds),
        wasted=sum(one.wasted for one in ponds),
        spent_us=sum(spent.values()),
        utilisation=0.0 if busiest is None else round(spent.get(busiest, 0) / max(end - start, 1), 4),
        mean_staleness_us=sum(means) // len(means) if means else None,
        worst_staleness_us=max(worsts, default=None),
        ponds=ponds,
        outlets=outlets,
        consumed=None if answers is None else _consumed(answers),
    )


def slowest(pipeline: Pipeline, recorder: Recorder) -> Place | None:
    """Give the slowest Ripple of those that ran: one that nobody asked for sets no pace. None when nothing ran."""
    ran = {(span.pond, span.ripple) for span in recorder.spans}
    return max(ran, key=lambda place: (pipeline.timings[place].base, place), default=None)


def staleness(completed: Sequence[RunRecord], end: int) -> tuple[int, int] | None:
    """Give mean and worst staleness from the first completed Run to `end`; None when there is none before it."""
    published = [run for run in completed if run.end is not None and run.end < end]
    if not published:
        return None
    area = worst = 0
    # Half-open pieces between publications; over each, staleness rises by one for each unit of time.
    for run, following in zip(published, [*published[1:], None], strict=True):
        assert run.end is not None
        until = end if following is None or following.end is None else following.end
        low, high = run.end - run.data_at, until - run.data_at
        area += (low + high) * (until - run.end)
        worst = max(worst, high)
    first = published[0].end
    assert first is not None
    return area // (2 * (end - first)), worst


def _mark_useful(pipeline: Pipeline, recorder: Recorder, *, every_outlet_is_read: bool) -> None:
    """A result is used when somebody read it, or when it went into a result that is used or may still be."""
    waiting: list[RunRecord] = []
    for key, runs in recorder.runs.items():
        completed = recorder.completed[key]
        if completed:
            completed[-1].is_useful = True
        if every_outlet_is_read and key in pipeline.outlets:
            for run in completed:
                run.is_useful = True
        waiting.extend(run for run in runs if run.is_useful or not run.is_over)
    while waiting:
        for run in waiting.pop().took:
            if not run.is_useful:
                run.is_useful = True
                waiting.append(run)


def _pond(pipeline: Pipeline, recorder: Recorder, key: PondKey, spent: dict[tuple[PondKey, str], int]) -> PondFigures:
    completed = recorder.completed[key]
    return PondFigures(
        pond=key,
        runs=len(completed),
        wasted=sum(not run.is_useful for run in completed),
        spent_us=sum(spent.get((key, ripple), 0) for ripple in pipeline.by_key[key].ripples),
        cycle_us=_cycle(completed),
    )


def _outlet(pipeline: Pipeline, recorder: Recorder, key: PondKey, end: int) -> OutletFigures:
    completed = recorder.completed[key]
    found = staleness(completed, end)
    return OutletFigures(
        pond=key,
        runs=len(completed),
        mean_staleness_us=None if found is None else found[0],
        worst_staleness_us=None if found is None else found[1],
        cycle_us=_cycle(completed),
        lead_us=pipeline.leads[key],
        ideal_us=pipeline.ideal(key),
    )


def _cycle(completed: Sequence[RunRecord]) -> int | None:
    if len(completed) < 2:
        return None
    first, last = completed[0].end, completed[-1].end
    assert first is not None
    assert last is not None
    return (last - first) // (len(completed) - 1)


def _consumed(answers: Sequence[Answer | None]) -> ConsumedFigures:
    given = [answer for answer in answers if answer is not None]
    ages, waits = [answer.age_us for answer in given], [answer.wait_us for answer in given]
    return ConsumedFigures(
        consumptions=len(answers),
        unanswered=len(answers) - len(given),
        mean_age_us=sum(ages) // len(ages) if ages else None,
        worst_age_us=max(ages, default=None),
        mean_wait_us=sum(waits) // len(waits) if waits else None,
        worst_wait_us=max(waits, default=None),
    )
