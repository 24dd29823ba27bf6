"""What happened in a simulation, written down for measuring: executions as spans, Runs with what they took."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pondage.kernel.demand import Effect, PondKey
from pondage.kernel.demand.effects import RunDropped, RunFinished, StartRipple, StartRun
from pondage.simulate.drive import Execution, Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One execution of a Ripple, from `start` to `end`."""

    pond: PondKey
    ripple: str
    start: int
    end: int
    has_failed: bool
    run: "RunRecord"
    """The newest Run that it served."""


@dataclass(slots=True, kw_only=True, eq=False)
class RunRecord:
    """One Run of a Pond. `end` is None while it is active, and for ever when it was given up or subsumed."""

    pond: PondKey
    number: int
    freshness: int
    delay: int
    start: int
    took: list["RunRecord"] = field(default_factory=list)
    """The Runs of the Sources that were the newest when it started."""
    end: int | None = None
    is_over: bool = False
    is_useful: bool = False
    """Did somebody use the result, or may somebody still?"""

    @property
    def data_at(self) -> int:
        """The moment whose data this is: staleness is now minus this."""
        return self.freshness - self.delay


class Recorder:
    """Watches a simulation. Give `watch` to it, and the workers that it has."""

    def __init__(self, workers: Workers, sources: dict[PondKey, list[PondKey]]) -> None:
        self.spans: list[Span] = []
        self.runs: dict[PondKey, list[RunRecord]] = {key: [] for key in sources}
        """Every Run, in the order in which they started."""
        self.completed: dict[PondKey, list[RunRecord]] = {key: [] for key in sources}
        """The completed Runs, in the order in which they completed."""
        self._workers = workers
        self._sources = sources
        self._open: dict[tuple[PondKey, int], RunRecord] = {}
        self._counts: Counter[tuple[PondKey, str]] = Counter()

    def watch(self, now: int, effects: Sequence[Effect]) -> None:
        """Write down what one step decided."""
        for effect in effects:
            match effect:
                case StartRun():
                    self._start(effect, now)
                case StartRipple():
                    self._execute(effect, now)
                case RunFinished():
                    self._finish(effect, now)
                case RunDropped():
                    for number in effect.numbers:
                        self._give_up(effect.pond, number)

    def _start(self, effect: StartRun, now: int) -> None:
        newest = [self.completed[source][-1] for source in self._sources[effect.pond] if self.completed[source]]
        run = RunRecord(
            pond=effect.pond,
            number=effect.number,
            freshness=effect.freshness,
            delay=effect.delay,
            start=now,
            took=newest,
        )
        self.runs[effect.pond].append(run)
        self._open[effect.pond, effect.number] = run

    def _execute(self, effect: StartRipple, now: int) -> None:
        place = effect.pond, effect.ripple
        self._counts[place] += 1
        execution = Execution(pond=effect.pond, ripple=effect.ripple, count=self._counts[place])
        self.spans.append(
            Span(
                pond=effect.pond,
                ripple=effect.ripple,
                start=now,
                end=now + self._workers.takes(execution),
                has_failed=self._workers.fails(execution),
                run=self._open[effect.pond, effect.number],
            )
        )

    def _finish(self, effect: RunFinished, now: int) -> None:
        for number in effect.subsumed:
            self._give_up(effect.pond, number)
        run = self._open.pop((effect.pond, effect.number))
        run.end, run.is_over = now, True
        self.completed[effect.pond].append(run)

    def _give_up(self, pond: PondKey, number: int) -> None:
        run = self._open.pop((pond, number), None)
        if run is not None:
            run.is_over = True
