"""Many flows on one ledger and one Spark: threads that claim and commit as workers do, and that sometimes die."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from pathlib import Path

from pondage.connect.extraction import extracted_rows
from pondage.define.job.flow import FlowFacts
from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.log import AttemptLog, bound
from pondage.engine.execute.spark_executor import SparkExecutor
from pondage.engine.process.config import EngineConfig, WorkerConfig
from pondage.ledger.act import extracts, jobs
from pondage.ledger.commit import guarded, polling, work
from pondage.ledger.data.segments import Fenced
from pondage.ledger.kinds.component import ComponentEnded
from pondage.ledger.kinds.kind import Work
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.step import advance
from pondage.ledger.upkeep import reap
from pondage.plan.flow.planner import PlannedFlow
from pondage.plan.job.stored_job import stored_job
from pondage.spark.session.driver import SparkDriver
from pondage.testing.flow_simulation import CodeUnderTest, Known
from pondage.views.jobs.flows import FlowDetail, flow_run
from tests.patience import PATIENCE_S


class Fleet:
    """Workers in threads. `dies(held)` says whether a worker is lost with this piece of work, after it was done."""

    def __init__(
        self, root: Path, known: Known, driver: SparkDriver, *, threads: int, dies: Callable[[Work], bool]
    ) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.ledger = Ledger.open(str(root / "ledger.db"))
        engine = EngineConfig(
            project="fleet", root=str(root), ledger=f"sqlite:///{root / 'ledger.db'}", warehouse=str(root / "data"),
            state_directory=str(root),
        )  # fmt: skip
        config = WorkerConfig(engine=engine, public_id="p-fleet", code="", parent=0)
        code = CodeUnderTest(self.ledger, known)
        self.executor = SparkExecutor(config, self.ledger, driver=driver, code=code, is_owner=False)
        self.claiming = threading.Lock()
        self.deaths: list[str] = []
        self.errors: list[BaseException] = []
        self._root = root
        self._known = known
        self._dies = dies
        self._numbers = itertools.count(1)
        self._is_over = threading.Event()
        self._attempts: dict[str, Attempt] = {}
        self._has_ended = threading.Event()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(threads)]
        self._watching = threading.Thread(target=self._watch, daemon=True)
        for thread in (*self._threads, self._watching):
            thread.start()

    def submit(self, planned: PlannedFlow, *, loses: set[int]) -> str:
        """Begin a flow; its actor is put among those that lose a worker before anybody can claim."""
        facts = FlowFacts(extracts=planned.extracts, types=planned.extract_types)
        stored = stored_job(planned.plan, self._known.registry, flow=facts)
        with self.claiming:
            run = jobs.start_job(self.ledger, "main", stored)
            with self.ledger.reading() as tx:
                loses.add(jobs.find(tx, "main", run).actor)
        return run

    def ended(self, run: str) -> FlowDetail:
        """Wait until a flow is over."""
        changes = self.ledger.driver.changes()
        deadline_s = time.monotonic() + PATIENCE_S
        try:
            while True:
                with self.ledger.reading() as tx:
                    row = jobs.find(tx, "main", run)
                if row.ended_at is not None:
                    with self.ledger.reading() as tx:
                        return flow_run(tx, self.ledger, "main", run)
                assert not self.errors, self.errors
                assert time.monotonic() < deadline_s, f"{run} does not end: {self._nodes(run)}"
                changes.wait(0.5)
                advance.advance_due(self.ledger, process=None)
        finally:
            changes.close()

    def _nodes(self, run: str) -> dict[str, str]:
        with self.ledger.reading() as tx:
            return {one.name: one.state for one in flow_run(tx, self.ledger, "main", run).flow.components}

    def rows(self, run: str, name: str) -> list[dict[str, object]]:
        """Answer the rows of an extract."""
        with self.ledger.reading() as tx:
            one = extracts.find(tx, self.ledger, "main", run, name)
        return list(extracted_rows(self.ledger, one))

    def close(self) -> None:
        """End the threads and close the ledger."""
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        self._has_ended.set()
        self._watching.join()
        self.ledger.close()

    def _watch(self) -> None:
        """Take attempts away that were cancelled, as a worker does: else one waits for a flow that is over."""
        while not self._has_ended.wait(0.2):
            attempts = list(self._attempts.values())
            with self.ledger.reading() as tx:
                rows = tx.rows("SELECT token FROM executions WHERE token IS NOT NULL AND completed_at IS NULL")
            held = {str(row["token"]) for row in rows}
            for attempt in attempts:
                if attempt.token not in held and attempt.taken_away is None:
                    attempt.take_away("it was cancelled", time.monotonic())

    def _registered(self) -> int:
        number = next(self._numbers)
        with self.ledger.transaction() as tx:
            return processes.register(
                tx, public_id=f"p-{number}", machine="m", pid=number, pid_started=1, role="worker", slots=1
            )

    def _work(self) -> None:
        process = self._registered()
        changes = self.ledger.driver.changes()
        try:
            while not self._is_over.is_set():
                queues = polling.queues_for(self.ledger, code="")
                token = self.ledger.ids.new("t")
                with self.claiming:
                    held = work.claim_work(self.ledger, process=process, queues=queues, token=token, is_alone=True)
                if held is None:
                    changes.wait(0.2)
                elif not self._carry_out(held, process):
                    process = self._registered()
        except BaseException as error:
            self.errors.append(error)
            raise
        finally:
            changes.close()

    def _carry_out(self, held: Work, process: int) -> bool:
        """Do a piece of work; False when this worker was lost with it."""
        log = AttemptLog(self._root / "logs" / f"{held.claim.dispatch}-{held.claim.epoch}.log")
        attempt = Attempt(held, log, clock=time.monotonic, on_phase=lambda _phase: None)
        self._attempts[attempt.token] = attempt
        try:
            with bound(log):
                result = self.executor.execute(attempt)
        except Fenced:
            result = None
        finally:
            del self._attempts[attempt.token]
            log.close()
        if result is None or attempt.taken_away is not None:
            # The flow has panicked meanwhile, and what ran in it was cancelled.
            self.executor.discard(attempt)
            return True
        assert isinstance(result, ComponentEnded)
        if not self._dies(held):
            guarded.commit(self.ledger, held, result, process=process)
            return True
        with self.ledger.reading() as tx:
            (row,) = (one for one in processes.alive(tx) if one.id == process)
        reap.reap_process(self.ledger, row, reason="killed by a test")
        assert not guarded.commit(self.ledger, held, result, process=process), "who was declared dead is fenced"
        self.executor.discard(attempt)
        self.deaths.append(held.claim.node)
        return False
