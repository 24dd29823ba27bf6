"""Leases from the worker's side: what it promises the ledger, and what happens when nothing moves any more."""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec
import pytest

from pondage.define.project.durability import Durability
from pondage.engine.services.leases import Leases
from pondage.engine.worker.patient_calls import Aside
from pondage.work.progress import JobProgress
from tests.engine.plain import PlainExecutor, sqlite_world
from tests.engine.worker.test_watch import Watched
from tests.ledger.harness import SECOND, World
from tests.patience import PATIENCE_S


@pytest.fixture
def leasing(tmp_path: Path) -> World:
    """A project in which nothing may stand still for a minute."""
    return sqlite_world(tmp_path, Durability(progress_lease_s=60.0))


def lease(world: World) -> tuple[object, object]:
    (row,) = world.rows("SELECT healthy_until, lease FROM executions ORDER BY id LIMIT 1")
    until = row["healthy_until"]
    return row["lease"], None if until is None else (int(str(until)) - world.clock.time) / SECOND


def error(world: World) -> str:
    (row,) = world.rows("SELECT outcome, error FROM executions ORDER BY id LIMIT 1")
    assert row["outcome"] == "failed"
    return str(msgspec.json.decode(str(row["error"]))["code"])


def test_a_timeout_is_promised_to_the_ledger_with_some_slack(
    world: World, tmp_path: Path, executor: PlainExecutor
) -> None:
    watched = Watched(world, tmp_path, executor, timeout_s=5.0)
    watched.look(0.5)
    assert lease(world) == ("TIMEOUT", 6.5)
    service = Leases(world.ledger, process=None)
    world.clock.time += 6 * SECOND
    service.run_once()
    assert world.one("SELECT outcome FROM executions") is None
    world.clock.time += SECOND
    service.run_once()
    assert error(world) == "TIMEOUT"
    watched.look(2.0)
    assert watched.attempt.taken_away is not None, "the worker sees it and cancels"
    watched.look(3.0)
    assert executor.cancelled == [watched.work.claim.token] * 2
    watched.end()
    assert world.one("SELECT count(*) AS n FROM snapshots") == 0, "its late commit is fenced"


def test_a_finished_task_extends_the_lease_and_nothing_else_does(
    leasing: World, tmp_path: Path, executor: PlainExecutor
) -> None:
    watched = Watched(leasing, tmp_path, executor)
    watched.look(1.0)
    assert lease(leasing) == ("NO_PROGRESS", 60.0)
    executor.jobs = JobProgress(jobs=1, stages=1, tasks_done=1, tasks_all=9)
    before = leasing.ledger.driver.counts.transactions
    watched.look(31.0)
    assert leasing.ledger.driver.counts.transactions - before == 1, "with the progress, not beside it"
    assert lease(leasing) == ("NO_PROGRESS", 60.0)
    before = leasing.ledger.driver.counts.transactions
    watched.look(61.0)
    assert leasing.ledger.driver.counts.transactions == before, "nothing has moved"
    leasing.clock.time += 61 * SECOND
    Leases(leasing.ledger, process=None).run_once()
    assert error(leasing) == "NO_PROGRESS"
    watched.end()


def test_the_start_of_spark_is_not_leased(leasing: World, tmp_path: Path, executor: PlainExecutor) -> None:
    watched = Watched(leasing, tmp_path, executor)
    watched.look(0.5)
    assert lease(leasing)[0] == "NO_PROGRESS"
    watched.attempt.hold_timeout()
    watched.look(1.0)
    assert lease(leasing) == (None, None)
    watched.attempt.start_timeout()
    watched.look(1.5)
    assert lease(leasing)[0] == "NO_PROGRESS"
    watched.end()


def test_without_limits_nothing_is_promised(world: World, tmp_path: Path, executor: PlainExecutor) -> None:
    watched = Watched(world, tmp_path, executor)
    watched.look(100.0)
    assert lease(world) == (None, None)
    watched.end()


class Hanging(PlainExecutor):
    """A driver that does not answer, as when its JVM is suspended."""

    def __init__(self) -> None:
        super().__init__()
        self.released = threading.Event()

    def progress(self, token: str) -> JobProgress:
        assert self.released.wait(PATIENCE_S)
        return JobProgress(jobs=7)


def test_a_driver_that_does_not_answer_does_not_hold_up_the_watch() -> None:
    hanging = Hanging()
    aside = Aside(hanging)
    assert aside.progress("t") == JobProgress()
    assert aside.progress("t") == JobProgress(), "it is asked once, and nobody waits for ever"
    aside.cancel("t")
    assert aside.is_alive(), "who does not answer is not dead"
    assert hanging.cancelled == []
    hanging.released.set()
    while aside.progress("t") != JobProgress(jobs=7):
        pass
    aside.cancel("t")
    assert hanging.cancelled


def test_an_answer_that_comes_at_once_is_the_answer() -> None:
    executor = PlainExecutor()
    executor.jobs = JobProgress(jobs=1)
    aside = Aside(executor)
    assert aside.progress("t") == JobProgress(jobs=1)
    executor.is_driver_alive = False
    assert not aside.is_alive()
    aside.stop()
    assert executor.is_stopped
