"""A project whose jobs run for real: a ledger, the worker's executor, and the driver that all Spark tests share."""

from __future__ import annotations

import time
from pathlib import Path

from pondage.cli.client.session import Session
from pondage.cli.files.job import stored_file
from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.log import AttemptLog, bound
from pondage.engine.execute.spark_executor import SparkExecutor
from pondage.engine.process.config import WorkerConfig, config_of
from pondage.ledger.act import jobs
from pondage.ledger.commit import guarded, polling, work
from pondage.ledger.kinds.component import ComponentEnded
from pondage.ledger.kinds.kind import Answered, Work
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.project.project import load_project
from pondage.spark.session.driver import SparkDriver
from pondage.views.jobs.jobs import JobRunDetail, job_run


class JobWorld:
    """Runs job files to their end in this thread, as a worker would."""

    def __init__(self, root: Path, driver: SparkDriver | None = None) -> None:
        self.root = root
        self.project = load_project(root)
        self.ledger = Ledger.open(str(root / "ledger.db"))
        self.session = Session(project=self.project, ledger=self.ledger)
        self._driver = driver
        self._executors: dict[str, SparkExecutor] = {}
        self.logs: list[AttemptLog] = []
        with self.ledger.transaction() as tx:
            self.process = processes.register(
                tx, public_id="p-test", machine="m", pid=1, pid_started=1, role="worker", slots=1
            )

    def run(self, file: str, *, fuses: bool = True, **context: object) -> JobRunDetail:
        """Run a job file to its end."""
        stored, archive = stored_file(self.session.project, self.root / file, fuses=fuses)
        return self.ended(jobs.start_job(self.ledger, "main", stored, context=context, archive=archive))

    def resume(self, run: str, file: str | None = None) -> JobRunDetail:
        """Go on with a failed run, with the job as it is now when its file is given."""
        stored, archive = (None, b"") if file is None else stored_file(self.session.project, self.root / file)
        new = jobs.resume(
            self.ledger, "main", run, job=stored, archive=archive, is_edited=file is not None,
            is_intact=lambda _content: True,
        )  # fmt: skip
        return self.ended(new)

    def ended(self, run: str) -> JobRunDetail:
        """Do all the work that there is, and answer how the run ended."""
        self.work()
        with self.ledger.reading() as tx:
            return job_run(tx, self.ledger, "main", run)

    def work(self) -> None:
        """Do all the work that there is."""
        while self._work():
            pass

    def _work(self) -> bool:
        with self.ledger.reading() as tx:
            codes = [str(row["code"]) for row in tx.rows("SELECT DISTINCT code FROM queues")]
        for code in codes:
            queues = polling.queues_for(self.ledger, code=code)
            token = self.ledger.ids.new("t")
            held = work.claim_work(self.ledger, process=self.process, queues=queues, token=token, is_alone=True)
            if held is not None:
                log = AttemptLog(self.root / "logs" / f"{held.claim.dispatch}.log")
                attempt = Attempt(held, log, clock=time.monotonic, on_phase=lambda _phase: None)
                with bound(log):
                    result = self._executor(code).execute(attempt)
                assert isinstance(result, Answered | ComponentEnded)
                assert guarded.commit(self.ledger, held, result, process=self.process)
                log.close()
                return True
        return False

    def _executor(self, code: str) -> SparkExecutor:
        if code not in self._executors:
            config = WorkerConfig(engine=config_of(self.project), public_id="p-test", code=code, parent=0)
            self._executors[code] = SparkExecutor(config, self.ledger, driver=self._driver)
        return self._executors[code]

    def executor_of(self, held: Work) -> SparkExecutor:
        """Answer the executor for a claimed piece of work."""
        return self._executor(self.code_of(held))

    def code_of(self, held: Work) -> str:
        """Answer the digest of the code that a claimed piece of work needs."""
        with self.ledger.reading() as tx:
            row = tx.row(
                "SELECT q.code AS code FROM dispatches d JOIN queues q ON q.id = d.queue WHERE d.id = :id",
                id=held.claim.dispatch,
            )
        assert row is not None
        return str(row["code"])

    def close(self) -> None:
        """Close the ledger and the logs."""
        for log in self.logs:
            log.close()
        self.ledger.close()


def states(view: JobRunDetail) -> dict[str, str]:
    """Answer the state of each component instance."""
    return {one.name: one.state for one in view.components}
