"""The executor on Spark, with a driver that only pretends: what it starts, gives to the Ripple and makes of errors."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.log import AttemptLog
from pondage.engine.execute.spark_executor import SparkExecutor
from pondage.engine.process.config import WorkerConfig
from pondage.errors import PondageError
from pondage.kernel.demand.events import Tap
from pondage.ledger.act import questions, verbs
from pondage.ledger.commit import guarded, polling
from pondage.ledger.commit import work as ledger_work
from pondage.ledger.kinds.kind import Answered, Work
from pondage.ledger.kinds.ripple import Same, Written
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.spark.query import query
from pondage.spark.ripple import ripple
from pondage.spark.session.driver import SparkDriver
from pondage.work.answers import QueryView
from pondage.work.progress import JobProgress, StageView
from tests.engine.plain import engine_config
from tests.engine.projects import deployed_into, write_project
from tests.ledger.harness import content

PONDS = """
from pondage import Pond, check
shop = Pond("shop")

@shop.ripple(parameters={"limit": 3}, expect=[check("positive", lambda: None)])
def orders(spark, run):
    run.logger.info("at work")
"""


class PretendedDriver:
    """A driver without a JVM."""

    log = Path("no.log")

    def __init__(self) -> None:
        self.starts = 0
        self.tokens: list[str] = []
        self.paths: list[Path] = []
        self.is_up = True

    def start(self, settings: object, state: Path, on_phase: Any) -> PretendedDriver:
        self.starts += 1
        on_phase("ready")
        return self

    def add_python_path(self, *paths: Path) -> None:
        self.paths.extend(paths)

    @contextmanager
    def attempt(self, token: str, description: str) -> Iterator[str]:
        self.tokens.append(f"{token}: {description}")
        yield "session"

    def progress(self, token: str) -> JobProgress:
        return JobProgress(jobs=1, stages=2, tasks_done=3, tasks_all=4)

    def stages(self, token: str, *, most: int) -> tuple[StageView, ...]:
        return (StageView(id=4, tasks=3, work_us=50),)[:most]

    def cancel(self, token: str) -> None:
        self.tokens.append(f"cancel {token}")

    def ran_out_of_memory(self) -> bool:
        return False

    def is_alive(self) -> bool:
        return self.is_up

    def stop(self) -> None:
        self.is_up = False


class Bench:
    """A deployed project, a claim on it, and the executor."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ledger = Ledger.open(f"sqlite://{path / 'ledger.db'}")
        digest = deployed_into(self.ledger, write_project(path / "project", PONDS))
        self.phases: list[str] = []
        with self.ledger.transaction() as tx:
            self.process = processes.register(
                tx, public_id="p1", machine="m", pid=1, pid_started=1, role="worker", code=digest
            )
        self.code = digest
        config = WorkerConfig(engine=engine_config(path), public_id="p1", code=digest, parent=0)
        self.executor = SparkExecutor(config, self.ledger)
        self.log = AttemptLog(path / "attempt.log")

    def attempt(self) -> Attempt:
        return Attempt(self.claim(), self.log, clock=lambda: 0.0, on_phase=self.phases.append)

    def close(self) -> None:
        self.log.close()
        self.ledger.close()

    def claim(self) -> Work:
        queues = polling.queues_for(self.ledger, code=self.code)
        held = ledger_work.claim_work(
            self.ledger, process=self.process, queues=queues, token=self.ledger.ids.new("t"), is_alone=True
        )
        assert held is not None
        return held


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> PretendedDriver:
    pretended = PretendedDriver()
    monkeypatch.setattr(SparkDriver, "start", pretended.start)
    return pretended


@pytest.fixture
def bench(tmp_path: Path, driver: PretendedDriver, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "ponds", raising=False)
    bench = Bench(tmp_path)
    verbs.send(bench.ledger, "main", Tap(pond="shop@1"))
    yield bench
    bench.close()


def test_the_driver_is_started_once_by_the_first_attempt_and_says_so(
    bench: Bench, driver: PretendedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bench.executor.is_alive()
    assert driver.starts == 0
    attempt = bench.attempt()
    monkeypatch.setattr(ripple, "run_ripple", lambda session, given: content(attempt.work))
    bench.executor.execute(attempt)
    assert bench.phases == ["starting spark", "starting spark: ready", "running"]
    bench.executor.execute(attempt)
    assert driver.starts == 1
    assert driver.paths == [bench.path / "state" / "code" / bench.code]
    assert attempt.timed_from_s is not None


def test_a_ripple_gets_what_its_claim_says(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[ripple.RippleWork] = []
    attempt = bench.attempt()

    def run_ripple(session: object, work: ripple.RippleWork) -> object:
        given.append(work)
        return content(attempt.work)

    monkeypatch.setattr(ripple, "run_ripple", run_ripple)
    assert bench.executor.execute(attempt) == Written(content(attempt.work))
    (work,) = given
    task = attempt.work.task
    assert task is not None
    assert work.destination == f"{bench.path}/warehouse/data/{task.dataset_id}/{task.run_id}/{attempt.token}"
    assert set(work.checks) == {"positive"}
    assert dict(work.run.parameters) == {"limit": 3}
    assert work.run.idempotency_key == task.idempotency_key
    assert isinstance(work.run.logger, logging.Logger)
    assert work.function is not None


def test_unchanged_before_the_first_data_is_a_failure_and_afterwards_is_not(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ripple, "run_ripple", lambda session, given: ripple.UNCHANGED)
    attempt = bench.attempt()
    with pytest.raises(PondageError, match="before it ever published") as raised:
        bench.executor.execute(attempt)
    assert bench.executor.failure(raised.value).code == "NOTHING_UNCHANGED"
    assert guarded.commit(bench.ledger, attempt.work, Written(content(attempt.work)), process=bench.process)
    verbs.send(bench.ledger, "main", Tap(pond="shop@1"))
    assert bench.executor.execute(bench.attempt()) == Same()


def test_a_query_is_answered_as_json(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.claim()
    questions.submit(bench.ledger, "main", "select 1", limit=5)
    answer = QueryView(columns=("a",), types=("int",), rows=([1],))
    monkeypatch.setattr(query, "run_query", lambda session, sql, views, limit, fused: answer)
    result = bench.executor.execute(bench.attempt())
    assert result == Answered('{"columns":["a"],"types":["int"],"rows":[[1]],"truncated":false,"notes":[]}')


def test_errors_become_words_with_code_place_and_hint(bench: Bench) -> None:
    error = PondageError("no such column", hint="select it", place="ponds.py:3", code="COLUMN")
    failure = bench.executor.failure(error)
    assert (failure.code, failure.message, failure.place) == ("COLUMN", "no such column (select it)", "ponds.py:3")
    failure = bench.executor.failure(SystemExit(3))
    assert failure.code == "RIPPLE_FAILED"
    assert "SystemExit: 3" in failure.message
    assert failure.trace is not None


def test_what_was_written_for_nobody_is_removed(bench: Bench) -> None:
    attempt = bench.attempt()
    task = attempt.work.task
    assert task is not None
    place = bench.path / "warehouse" / "data" / task.dataset_id / task.run_id / attempt.token
    place.mkdir(parents=True)
    (place / "part-0.parquet").write_text("rows")
    bench.executor.discard(attempt)
    bench.executor.discard(attempt)
    assert not place.exists()


def test_the_driver_is_asked_only_when_there_is_one(
    bench: Bench, driver: PretendedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.executor.cancel("t1")
    assert bench.executor.progress("t1") == JobProgress()
    attempt = bench.attempt()
    monkeypatch.setattr(ripple, "run_ripple", lambda session, given: content(attempt.work))
    bench.executor.execute(attempt)
    assert msgspec.json.decode(attempt.summary or "")["done"][0]["tasks"] == 3, "what Spark did is committed with it"
    bench.executor.cancel("t1")
    assert driver.tokens[-1] == "cancel t1"
    assert bench.executor.progress("t1") == JobProgress(jobs=1, stages=2, tasks_done=3, tasks_all=4)
    driver.is_up = False
    assert not bench.executor.is_alive()
    bench.executor.stop()
    assert bench.executor.is_alive(), "one that was stopped on purpose has not died"
