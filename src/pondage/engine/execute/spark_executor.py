"""Carrying out attempts on Spark. The driver is started by the first attempt that needs it, and only once."""

from __future__ import annotations

import os
import threading
from collections import ChainMap
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import msgspec

from pondage.connect.veil import veil_file, veiled
from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.executor import Result
from pondage.engine.attempt.progress import MOST_STAGES, summary_text
from pondage.engine.execute.bench import Bench, KindExecutor
from pondage.engine.execute.compact_executor import CompactExecutor
from pondage.engine.execute.component_executor import ComponentExecutor
from pondage.engine.execute.fire_executor import FireExecutor
from pondage.engine.execute.lineage import LineageKeeper
from pondage.engine.execute.query_executor import QueryExecutor
from pondage.engine.execute.ripple_executor import RippleExecutor
from pondage.engine.execute.stream_executor import StreamExecutor
from pondage.engine.execute.trial_executors import InferExecutor, SampleExecutor
from pondage.engine.process.code import DeployedCode
from pondage.engine.process.config import WorkerConfig
from pondage.engine.process.places import code_directory
from pondage.engine.process.store import spark_settings
from pondage.errors import PondageError
from pondage.ledger.kinds.compact import CompactKind
from pondage.ledger.kinds.component import ComponentKind
from pondage.ledger.kinds.fire import FireKind
from pondage.ledger.kinds.infer import InferKind
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.query import QueryKind
from pondage.ledger.kinds.ripple import RippleKind
from pondage.ledger.kinds.sample import SampleKind
from pondage.ledger.kinds.stream import StreamKind
from pondage.ledger.ledger import Ledger
from pondage.spark.session.driver import SparkDriver
from pondage.work.failure import Failure, RuleFailure
from pondage.work.progress import JobProgress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STARTING = "starting spark"
RUNNING = "running"
EXECUTORS: dict[str, KindExecutor] = {
    RippleKind.name: RippleExecutor(),
    ComponentKind.name: ComponentExecutor(),
    FireKind.name: FireExecutor(),
    StreamKind.name: StreamExecutor(),
    QueryKind.name: QueryExecutor(),
    SampleKind.name: SampleExecutor(),
    InferKind.name: InferExecutor(),
    CompactKind.name: CompactExecutor(),
}
"""Who does the work of each kind."""


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
        self._code = code or DeployedCode(ledger, config.code, code_directory(config.engine))
        self._is_owner = is_owner
        self._has_code = bool(config.code)
        self._bench = Bench(
            config=self._config,
            ledger=ledger,
            code=self._code,
            lineage=LineageKeeper(ledger),
            opened=self._opened,
            variables=ChainMap(dict(config.variables), os.environ),
        )
        self._driver = driver
        self._lock = threading.Lock()
        self._is_stopped = False

    def execute(self, attempt: Attempt) -> Result:
        """Have the work of an attempt done by the executor of its kind."""
        try:
            return EXECUTORS[attempt.work.claim.kind].execute(attempt, self._bench)
        finally:
            self._sum_up(attempt)

    def _sum_up(self, attempt: Attempt) -> None:
        """Keep what Spark did for people who look at the Run later."""
        if self._driver is not None and attempt.work.task.has_summary:
            attempt.summary = summary_text(self._driver.stages(attempt.token, most=MOST_STAGES))

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
        return _with_rules(failure, error)

    def cancel(self, token: str) -> None:
        """Stop the jobs that the attempt runs now."""
        if self._driver is not None:
            self._driver.cancel(token)

    def progress(self, token: str) -> JobProgress:
        """Answer how far the attempt's jobs are."""
        return JobProgress() if self._driver is None else self._driver.progress(token)

    def discard(self, attempt: Attempt) -> None:
        """Remove what the attempt wrote; on another file system it is left to `vacuum`."""
        EXECUTORS[attempt.work.claim.kind].discard(attempt, self._bench)

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
                settings = spark_settings(self._config, self._bench.ledger, self._bench.variables)
                driver = SparkDriver.start(
                    settings, self._config.state, on_phase=lambda phase: attempt.enter(f"{STARTING}: {phase}")
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
        return self._started(attempt).attempt(attempt.work.claim.token, _title(attempt.work))


def _title(work: Work) -> str:
    """Answer what Spark's own tools show for the attempt's jobs."""
    return work.task.title or f"{work.claim.kind} of {work.claim.node}"


def _with_rules(failure: Failure, error: BaseException) -> Failure:
    """Answer the same failure with the results of all rules, when rules were broken."""
    from pondage.spark.rules.expectations import ExpectationFailed

    if not isinstance(error, ExpectationFailed):
        return failure
    return RuleFailure(
        **msgspec.structs.asdict(failure),
        results=error.results,
        rejected=None if error.written is None else error.written.plain,
    )
