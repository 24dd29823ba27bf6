"""An executor without Spark, and the small things that tests of the engine wait with."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.executor import Result
from pondage.engine.attempt.log import AttemptLog
from pondage.engine.process.config import EngineConfig, WorkerConfig
from pondage.engine.worker.process import Worker
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.ripple import Written
from pondage.ledger.ledger import Durability
from pondage.ledger.queue.queues import Role
from pondage.work.failure import Failure
from pondage.work.progress import JobProgress
from tests.ledger.harness import World, content
from tests.patience import PATIENCE_S


class PlainExecutor:
    """Does what a test says. By default every Ripple writes one row at once."""

    def __init__(self) -> None:
        self.act: Callable[[Attempt], Result] = lambda attempt: Written(content(attempt.work))
        self.executed: list[str] = []
        self.cancelled: list[str] = []
        self.discarded: list[str] = []
        self.jobs = JobProgress()
        self.is_driver_alive = True
        self.is_stopped = False

    def execute(self, attempt: Attempt) -> Result:
        self.executed.append(attempt.work.claim.node)
        return self.act(attempt)

    def failure(self, error: BaseException) -> Failure:
        return Failure(code=type(error).__name__.upper(), message=str(error))

    def cancel(self, token: str) -> None:
        self.cancelled.append(token)

    def progress(self, token: str) -> JobProgress:
        return self.jobs

    def discard(self, attempt: Attempt) -> None:
        self.discarded.append(attempt.token)

    def ran_out_of_memory(self) -> bool:
        return False

    def is_alive(self) -> bool:
        return self.is_driver_alive

    def stop(self) -> None:
        self.is_stopped = True


class Gate:
    """Holds an attempt in the middle of its work until the test lets it go on."""

    def __init__(self, then: Callable[[Attempt], Result] | None = None) -> None:
        self.entered = threading.Event()
        self.opened = threading.Event()
        self._then = then or (lambda attempt: Written(content(attempt.work)))

    def __call__(self, attempt: Attempt) -> Result:
        self.entered.set()
        assert self.opened.wait(PATIENCE_S)
        return self._then(attempt)

    def wait_entered(self) -> None:
        assert self.entered.wait(PATIENCE_S)


def sqlite_world(path: Path, durability: Durability | None = None) -> World:
    """A world on a real SQLite file."""
    return World(lambda clock: SqliteDriver(path / "ledger.db", clock), durability=durability)


def engine_config(path: Path, **changes: object) -> EngineConfig:
    return EngineConfig(
        project="tests",
        root=str(path),
        ledger=f"sqlite://{path / 'ledger.db'}",
        warehouse=str(path / "warehouse"),
        state_directory=str(path / "state"),
        **changes,  # type: ignore[arg-type]
    )


def make_worker(
    world: World, path: Path, executor: PlainExecutor, *, role: Role = "worker", **changes: object
) -> Worker:
    """A worker for the code that was deployed last, or a process for questions."""
    code = world.rows("SELECT archive FROM deployments ORDER BY id DESC LIMIT 1")
    config = WorkerConfig(
        engine=engine_config(path, **changes),
        public_id=world.ledger.ids.new("p"),
        code=str(code[0]["archive"]) if code else "",
        parent=0,
        role=role,
    )
    return Worker(config, world.ledger, executor)


class Running:
    """A worker that runs in a thread; leaving the block drains it."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.code: int | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        self.code = self.worker.run()

    def __enter__(self) -> Running:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.worker.drain()
        self.wait()

    def wait(self) -> int | None:
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "the worker does not end"
        return self.code


def join_slots() -> None:
    """Wait until every attempt of this process has ended, with all that follows from it."""
    deadline_s = time.monotonic() + PATIENCE_S
    while any(thread.name.startswith("slot ") for thread in threading.enumerate()):
        assert time.monotonic() < deadline_s, "an attempt does not end"
        time.sleep(0.002)


def wait_for(world: World, is_reached: Callable[[], bool]) -> None:
    """Wait until a change of the ledger makes something true."""
    changes = world.ledger.driver.changes()
    deadline = threading.Event()
    timer = threading.Timer(PATIENCE_S, deadline.set)
    timer.start()
    try:
        while not is_reached():
            assert not deadline.is_set(), "it never came true"
            changes.wait(1.0)
    finally:
        timer.cancel()


def attempt_of(work: Work, path: Path, *, clock: Callable[[], float] = lambda: 0.0) -> Attempt:
    return Attempt(work, AttemptLog(path / "attempt.log"), clock=clock, on_phase=lambda phase: None)
