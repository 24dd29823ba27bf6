"""A what-if: one pipeline under Pondage, under cron at three intervals, and under runs on every change."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from pondage.kernel.demand import PondKey
from pondage.kernel.demand.events import Pulse, Read, Tap, Tide, Verb, Wave
from pondage.simulate.consumption import ConsumptionVerb, answers
from pondage.simulate.drive import Simulation
from pondage.simulate.host import Host
from pondage.simulate.measure import Figures, measure
from pondage.simulate.pipeline import Pipeline
from pondage.simulate.policies import CronHost, EagerHost
from pondage.simulate.record import Recorder
from pondage.simulate.virtual import VirtualHost

SECOND = 1_000_000
_MINUTE, _HOUR = 60 * SECOND, 3600 * SECOND
NICE = (
    *(n * SECOND for n in (1, 2, 5, 10, 15, 30)),
    *(n * _MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * _HOUR for n in (1, 2, 4, 6, 12, 24)),
)
"""Intervals that somebody would write into a crontab."""

WAIT_LEADS = 2
"""Whoever reads while a trigger rests waits for at most so many times the lead."""

_SLICES = 50

Trace = Sequence[tuple[int, PondKey, ConsumptionVerb]]
Progress = Callable[[str, float], None]
"""Told now and then which policy is simulated, and how much of it is done (0 to 1)."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked of a pipeline: from `start` for `length` microseconds, with these actions and consumers."""

    pipeline: Pipeline
    start: int
    length: int
    actions: Sequence[tuple[int, Verb]] = ()
    trace: Trace | None = None
    """Who consumes what, by absolute time; None when every result of an Outlet counts as consumed."""
    changes: Mapping[PondKey, int] = field(default_factory=dict)
    """How often the outside of a live Inlet changes; else as often as it can be read, at most once a second."""

    @property
    def end(self) -> int:
        """The moment at which the simulation stops."""
        return self.start + self.length


@dataclass(frozen=True, kw_only=True)
class Played:
    """One policy: its figures, and everything that happened."""

    figures: Figures
    recorder: Recorder
    woken: Mapping[PondKey, Sequence[int]]
    """When a reader ended the rest of a trigger, for each Pond."""
    conditions: Mapping[PondKey, str]
    """The Ponds that were not well at the end (failed, blocked, killed), and how."""


def _silent(_policy: str, _share: float) -> None:
    """Tell nobody."""


def play(
    name: str, question: Question, host: Host, *, actions: Sequence[tuple[int, Verb]] = (), progress: Progress = _silent
) -> Played:
    """Simulate one host. Only the machine can be asked for more: under any other host a consumer just reads."""
    pipeline = question.pipeline
    workers = pipeline.workers()
    sources = {
        shape.key: [source for source, _ in shape.sources if source in pipeline.by_key] for shape in pipeline.shapes
    }
    recorder = Recorder(workers, sources)
    try:
        host.deploy(list(pipeline.shapes), question.start)
        simulation = Simulation(host, workers, watch=recorder.watch)
        for at, verb in actions:
            simulation.act(at, verb)
        for number in range(1, _SLICES + 1):
            # The end itself is excluded: what would happen there belongs to the time after.
            simulation.run_until(question.start + question.length * number // _SLICES - (number == _SLICES))
            progress(name, number / _SLICES)
        conditions = {key: state.condition.value for key, state in host.states().items() if state.condition != "ok"}
    finally:
        host.close()
    woken = host.woken if isinstance(host, VirtualHost) else {}
    got = None
    if question.trace is not None:
        can_ask = isinstance(host, VirtualHost)
        patience = {key: WAIT_LEADS * lead for key, lead in pipeline.leads.items()}
        got = answers(question.trace, recorder.completed, can_ask=can_ask, woken=woken, patience=patience)
    figures = measure(name, pipeline, recorder, start=question.start, end=question.end, answers=got)
    return Played(figures=figures, recorder=recorder, woken=woken, conditions=conditions)


def play_pondage(question: Question, *, name: str = "pondage", progress: Progress = _silent) -> Played:
    """Simulate the demand machine with the question's actions and what its consumers ask for."""
    asked = [(at, _verb(pond, verb)) for at, pond, verb in question.trace or () if verb != "read"]
    followed = {verb.pond for _, verb in question.actions if isinstance(verb, Tide | Wave) and verb.follow is not None}
    asked += reads(question.trace or (), followed)
    return play(name, question, VirtualHost(), actions=[*question.actions, *asked], progress=progress)


def reads(trace: Trace, followed: Collection[PondKey]) -> list[tuple[int, Verb]]:
    """Give the readers that Ponds hear of: those whose triggers follow them, each at most once a minute."""
    found: list[tuple[int, Verb]] = []
    told: dict[PondKey, int] = {}
    for at, pond, _ in sorted(trace):
        if pond in followed and at // _MINUTE > told.get(pond, -1):
            told[pond] = at // _MINUTE
            found.append((at, Read(pond=pond, at=at)))
    return found


def play_cron(question: Question, interval: int, *, name: str, progress: Progress = _silent) -> Played:
    """Simulate every Pond at one interval. Nobody can ask: a consumer reads what is there."""
    return play(name, question, CronHost(interval), progress=progress)


def play_eager(question: Question, *, name: str = "on every change", progress: Progress = _silent) -> Played:
    """Simulate Runs on every change. Nobody can ask: a consumer reads what is there."""
    return play(name, question, EagerHost(changes(question)), progress=progress)


def changes(question: Question) -> dict[PondKey, int]:
    """Give how often the outside of each live Inlet changes."""
    pipeline = question.pipeline
    return {
        shape.key: question.changes.get(
            shape.key, max(SECOND, *(pipeline.timings[shape.key, ripple].base for ripple in shape.ripples))
        )
        for shape in pipeline.shapes
        if shape.is_inlet and shape.calendar is None
    }


def cron_intervals(pipeline: Pipeline) -> list[int]:
    """Choose three intervals: one that the slowest Ripple can just keep, and two that spare it."""
    slowest = pipeline.timings[pipeline.bottleneck].base
    chosen: list[int] = []
    for factor in (1, 4, 16):
        above = [interval for interval in NICE if interval >= slowest * factor and interval not in chosen]
        chosen.append(above[0] if above else max([slowest * factor, *chosen]) + 24 * _HOUR)
    return chosen


def _verb(pond: PondKey, verb: ConsumptionVerb) -> Verb:
    return Tap(pond=pond) if verb == "tap" else Pulse(pond=pond)
