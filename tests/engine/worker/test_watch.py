"""Progress, timeouts and cancelling, with a clock that the test moves."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from pondage.engine.worker.slots import Slots
from pondage.engine.worker.watch import Watch
from pondage.kernel.demand.events import Kill, Tap
from pondage.ledger.kinds.kind import Work
from pondage.work.progress import JobProgress
from tests.engine.plain import Gate, PlainExecutor, attempt_of, join_slots
from tests.ledger.harness import World, pond


class Watched:
    """One attempt that runs behind a gate, and the watch that looks at it."""

    def __init__(self, world: World, path: Path, executor: PlainExecutor, *, timeout_s: float | None = None) -> None:
        self.world = world
        self.now_s = 0.0
        self.stuck: list[str] = []
        self.fatal: list[str] = []
        world.deploy(pond("orders"))
        world.send(Tap(pond="orders@1"))
        process = world.worker()
        claimed = process.claim()
        assert claimed is not None
        claim = msgspec.structs.replace(claimed.claim, timeout_s=timeout_s)
        self.work = Work(claim=claim, task=claimed.task)
        self.gate = executor.act = Gate()
        self.slots = Slots(
            world.ledger, executor, process=process.id, size=1,
            claim_next=lambda: None, on_end=lambda: None, on_fatal=self.fatal.append, is_fenced=lambda: False,
        )  # fmt: skip
        self.watch = Watch(
            world.ledger, executor, self.slots, process=process.id,
            cancel_grace_s=10, on_stuck=self.stuck.append, clock=lambda: self.now_s,
        )  # fmt: skip
        self.attempt = attempt_of(self.work, path, clock=lambda: self.now_s)
        self.slots.admit(self.attempt)
        self.slots.start(self.attempt)
        self.gate.wait_entered()

    def look(self, at_s: float) -> None:
        self.now_s = at_s
        self.watch.look()

    def end(self) -> None:
        self.gate.opened.set()
        join_slots()

    def progress(self) -> object:
        return self.world.one("SELECT progress FROM executions ORDER BY id LIMIT 1")


def test_a_quick_attempt_writes_no_progress(world: World, tmp_path: Path, executor: PlainExecutor) -> None:
    watched = Watched(world, tmp_path, executor)
    before = world.ledger.driver.counts.transactions
    watched.look(0.4)
    assert world.ledger.driver.counts.transactions == before
    watched.end()


def test_progress_is_written_when_it_changed_and_only_then(
    world: World, tmp_path: Path, executor: PlainExecutor
) -> None:
    watched = Watched(world, tmp_path, executor)
    executor.jobs = JobProgress(jobs=1, stages=2, tasks_done=3, tasks_all=4)
    before = world.ledger.driver.counts.transactions
    watched.look(0.5)
    watched.look(1.0)
    assert world.ledger.driver.counts.transactions - before == 1
    assert msgspec.json.decode(str(watched.progress())) == {
        "phase": "", "jobs": 1, "stages": 2, "tasks_done": 3, "tasks_all": 4,
    }  # fmt: skip
    watched.end()


def test_a_killed_attempt_is_cancelled_each_second_until_it_ends(
    world: World, tmp_path: Path, executor: PlainExecutor
) -> None:
    watched = Watched(world, tmp_path, executor)
    watched.look(1.0)
    world.send(Kill(pond="orders@1"))
    watched.look(2.0)
    watched.look(2.5)
    watched.look(3.0)
    assert executor.cancelled == [watched.work.claim.token] * 2
    watched.end()
    watched.look(4.0)
    assert len(executor.cancelled) == 2
    assert watched.stuck == []


def test_an_attempt_that_does_not_stop_is_reported(world: World, tmp_path: Path, executor: PlainExecutor) -> None:
    watched = Watched(world, tmp_path, executor)
    world.send(Kill(pond="orders@1"))
    watched.look(1.0)
    watched.look(10.9)
    assert watched.stuck == []
    watched.look(12.0)
    assert watched.stuck == ["orders did not stop within 10 s"]
    watched.end()


@pytest.mark.parametrize(("at_s", "outcome"), [(4.9, None), (5.0, "failed")])
def test_a_timeout_fails_the_attempt_by_the_definition(
    world: World, tmp_path: Path, executor: PlainExecutor, at_s: float, outcome: str | None
) -> None:
    watched = Watched(world, tmp_path, executor, timeout_s=5.0)
    watched.look(at_s)
    (row,) = world.rows("SELECT outcome, error FROM executions")
    assert row["outcome"] == outcome
    if outcome:
        assert msgspec.json.decode(str(row["error"]))["code"] == "TIMEOUT"
        assert executor.cancelled
    watched.end()
    assert world.one("SELECT count(*) AS n FROM snapshots") == (0 if outcome else 1)


def test_the_start_of_spark_is_not_part_of_the_authors_time(
    world: World, tmp_path: Path, executor: PlainExecutor
) -> None:
    watched = Watched(world, tmp_path, executor, timeout_s=5.0)
    watched.attempt.hold_timeout()
    watched.look(8.0)
    assert world.one("SELECT outcome FROM executions") is None
    watched.attempt.start_timeout()
    watched.look(12.0)
    assert world.one("SELECT outcome FROM executions") is None
    watched.look(13.0)
    assert world.one("SELECT outcome FROM executions") == "failed"
    watched.end()


def test_whoever_waits_for_a_stop_hears_at_once_that_its_work_was_taken_away(
    world: World, tmp_path: Path, executor: PlainExecutor
) -> None:
    watched = Watched(world, tmp_path, executor)
    world.send(Kill(pond="orders@1"))
    watched.look(1.0)
    assert watched.attempt.stopping.is_set()
    watched.end()
