"""Probes in a worker: an equal answer ends the attempt, and one that needs no Spark does not start it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pondage.define.pond.run import Run
from pondage.define.project.durability import Durability
from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.probe import BadProbe, Probe, ProbeFailed
from pondage.engine.execute.spark_executor import SparkExecutor
from pondage.engine.process.config import WorkerConfig
from pondage.kernel.demand.events import Pulse
from pondage.kernel.demand.shape import PondKey
from pondage.ledger.act import verbs
from pondage.ledger.commit import guarded, polling
from pondage.ledger.commit import work as ledger_work
from pondage.ledger.kinds.ripple import Same, Written
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.spark.ripple import ripple
from pondage.spark.session.driver import SparkDriver
from pondage.work.progress import StageView
from tests.engine.plain import attempt_of, engine_config
from tests.engine.projects import deployed_into, write_project
from tests.ledger.harness import content

PONDS = """
from pathlib import Path
from pondage import Pond
{name} = Pond("{name}")

@{name}.ripple
def orders(spark):
    ...

@{name}.probe
def changed({asks}):
    return Path("{file}").read_text()
"""


class Driver:
    def __init__(self) -> None:
        self.starts = 0

    def start(self, *_: object, **__: object) -> Driver:
        self.starts += 1
        return self

    def add_python_path(self, *_: Path) -> None: ...

    @contextmanager
    def attempt(self, _token: str, _description: str) -> Iterator[str]:
        yield "session"

    def stages(self, _token: str, *, most: int) -> tuple[StageView, ...]:
        return ()[:most]


class Bench:
    """An Inlet with a probe over a file, and the executor that is asked for it."""

    def __init__(self, path: Path, asks: str) -> None:
        self.answers = path / "answer.txt"
        self.path = path
        self.ledger = Ledger.open(f"sqlite://{path / 'ledger.db'}", durability=Durability(probe_s=0.0))
        ponds = PONDS.format(name="shop", asks=asks, file=self.answers)
        self.code = deployed_into(self.ledger, write_project(path / "project", ponds))
        with self.ledger.transaction() as tx:
            self.process = processes.register(
                tx, public_id="p1", machine="m", pid=1, pid_started=1, role="worker", code=self.code
            )
        config = WorkerConfig(engine=engine_config(path), public_id="p1", code=self.code, parent=0)
        self.executor = SparkExecutor(config, self.ledger)

    def attempt(self) -> Attempt:
        verbs.send(self.ledger, "main", Pulse(pond=PondKey("shop@1")))
        held = ledger_work.claim_work(
            self.ledger,
            process=self.process,
            queues=polling.queues_for(self.ledger, code=self.code),
            token=self.ledger.ids.new("t"),
            is_alone=True,
        )
        assert held is not None
        self.current = held
        return attempt_of(held, self.path)

    def write_once(self) -> Written:
        attempt = self.attempt()
        result = self.executor.execute(attempt)
        assert isinstance(result, Written)
        assert guarded.commit(self.ledger, attempt.work, Written(result.content), process=self.process)
        attempt.log.close()
        return result


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    made = Driver()
    monkeypatch.setattr(SparkDriver, "start", made.start)
    return made


@pytest.fixture
def bench(
    tmp_path: Path, driver: Driver, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Bench]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "ponds", raising=False)
    made = Bench(tmp_path, getattr(request, "param", ""))
    made.answers.write_text("first")
    monkeypatch.setattr(ripple, "run_ripple", lambda _session, _work: content(made.current))
    yield made
    made.ledger.close()


@pytest.mark.parametrize("bench", ["", "run", "spark", "run, spark"], indirect=True)
def test_an_equal_answer_ends_the_attempt_and_another_one_runs_the_ripple(bench: Bench) -> None:
    assert bench.write_once().content.probe == '"first"'
    attempt = bench.attempt()
    assert bench.executor.execute(attempt) == Same()
    assert guarded.commit(bench.ledger, attempt.work, Same(), process=bench.process)
    attempt.log.close()
    bench.answers.write_text("second")
    assert bench.write_once().content.probe == '"second"'


def test_a_quiet_inlet_whose_probe_needs_no_spark_does_not_start_it(bench: Bench, driver: Driver) -> None:
    bench.write_once()
    assert driver.starts == 1
    config = WorkerConfig(engine=engine_config(bench.path), public_id="p2", code=bench.code, parent=0)
    fresh = SparkExecutor(config, bench.ledger)
    attempt = bench.attempt()
    assert fresh.execute(attempt) == Same()
    assert driver.starts == 1
    attempt.log.close()


def test_a_probe_that_raises_fails_its_ripple_at_the_authors_line(bench: Bench) -> None:
    bench.answers.unlink()
    attempt = bench.attempt()
    with pytest.raises(ProbeFailed, match=r"the probe of shop\.orders: FileNotFoundError") as raised:
        bench.executor.execute(attempt)
    failure = bench.executor.failure(raised.value)
    assert failure.code == "PROBE_FAILED"
    assert (failure.place or "").endswith("ponds.py:12")
    assert "Traceback" in (failure.trace or "")
    attempt.log.close()


def test_a_refused_connection_of_a_probe_is_not_taken_for_the_death_of_spark() -> None:
    def refused() -> None:
        raise ConnectionRefusedError("nobody listens")

    with pytest.raises(ProbeFailed) as raised:
        Probe(refused, "shop.orders").answer(Run(freshness_us=0))
    assert raised.value.code == "PROBE_FAILED"


def test_an_answer_that_json_cannot_hold_is_refused() -> None:
    with pytest.raises(BadProbe, match="answered a object, which JSON cannot hold"):
        Probe(lambda: object(), "shop.orders").answer(Run(freshness_us=0))


def test_the_order_of_a_dictionary_does_not_matter() -> None:
    run = Run(freshness_us=0)
    first = Probe(lambda: {"a": 1, "b": 2}, "x").answer(run)
    assert Probe(lambda: {"b": 2, "a": 1}, "x").answer(run) == first
