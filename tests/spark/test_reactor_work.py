"""Reactors that use Spark: micro-batches as boundaries, graphs of a fire on a worker, jobs that fires start."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest

from pondage.engine.execute import stream_executor
from pondage.engine.execute.spark_executor import SparkExecutor
from pondage.engine.process.config import WorkerConfig
from pondage.engine.worker.process import Ending, Worker
from pondage.ledger.commit import stream_batches
from pondage.ledger.kinds.stream import STREAM_FAILED
from pondage.ledger.step import advance
from pondage.spark.session.driver import SparkDriver
from pondage.views.reactors.reactors import stream_faults
from pondage.views.runs.logs import locate, with_lines
from tests.engine.live.hosting import Hosting
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.spark

STREAM = """
from dataclasses import dataclass
from pondage import Accumulator, Fire, Reactor

@dataclass
class Counted:
    batch: int
    numbers: list[int]

clicks = Accumulator.spark("clicks", Counted)

@clicks.query
def read(spark):
    return spark.readStream.schema("number int").option("maxFilesPerTrigger", 1).json("landing")

@clicks.gather
def gather(rows, batch):
    numbers = sorted(row.number for row in rows.collect())
    if 13 in numbers:
        raise ValueError("as told")
    return Counted(batch, numbers)

quote = Reactor("quote", sources=[clicks], strategy="sequential", on_source_failed="degrade")

@quote.graph(inline=True)
def note(clicks: Counted | None, fire: Fire) -> None:
    assert isinstance(clicks, Counted)
    with open("fires.txt", "a") as file:
        file.write(f"{fire.id} {clicks.batch} {clicks.numbers}\\n")
"""

GRAPH = """
from dataclasses import dataclass
from pondage import Accumulator, Fire, OnFailure, Publish, Reactor

@dataclass
class Order:
    numbers: int

@dataclass
class Total:
    fire: int
    total: int

orders = Accumulator("orders", Order)
quote = Reactor("quote", sources=[orders], strategy="sequential", on_failure=OnFailure.dead_letter(),
                publish=Publish("totals", schema=Total))

@quote.graph(spark=True)
def add(spark, orders: Order | None, fire: Fire) -> Total:
    assert isinstance(orders, Order)
    if orders.numbers == 13:
        raise ValueError("as told")
    return Total(fire.id, spark.range(orders.numbers + 1).groupBy().sum().head()[0])

quote.job("jobs/rebuild.yaml", when="orders.numbers > 10 and orders.numbers < 100")
"""

JOB = """
job: {name: rebuild}
components:
  - {name: numbers, type: table, params: {columns: {id: bigint}, rows: [[1], [2]]}}
  - {name: big, type: filter, params: {where: "id >= 2"}}
connections:
  data: [numbers.main -> big.input]
"""


class Patient(SparkExecutor):
    """An executor whose Spark is everybody's: its worker ends, Spark stays."""

    def stop(self) -> None:
        """Leave Spark running."""


class Desk(Hosting):
    """A project with a live host of its own, and workers in threads on the Spark of all tests."""

    module = ""

    def write(self, *, version: str = "1.0.0", mark: str = "") -> None:
        (self.root / "jobs").mkdir(exist_ok=True)
        (self.root / "jobs" / "rebuild.yaml").write_text(JOB)
        (self.root / "landing").mkdir(exist_ok=True)
        (self.root / "ponds.py").write_text(self.module.replace("landing", str(self.root / "landing")))

    def work(self) -> tuple[Worker, threading.Thread]:
        """Start a worker."""
        config = WorkerConfig(engine=self.config, public_id=self.ledger.ids.new("p"), code=self.code, parent=0)
        worker = Worker(config, self.ledger, Patient(config, self.ledger))
        thread = threading.Thread(target=worker.run)
        thread.start()
        self.workers = [*getattr(self, "workers", []), (worker, thread)]
        return worker, thread

    def put(self, *numbers: int) -> None:
        """Let a file arrive whose rows have these numbers."""
        text = "\n".join(msgspec.json.encode({"number": number}).decode() for number in numbers)
        name = f"{len(list((self.root / 'landing').iterdir())):03}.json"
        (self.root / name).write_text(text)
        (self.root / name).rename(self.root / "landing" / name)

    def fires(self) -> list[str]:
        # A fire may be called again by the next life: its id is the same.
        return list({line.split(" ", 1)[0]: line for line in super().fires()}.values())

    def actor(self) -> int:
        """Answer the reactor's actor."""
        row = self.row
        assert row is not None
        return row.actor

    def source(self, name: str) -> dict[str, object]:
        return msgspec.convert(self.state()["sources"], dict[str, dict[str, object]])[name]

    def close(self) -> None:
        for worker, thread in getattr(self, "workers", []):
            worker.end(Ending.RELEASE, "the test is over")
            thread.join(PATIENCE_S)
        super().close()


@pytest.fixture
def made(tmp_path: Path, driver: SparkDriver, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Desk]]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(SparkDriver, "start", lambda *_, **__: driver)
    monkeypatch.setattr(stream_executor, "MOST_SIGNALS", 2)
    sys.modules.pop("ponds", None)
    desks: list[Desk] = []

    def make(module: str) -> Desk:
        monkeypatch.setattr(Desk, "module", module)
        desks.append(Desk(tmp_path / "project"))
        return desks[-1]

    yield make
    for desk in desks:
        desk.close()
    sys.modules.pop("ponds", None)


def test_each_micro_batch_is_one_boundary_whoever_reads_the_stream(made: Callable[[str], Desk]) -> None:
    desk = made(STREAM)
    host = desk.start()
    first, thread = desk.work()
    desk.put(1, 2)
    desk.put(3)
    desk.until(lambda: len(desk.fires()) == 2, what="no boundaries")
    assert desk.source("clicks")["health"] == "Live"
    first.drain()
    thread.join(PATIENCE_S)
    desk.put(4)
    desk.until(lambda: desk.source("clicks")["health"] == "Disconnected", what="the stream seems to be read")
    desk.work()
    desk.until(lambda: len(desk.fires()) == 3, what="nobody reads on")
    desk.kill(host)
    desk.start()
    for number in range(5, 9):
        desk.put(number)
    desk.until(lambda: len(desk.fires()) == 7, what="the next host does not hear of the stream")
    _, batches, numbers = zip(*(line.split(" ", 2) for line in desk.fires()), strict=True)
    assert batches == tuple("0123456")
    # Spark takes files by their time, and these came together.
    assert sorted(numbers) == ["[1, 2]", "[3]", "[4]", "[5]", "[6]", "[7]", "[8]"]
    assert desk.source("clicks")["seen"] == 7


def test_a_flood_waits_for_the_reactor_and_a_silent_stream_degrades_it(made: Callable[[str], Desk]) -> None:
    desk = made(STREAM.replace('"clicks", Counted', '"clicks", Counted, capacity=1, stale_after="300ms"'))
    desk.start()
    desk.work()
    desk.until(lambda: desk.state()["state"] == "Degraded", what="nobody misses the stream")
    desk.client().ask(op="command", command="pause")
    for number in range(6):
        desk.put(number)
    most, actor = 0, desk.actor()

    def is_crowded() -> bool:
        nonlocal most
        with desk.ledger.reading() as tx:
            most = max(most, stream_batches.waiting(tx, actor))
        return most >= stream_executor.MOST_SIGNALS

    desk.until(is_crowded, what="the stream does not get ahead")
    desk.client().ask(op="command", command="resume")
    desk.until(lambda: is_crowded() and len(desk.fires()) == 6, what="what waited is lost")
    # One batch may be on its way when the room is gone, and signals about the stream itself come too.
    assert most <= stream_executor.MOST_SIGNALS + 2
    assert [line.split(" ")[1] for line in desk.fires()] == list("012345")


def test_a_gather_that_raises_crashes_its_accumulator_and_says_why(made: Callable[[str], Desk]) -> None:
    desk = made(STREAM)
    desk.start()
    desk.work()
    desk.put(13)
    desk.until(lambda: bool(desk.history("reactor recovery")), what="no crash")
    assert desk.history("reactor recovery")[0]["component"] == "clicks"
    with desk.ledger.reading() as tx:
        row = tx.row("SELECT error FROM executions WHERE outcome = 'failed' ORDER BY id")
    assert row is not None
    assert "clicks failed at micro-batch 0: ValueError: as told" in str(row["error"])
    assert desk.fires() == []


def test_a_stream_that_spark_cannot_read_crashes_its_accumulator_and_its_log_says_why(
    made: Callable[[str], Desk],
) -> None:
    desk = made(STREAM)
    desk.start()
    worker, thread = desk.work()
    desk.put(1)
    desk.until(lambda: len(desk.fires()) == 1, what="no boundary")
    worker.drain()
    thread.join(PATIENCE_S)
    (offsets,) = Path(desk.config.warehouse).glob("streams/*/clicks/offsets/0")
    offsets.write_text("v1\nrubbish\n")
    offsets.with_name(".0.crc").unlink(missing_ok=True)
    desk.work()
    desk.until(lambda: bool(desk.history("reactor recovery")), what="it is tried for ever")
    assert desk.history("reactor recovery")[0]["component"] == "clicks"
    row = desk.row
    assert row is not None
    with desk.ledger.reading() as tx:
        failed = tx.rows("SELECT error FROM executions WHERE outcome = 'failed' ORDER BY id")
        said = stream_faults(tx, row)["clicks"]
        view = with_lines(locate(tx, "main", "quote", ripple="clicks"), Path(desk.config.warehouse), most=100)
    assert msgspec.json.decode(str(failed[0]["error"]))["code"] == STREAM_FAILED
    assert said.startswith("clicks of reactor quote: ")
    lines = [line.text for line in view.lines]
    assert any(line.startswith("reading clicks, query ") for line in lines)
    assert any(line.startswith("STREAM_FAILED: ") for line in lines)


def test_a_graph_of_a_fire_runs_on_spark_and_its_result_is_published_once(made: Callable[[str], Desk]) -> None:
    desk = made(GRAPH)
    host = desk.start()
    for numbers in (4, 13):
        assert desk.client().ask(op="push", source="orders", value={"numbers": numbers})["accepted"]
    desk.until(lambda: desk.state()["running"] is not None, what="no fire")
    desk.kill(host)  # The next life adopts what this one dispatched.
    desk.start()
    desk.until(lambda: desk.epoch() == 2 and bool(desk.row and desk.row.address), what="no second life")
    desk.work()
    desk.until(lambda: (desk.state()["ok"], desk.state()["bad"]) == (1, 1), what="the fires did not end")
    assert "ValueError: as told" in str(desk.client().ask(op="dead")["dead"])
    assert desk.client().ask(op="push", source="orders", value={"numbers": 20})["accepted"]
    desk.until(lambda: len(published(desk)) == 2, what="nothing is published")
    assert published(desk) == [{"fire": 1, "total": 10}, {"fire": 3, "total": 210}]
    with desk.ledger.reading() as tx:
        rows = tx.rows("SELECT node, number, freshness, outcome FROM dispatches WHERE kind = 'graph' ORDER BY id")
    assert [(row["node"], row["number"], row["freshness"], row["outcome"]) for row in rows] == [
        ("add", 1, 1, "ok"), ("add", 1, 2, "failed"), ("add", 1, 3, "ok"),
    ]  # fmt: skip
    desk.until(lambda: job_states(desk) == [("fire 3 of reactor quote", "OK")], what="the job did not run")


def published(desk: Desk) -> list[dict[str, object]]:
    advance.advance_due(desk.ledger, process=None)
    with desk.ledger.reading() as tx:
        rows = tx.rows("SELECT path FROM snapshots ORDER BY id")
    return [found for row in rows for found in pq.read_table(str(row["path"])).to_pylist()]


def job_states(desk: Desk) -> list[tuple[object, object]]:
    with desk.ledger.reading() as tx:
        return [(row["reason"], row["state"]) for row in tx.rows("SELECT reason, state FROM job_runs ORDER BY id")]
