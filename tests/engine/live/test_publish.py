"""A reactor publishes a Pond: batches of what its fires gave, exactly once, seen by the Ponds that read it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pondage.define.pond.contract import ContractBroken
from pondage.errors import PondageError
from pondage.kernel.demand.events import Clear, Force, Kill, Pulse, Tap, Wave
from pondage.ledger.act import verbs
from pondage.ledger.act.plan_basis import planned
from pondage.ledger.data import snapshots
from pondage.ledger.database.driver import number
from pondage.ledger.step import advance
from pondage.ledger.tables import actors
from pondage.operations import rollbacks
from pondage.plan.deploy.planner import PlanError
from pondage.project.reader import read_declared
from tests.engine.live.hosting import Hosting
from tests.operations.calling import Here

CODE = '''
"""A reactor that publishes every tick, and a reactor that hears of it."""
from dataclasses import dataclass
from pondage import Accumulator, Fire, OnFailure, Publish, Reactor, Source, SnapshotRef

@dataclass
class Tick:
    number: int

@dataclass
class Quote:
    number: int
    fire: int
    note: str | None = None

ticks = Accumulator("ticks", Tick)
quote = Reactor("quote", sources=[ticks], strategy="sequential", durable={durable!r},
                on_failure=OnFailure.{failure}(), publish=Publish("quotes", every={every!r}, schema=Quote))

@quote.graph(inline=True)
def price(ticks: Tick | None, fire: Fire) -> Quote | None:
    if ticks is None or ticks.number == 0:
        return None
    if ticks.number < 0:
        raise ValueError("as told")
    if ticks.number == 1_000:
        return Quote(number=10**30, fire=fire.id)
    return Quote(number=ticks.number, fire=fire.id)

heard = Accumulator.pond("heard", Source("quotes"))
ear = Reactor("ear", sources=[heard], strategy="sequential")

@ear.graph(inline=True)
def note(heard: SnapshotRef | None) -> None:
    with open("heard.txt", "a") as file:
        file.write(f"{{heard.freshness}} {{heard.id}}\\n")
'''


class Publishing(Hosting):
    """The project above, with a timer that a test turns by hand."""

    every: str | None = None
    durable: object = "process"
    failure = "dead_letter"

    def write(self, *, version: str = "1.0.0", mark: str = "") -> None:
        del version, mark
        text = CODE.format(every=self.every, durable=self.durable, failure=self.failure)
        (self.root / "ponds.py").write_text(text)

    def problems(self) -> list[str]:
        """Answer what a plan of the files finds wrong."""
        project, declared = self.project, read_declared(self.project)
        plan, _ = planned(
            self.ledger, project.environment, project=project.name, ponds=declared.ponds, reactors=declared.reactors
        )
        return [problem.code for problem in plan.problems]

    def settle(self) -> None:
        advance.advance_due(self.ledger, process=None)

    def rows(self) -> list[dict[str, object]]:
        """Answer the published table."""
        with self.ledger.reading() as tx:
            environment = actors.environment(tx, "main")
            assert environment is not None
            pond = actors.pond(tx, environment, "quotes@1")  # type: ignore[arg-type]
            assert pond is not None
            run = snapshots.current_run(tx, pond.id)
            if run is None:
                return []
            output = snapshots.outputs(tx, run)["quotes"]
            content = snapshots.load(tx, [output.snapshot])[output.snapshot].content
        return [row for path in content.paths for row in pq.read_table(path).to_pylist()]

    def kept(self) -> int:
        """Answer how many good fires wait to be published."""
        with self.ledger.reading() as tx:
            found = tx.row("SELECT count(*) AS n FROM reactor_results WHERE is_ok = 1")
        assert found is not None
        return number(found, "n")

    def runs(self) -> int:
        with self.ledger.reading() as tx:
            found = tx.row("SELECT count(*) AS n FROM runs WHERE state = 'completed'")
        assert found is not None
        return number(found, "n")

    def until_published(self, numbers: list[int]) -> None:
        def is_there() -> bool:
            self.settle()
            return [row["number"] for row in self.rows()] == numbers

        self.until(is_there, what=f"{numbers} are not published")


@pytest.fixture
def world(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Publishing]:
    kind = type("Given", (Publishing,), getattr(request, "param", {}))
    made = kind(tmp_path / "project")
    try:
        yield made
    finally:
        made.close()


@pytest.mark.parametrize(
    "world",
    [{"durable": "process"}, {"durable": "power"}, {"durable": False}, {"every": "50ms"}],
    indirect=True,
    ids=["process", "power", "memory", "every"],
)
def test_fires_become_rows_of_a_pond_in_order_and_once(world: Publishing) -> None:
    world.start()
    for tick in (1, 2, 0, 3):
        assert world.push(tick)["accepted"] is True
    world.until_published([1, 2, 3])
    world.push(4)
    world.until_published([1, 2, 3, 4])
    fires = [row["fire"] for row in world.rows()]
    assert fires == sorted(set(fires))  # type: ignore[type-var]


@pytest.mark.parametrize(
    "world", [{"durable": "process"}, {"durable": False}], indirect=True, ids=["process", "memory"]
)
def test_a_result_that_no_file_can_hold_is_a_dead_letter_and_what_follows_is_published(world: Publishing) -> None:
    """It was a row that could not be written, tried again for ever, and nothing behind it was published."""
    world.start()
    for tick in (1, 1_000, 2):
        assert world.push(tick)["accepted"] is True
    world.until_published([1, 2])
    (letter,) = world.client().ask(op="dead")["dead"]  # type: ignore[misc]
    assert "needs more" in str(letter["error"])
    assert world.state()["state"] == "Live"


@pytest.mark.parametrize("world", [{"every": "1h"}], indirect=True)
def test_what_waits_for_the_interval_is_published_by_the_next_life(world: Publishing) -> None:
    host = world.start()
    for tick in (1, 2):
        world.push(tick)
    # An end that is not written yet would be made again by the next life, and wait for the interval there.
    world.until(lambda: world.kept() == 2, what="it did not fire")
    world.settle()
    assert world.rows() == []
    world.kill(host)
    world.start()
    world.until_published([1, 2])


def test_a_fire_that_failed_for_good_publishes_nothing_and_blocks_the_pond_until_a_good_one(world: Publishing) -> None:
    world.start()
    world.push(1)
    world.push(-1)

    def condition() -> str:
        world.settle()
        with world.ledger.reading() as tx:
            environment = actors.environment(tx, "main")
            assert environment is not None
            pond = actors.pond(tx, environment, "quotes@1")  # type: ignore[arg-type]
        assert pond is not None
        return "blocked" if '"is_blocked":true' in pond.state else "open"

    world.until(lambda: condition() == "blocked", what="the Pond is not blocked")
    world.push(2)
    world.until_published([1, 2])
    world.until(lambda: condition() == "open", what="the Pond is still blocked")


def test_the_runs_of_a_pond_feed_an_accumulator_once_each(world: Publishing) -> None:
    host = world.start()
    world.push(1)
    world.until_published([1])
    heard = world.root / "heard.txt"
    world.until(heard.exists, what="nobody heard of it")
    world.kill(host)
    world.start()
    world.push(2)
    world.until_published([1, 2])
    # The end of a fire may die with its host: then it is called once more, under its id and with the same Run.
    world.until(lambda: len({*heard.read_text().splitlines()}) == world.runs(), what="not every Run was heard of")
    lines = list(dict.fromkeys(heard.read_text().splitlines()))
    assert lines == sorted(lines)


def test_verbs_on_its_pond_are_commands_to_the_reactor(world: Publishing) -> None:
    world.start()
    world.push(1)
    world.until_published([1])
    send = lambda event: verbs.send(world.ledger, "main", event)  # noqa: E731
    key = "quotes@1"
    send(Kill(pond=key))  # type: ignore[arg-type]
    world.until(lambda: world.state()["hold"] == "halted", what="kill did not arrive")
    send(Clear(pond=key))  # type: ignore[arg-type]
    world.until(lambda: world.state()["hold"] is None, what="clear did not arrive")
    ok = world.state()["ok"]
    send(Force(pond=key))  # type: ignore[arg-type]
    world.until(lambda: world.state()["ok"] != ok, what="force did not arrive")
    before = world.runs()
    send(Tap(pond=key))  # type: ignore[arg-type]
    send(Pulse(pond=key))  # type: ignore[arg-type]

    def is_passed() -> bool:
        world.settle()
        return world.runs() > before

    world.until(is_passed, what="a target of an idle reactor is met by a pass")
    world.push(2)
    world.until_published([1, 1, 2])  # what the forced fire gave has no freshness of its own
    with pytest.raises(PondageError, match="runs by itself"):
        send(Wave(pond=key))  # type: ignore[arg-type]


@pytest.mark.parametrize("world", [{"every": "30ms"}], indirect=True)
def test_every_acknowledged_tick_is_one_row_whenever_hosts_are_killed(world: Publishing) -> None:
    chance = random.Random(9)
    for tick in range(1, 25):
        if tick % 6 == 1:
            for _, host in world.hosts:
                world.kill(host)
            world.start()
        assert world.push(tick)["accepted"] is True
        if chance.random() < 0.5:
            world.settle()

    def numbers() -> list[object]:
        world.settle()
        return [row["number"] for row in world.rows()]

    world.until(lambda: len(numbers()) >= 24, what="not everything was published")
    rows = world.rows()
    assert [row["number"] for row in rows] == sorted({row["number"] for row in rows})  # type: ignore[type-var]
    assert {row["number"] for row in rows} == set(range(1, 25))
    assert len({row["fire"] for row in rows}) == len(rows)


def test_a_deploy_that_would_narrow_the_rows_of_its_pond_is_refused(world: Publishing) -> None:
    world.start()
    world.push(1)
    world.until_published([1])
    path = world.root / "ponds.py"
    text = path.read_text()
    path.write_text(text.replace("    note: str | None = None\n", ""))
    assert world.problems() == ["CONTRACT"]
    with pytest.raises(ContractBroken, match=r"quotes of reactor quote breaks the contract.*note"):
        world.deploy()
    path.write_text(text.replace("    note: str | None", "    more: int | None = None\n    note: str | None"))
    code = world.deploy()
    world.start(code)
    world.until(lambda: world.epoch() == 2, what="not moved")
    world.push(2)
    world.until_published([1, 2])
    for is_dry in (True, False):
        with pytest.raises(PlanError, match=r"quotes of reactor quote breaks the contract.*more") as refused:
            Here(world.ledger).ask(rollbacks.rollback, project="live", is_dry=is_dry)
        assert refused.value.code == "CONTRACT"
