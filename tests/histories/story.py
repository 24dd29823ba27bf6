"""One seed, one history: a random graph, workers, supervisors, operators and deployers, and what goes wrong."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from pondage.define.pond.definition import PondDefinition, Retries
from pondage.define.project.durability import Durability
from pondage.define.values.names import PondKey
from pondage.engine.process import backoff
from pondage.engine.services import reaper
from pondage.errors import LedgerError
from pondage.kernel.demand import events as happens
from pondage.kernel.demand.events import Event
from pondage.ledger.act import verbs
from pondage.ledger.act.branching import deployed
from pondage.ledger.act.deploy import deploy
from pondage.ledger.database import patience
from pondage.ledger.database.driver import LedgerUnavailable
from pondage.ledger.database.ids import SeededIds
from pondage.ledger.ledger import Ledger
from pondage.ledger.step import catchment
from tests.histories.checks import is_quiet, violations
from tests.histories.driver import Database, SqliteMemory
from tests.histories.machines import Member, Outside, SimulatedIdentity, Supervisor
from tests.histories.scheduler import SECOND, Fate, Process, Scheduler, Stuck, replaced
from tests.ledger.harness import pond

MOST_TURNS = 20_000
TROUBLE_S = 90.0
"""How long things go wrong; afterwards everything must come to rest."""


@dataclass(kw_only=True)
class Ending:
    """How the history of a seed ended."""

    seed: int
    violations: list[str]
    history: list[str]
    turns: int
    fates: dict[Fate, int]
    outcomes: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"seed {self.seed}: " + ("; ".join(self.violations) or f"sound, {self.turns} turns")


class SimulatedTime:
    """What `time` is for code that waits."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def sleep(self, seconds: float) -> None:
        self._scheduler.sleep(seconds)


class Story:
    """Everybody in one history. What is random is decided here, once, from the seed."""

    def __init__(self, seed: int, database: Database, *, trouble_s: float = TROUBLE_S) -> None:
        self.seed = seed
        self._trouble_s = trouble_s
        self.scheduler = Scheduler(seed)
        self.database = database
        self.outside = Outside()
        self._ids = seed * 1_000
        rng = random.Random(f"story {seed}")
        self.random = rng
        self.durability = Durability(
            heartbeat_s=rng.choice([2.0, 5.0]),
            reap_after_s=rng.choice([20.0, 30.0]),
            child_margin_s=rng.choice([1.0, 5.0]),
            retry_delay_s=rng.choice([0.0, 5.0]),
            crash_budget=rng.choice([1, 3, 10]),
            advance_retries=rng.choice([2, 10]),
            poll_s=rng.choice([2.0, 5.0]),
        )
        self._graph = _random_ponds(rng)
        self._share = rng.choice([0.0, 0.02, 0.05, 0.15])
        """The share of transactions with a fate."""
        self._kinds = rng.choice(
            [
                [fate for fate in Fate if fate is not Fate.FINE],
                [Fate.DIES_BEFORE, Fate.DIES_INSIDE, Fate.DIES_AFTER],
                [Fate.ANSWER_LOST, Fate.UNREACHED],
                [Fate.FREEZES_BEFORE, Fate.FREEZES_AFTER],
            ]
        )
        self._author_fails = rng.choice([0.0, 0.0, 0.1, 0.3])
        self._step_raises = rng.choice([0.0, 0.0, 0.0, 0.05])
        self._longest_s = rng.choice([1.0, 10.0, 40.0])
        self._clock_steps = rng.random() < 0.2
        self._highest_step = 0
        self._has_trouble = False
        self._people: list[Process] = []
        self._supervisors: list[Supervisor] = []
        self._observer: Ledger | None = None

    def ids(self) -> SeededIds:
        self._ids += 1
        return SeededIds(self._ids)

    def fails(self, _node: str) -> bool:
        return self._has_trouble and self.scheduler.random.random() < self._author_fails

    def takes_s(self, _node: str) -> float:
        return self.scheduler.random.uniform(0, self._longest_s)

    def play(self) -> Ending:
        """Let it all happen, and look at what is left."""
        found: list[str] = []
        real_step = catchment.step

        def step(*given: object) -> object:
            if self._has_trouble and self.scheduler.random.random() < self._step_raises:
                raise RuntimeError("a step that raises")
            return real_step(*given)  # type: ignore[arg-type]

        try:
            with replaced(
                (patience, "time", SimulatedTime(self.scheduler)),
                (patience, "random", self.scheduler.random),
                (backoff, "random", self.scheduler.random),
                (reaper, "identity", SimulatedIdentity(self.scheduler)),
                (catchment, "step", step),
            ):
                found += self._happen()
        finally:
            self.scheduler.close()
            outcomes = {} if self._observer is None else self._outcomes(self._observer)
            if self._observer is not None:
                self._observer.close()
            self.database.close()
        return Ending(
            seed=self.seed,
            violations=found,
            history=self.scheduler.history,
            turns=self.scheduler.turns,
            fates=self.scheduler.fates,
            outcomes=outcomes,
        )

    def _happen(self) -> list[str]:
        self._observer = Ledger(self.database.connect(self.scheduler.clock), ids=self.ids(), durability=self.durability)
        self._deploy_at_first(self._observer)
        rng = self.random
        for number in range(rng.choice([1, 1, 2])):
            self._supervise(f"s{number}")
        for number in range(rng.choice([1, 2, 3])):
            self._operate(f"operator{number}")
        if rng.random() < 0.4:
            self._redeploy()
        if rng.random() < 0.3:
            self._rolling_restart()
        if self._clock_steps:
            self._step_clock()
        self.scheduler.choose_fate = self._choose_fate
        self._has_trouble = True
        try:
            end = self.scheduler.clock.time + int(self._trouble_s * SECOND)
            self.scheduler.run(
                until=lambda: self.scheduler.clock.time >= end or self._is_done_early(), turns=MOST_TURNS
            )
            self._calm_down()
            self.scheduler.run(until=self._is_over, turns=MOST_TURNS)
        except Stuck as stuck:
            return [str(stuck), *violations(self._observer, self.outside)]
        if self.scheduler.errors:
            return list(self.scheduler.errors)
        return violations(self._observer, self.outside)

    def _choose_fate(self, process: Process) -> Fate:
        if not self._has_trouble or self.scheduler.random.random() >= self._share:
            return Fate.FINE
        fate = self.scheduler.random.choice(self._kinds)
        if not process.is_mortal and fate not in (Fate.ANSWER_LOST, Fate.UNREACHED):
            return Fate.FINE
        return fate

    def _deploy_at_first(self, ledger: Ledger) -> None:
        deploy(
            ledger, "main", project="p", definitions=self._graph, removed=[], archive=b"first", summary="{}",
            expected=[], pool_sizes={"narrow": 1},
        )  # fmt: skip

    def _supervise(self, name: str) -> None:
        """A supervisor that is started again whenever it has ended, as the system does."""
        init = Process(self.scheduler, f"init of {name}", is_mortal=False)
        slots, workers = self.random.choice([1, 2]), self.random.choice([1, 2])
        weight = self.random.choice([1.0, 1.0, 0.2])

        def body() -> None:
            number = 0
            while True:
                number += 1
                supervisor = Supervisor(self, f"{name}.{number}", workers=workers, slots=slots, weight=weight)
                self._supervisors.append(supervisor)
                while not supervisor.is_dead:
                    self.scheduler.sleep(1.0)
                self.scheduler.sleep(self.scheduler.random.uniform(0, 20))

        init.spawn("main", body)

    def _operate(self, name: str) -> None:
        member = Member(self, name, is_mortal=False)
        self._people.append(member)
        choices = [self._verb() for _ in range(self.random.randint(1, 5))]

        def body() -> None:
            for event in choices:
                self.scheduler.sleep(self.scheduler.random.uniform(0, 15))
                if not self._has_trouble:
                    return  # whoever asks after the calming would never let it come to rest
                self._say(member.ledger, event)

        member.spawn("main", body)

    def _say(self, ledger: Ledger, event: Event) -> None:
        try:
            verbs.send(ledger, "main", event)
        except (LedgerUnavailable, LedgerError):
            pass  # a person sees the error; whether it was done is seen by looking
        except Exception as error:
            if type(error).__name__ != "NotFound":
                raise

    def _verb(self) -> Event:
        key = PondKey(f"{self.random.choice(self._graph).name}@1")
        asking: list[Event] = [
            happens.Pulse(pond=key),
            happens.Pulse(pond=key),
            happens.Tap(pond=key),
            happens.Force(pond=key),
            happens.Wave(pond=key),
            happens.Tide(pond=key, limit=self.random.choice([5, 20]) * SECOND),
        ]
        other: list[Event] = [
            happens.Kill(pond=key),
            happens.Sleep(pond=key),
            happens.Clear(pond=key),
            happens.Wake(pond=key),
            happens.Calm(pond=key),
        ]
        return self.random.choice(asking if self.random.random() < 0.7 else other)

    def _redeploy(self) -> None:
        member = Member(self, "deployer", is_mortal=False)
        self._people.append(member)
        delay_s = self.random.uniform(1, 80)
        changed = [self._changed(one) for one in self._graph if self.random.random() < 0.5]
        removed = [PondKey(f"{self._graph[-1].name}@1")] if self.random.random() < 0.3 else []
        if removed:
            changed = [one for one in changed if f"{one.name}@1" not in removed]

        def body() -> None:
            self.scheduler.sleep(delay_s)
            for _ in range(3):
                try:
                    with member.ledger.reading() as tx:
                        expected = deployed(tx, member.ledger, "main")
                    names = {one.definition.name for one in expected}
                    deploy(
                        member.ledger, "main", project="p", definitions=changed,
                        removed=[key for key in removed if key.split("@")[0] in names],
                        archive=b"second", summary="{}", expected=expected,
                    )  # fmt: skip
                except LedgerError:
                    self.scheduler.sleep(1.0)
                    continue
                return

        member.spawn("main", body)

    def _changed(self, one: PondDefinition) -> PondDefinition:
        return pond(
            one.name,
            sources={source.pond: source.required for source in one.sources},
            ripples={
                ripple.name: [read.ripple for read in ripple.reads if read.pond is None] for ripple in one.ripples
            },
            code="c2",
            pool=one.pool,
        )

    def _rolling_restart(self) -> None:
        host = Process(self.scheduler, "rolling restart", is_mortal=False)

        def body() -> None:
            self.scheduler.sleep(self.scheduler.random.uniform(10, 60))
            for supervisor in self._supervisors:
                for child in supervisor.children:
                    child.is_draining = True
                    self.scheduler.sleep(self.scheduler.random.uniform(0, 5))

        host.spawn("main", body)

    def _step_clock(self) -> None:
        """Somebody sets the host's clock, forward or back: heartbeats must not be bent by it."""
        host = Process(self.scheduler, "clock", is_mortal=False)

        def body() -> None:
            for _ in range(3):
                self.scheduler.sleep(self.scheduler.random.uniform(5, 40))
                if not self._has_trouble:
                    return
                self.scheduler.clock.step += self.scheduler.random.choice([-7200, -60, -1, 1, 60, 7200]) * SECOND
                self._highest_step = max(self._highest_step, self.scheduler.clock.step)
                self.scheduler.log(f"the clock is stepped to {self.scheduler.clock.step / SECOND:+.0f} s")

        host.spawn("main", body)

    def _calm_down(self) -> None:
        """Nothing goes wrong from now on, standing demand ends, and what was halted is looked at by somebody."""
        self._has_trouble = False
        # A clock that was set back delays what was written before, and here nobody waits for hours.
        self.scheduler.clock.step = max(self.scheduler.clock.step, self._highest_step)
        member = Member(self, "calm operator", is_mortal=False)

        def body() -> None:
            for one in self._graph:
                key = PondKey(f"{one.name}@1")
                for event in (happens.Calm(pond=key), happens.Clear(pond=key)):
                    self._say(member.ledger, event)
            member.is_dead = True

        member.spawn("main", body)
        self._calmed = member

    def _is_done_early(self) -> bool:
        """Answer whether everybody has said what they wanted, and it was done."""
        people = [task for task in self.scheduler.tasks if task.process in self._people]
        return not people and self._is_quiet()

    def _is_over(self) -> bool:
        return self._calmed.is_dead and self._is_quiet()

    def _is_quiet(self) -> bool:
        assert self._observer is not None
        now = self.scheduler.clock.time
        if any(one.frozen_until > now and not one.is_dead for one in self.scheduler.processes.values()):
            return False  # who comes back from the dead has something to say
        with self._observer.reading() as tx:
            return is_quiet(tx)

    def _outcomes(self, ledger: Ledger) -> dict[str, int]:
        with ledger.reading() as tx:
            return {
                str(row["outcome"]): int(str(row["n"]))
                for row in tx.rows("SELECT outcome, count(*) AS n FROM executions GROUP BY outcome")
            }


def _random_ponds(rng: random.Random) -> list[PondDefinition]:
    """A random graph of Ponds; some share a pool with one slot."""
    names = [f"p{number}" for number in range(rng.randint(1, 4))]
    graph = []
    for place, name in enumerate(names):
        sources = rng.sample(names[:place], rng.randint(0, min(place, 2)))
        ripples: dict[str, list[str]] = {}
        for ripple in [name, *(f"{name}_r{number}" for number in range(rng.choice([0, 0, 1, 2])))]:
            ripples[ripple] = rng.sample(list(ripples), rng.randint(0, min(len(ripples), 2)))
        graph.append(
            pond(
                name,
                sources={source: rng.random() < 0.8 for source in sources},
                ripples=ripples,
                retries=Retries(immediately=rng.choice([0, 1]), on_change=rng.choice([0, 1])),
                always=rng.random() < 0.2,
                pool="narrow" if rng.random() < 0.3 else None,
            )
        )
    return graph


def play(seed: int, database: Database | None = None, *, trouble_s: float = TROUBLE_S) -> Ending:
    """Play one seed."""
    return Story(seed, database or SqliteMemory(), trouble_s=trouble_s).play()
