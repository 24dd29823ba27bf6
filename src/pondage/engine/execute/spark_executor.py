"""Carrying out attempts on Spark. The driver is started by the first attempt that needs it, and only once."""

from __future__ import annotations

import shutil
import threading
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from pondage.connect.secrets import SecretStore
from pondage.connect.veil import veil_file, veiled
from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.executor import Answered, Compacted, JobProgress, Result
from pondage.engine.attempt.progress import MOST_STAGES, summary_text
from pondage.engine.execute import component_executor, inspections, reactor_executor, ripple_executor, trials
from pondage.engine.execute.lineage import LineageKeeper
from pondage.engine.process.code import DeployedCode
from pondage.engine.process.config import WorkerConfig
from pondage.engine.process.local import local_warehouse
from pondage.engine.process.places import code_directory, snapshot_path
from pondage.errors import PondageError
from pondage.ledger.commit.compaction import CompactTask
from pondage.ledger.commit.query_tasks import QueryTask
from pondage.ledger.commit.work import Failure, RippleTask
from pondage.ledger.ledger import Ledger
from pondage.spark.session.driver import SparkDriver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STARTING = "starting spark"
RUNNING = "running"


class SparkExecutor:
    """The executor of a worker: one Spark driver, one archive of deployed code."""

    def __init__(
        self,
        config: WorkerConfig,
        ledger: Ledger,
        *,
        driver: SparkDriver | None = None,
        code: DeployedCode | None = None,
        is_owner: bool = True,
    ) -> None:
        """`is_owner`: the driver ends with this executor."""
        self._config = config.engine
        self._ledger = ledger
        self._code = code or DeployedCode(ledger, config.code, code_directory(config.engine))
        self._is_owner = is_owner
        self._has_code = bool(config.code)
        self._lineage = LineageKeeper(ledger)
        self._driver = driver
        self._lock = threading.Lock()
        self._is_stopped = False

    def execute(self, attempt: Attempt) -> Result:
        """Run the Ripple, the components or the query of an attempt in a session of its own."""
        try:
            return self._execute(attempt)
        finally:
            self._sum_up(attempt)

    def _sum_up(self, attempt: Attempt) -> None:
        """Keep what Spark did for people who look at the Run later."""
        work = attempt.work
        if self._driver is not None and (work.ripple is not None or work.component is not None):
            attempt.summary = summary_text(self._driver.stages(attempt.token, most=MOST_STAGES))

    def _execute(self, attempt: Attempt) -> Result:
        work, secrets, opened = attempt.work, self._secrets(attempt), partial(self._opened, attempt)
        if work.component is not None:
            return component_executor.execute(
                attempt,
                work.component,
                config=self._config,
                ledger=self._ledger,
                code=self._code,
                secrets=secrets,
                opened=opened,
            )
        if work.ripple is not None:
            return ripple_executor.execute(
                attempt,
                work.ripple,
                ledger=self._ledger,
                code=self._code,
                secrets=secrets,
                lineage=self._lineage,
                destination=self._destination(attempt, work.ripple),
                opened=opened,
            )
        with opened() as session:
            if work.fire is not None or work.stream is not None:
                return reactor_executor.execute(
                    attempt, session, config=self._config, code=self._code, ledger=self._ledger
                )
            if work.sample is not None:
                return trials.sample(session, self._code, work.sample, secrets)
            if work.infer is not None:
                return trials.infer(session, self._code, work.infer)
            if work.compact is not None:
                from pondage.spark.files.changes import write_compacted

                destination = self._destination(attempt, work.compact)
                return Compacted(write_compacted(session, work.compact.table, destination))
            assert work.query is not None, "a claim has a task"
            return self._query(session, attempt, work.query)

    def failure(self, error: BaseException) -> Failure:
        """Say why an attempt failed, with the author's line where it is known."""
        if not isinstance(error, PondageError):
            from pondage.spark.session.errors import explained

            error = explained(error, where="the work")
        if self._driver is not None:
            # What a failing task says is in the JVM's log too, and only now is it all there.
            veil_file(self._driver.log)
        hint = f" ({error.hint})" if error.hint else ""
        trace = getattr(error, "trace", None)
        failure = Failure(
            code=error.code,
            message=veiled(f"{error.message}{hint}"),
            place=self._code.shown(error.place),
            trace=veiled(trace) if isinstance(trace, str) else None,
        )
        return inspections.failed_rules(failure, error)

    def cancel(self, token: str) -> None:
        """Stop the jobs that the attempt runs now."""
        if self._driver is not None:
            self._driver.cancel(token)

    def progress(self, token: str) -> JobProgress:
        """Answer how far the attempt's jobs are."""
        if self._driver is None:
            return JobProgress()
        return msgspec.convert(msgspec.structs.asdict(self._driver.progress(token)), JobProgress)

    def discard(self, attempt: Attempt) -> None:
        """Remove what the attempt wrote; on another file system it is left to `vacuum`."""
        task, component = attempt.work.ripple or attempt.work.compact, attempt.work.component
        if component is not None:
            component_executor.discard(self._config, attempt, component)
        if task is not None and local_warehouse(self._config.warehouse) is not None:
            place = local_warehouse(self._destination(attempt, task))
            if place is not None:
                shutil.rmtree(place, ignore_errors=True)

    def is_alive(self) -> bool:
        """Answer whether work can be done; True as long as no driver was needed."""
        return self._driver is None or self._is_stopped or self._driver.is_alive()

    def ran_out_of_memory(self) -> bool:
        """Answer whether the driver has died because its memory was not enough."""
        return self._driver is not None and not self._is_stopped and self._driver.ran_out_of_memory()

    def stop(self) -> None:
        """End the driver, if there is one."""
        self._is_stopped = True
        if self._driver is not None and self._is_owner:
            self._driver.stop()

    def _started(self, attempt: Attempt) -> SparkDriver:
        attempt.hold_timeout()
        if self._driver is None:
            attempt.enter(STARTING)
        with self._lock:
            if self._driver is None:
                driver = SparkDriver.start(
                    self._config.spark, self._config.state, on_phase=lambda phase: attempt.enter(f"{STARTING}: {phase}")
                )
                if self._has_code:
                    driver.add_python_path(self._code.place())
                self._driver = driver
        if attempt.phase:
            attempt.enter(RUNNING)
        attempt.phase = RUNNING
        attempt.start_timeout()
        return self._driver

    def _opened(self, attempt: Attempt) -> AbstractContextManager[SparkSession]:
        """Answer a session of the attempt's own; the first one starts Spark."""
        return self._started(attempt).attempt(attempt.work.claim.token, _description(attempt))

    def _secrets(self, attempt: Attempt) -> SecretStore:
        environment = attempt.work.claim.environment
        return SecretStore(self._ledger, environment=environment, key=self._config.secret_key)

    def _query(self, session: SparkSession, attempt: Attempt, task: QueryTask) -> Result:
        from pondage.spark.query.query import run_query

        if task.breaks is not None:
            return inspections.breaks(session, self._code, task, task.breaks)
        if task.compared:
            return inspections.differences(session, task)
        timeout_s = attempt.work.claim.timeout_s
        if timeout_s is None:
            answer = run_query(session, task.sql, task.views, limit=task.limit, fused=task.fused)
        else:
            answer = run_query(session, task.sql, task.views, limit=task.limit, timeout=timeout_s, fused=task.fused)
        return Answered(msgspec.json.encode(answer).decode())

    def _destination(self, attempt: Attempt, task: RippleTask | CompactTask) -> str:
        return snapshot_path(
            self._config.warehouse, dataset=task.dataset_id, run=task.run_id, token=attempt.work.claim.token
        )


def _description(attempt: Attempt) -> str:
    """Answer what Spark's own tools show for the attempt's jobs."""
    work = attempt.work
    if work.component is not None:
        names = ", ".join(member.instance for member in work.component.members)
        return f"{names} of {work.component.job}, run {work.component.run_id}"
    if work.fire is not None:
        return f"{work.fire.graph}, fire {work.fire.fire} of reactor {work.fire.reactor}"
    if work.ripple is None:
        return work.claim.kind if work.query is not None else f"{work.claim.kind} of {work.claim.node}"
    return f"{work.ripple.definition.name}.{work.ripple.ripple.name} of run {work.ripple.run_id}"
