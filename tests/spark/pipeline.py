"""A deployed project and the worker's part in it, one attempt after the other, on the Spark of all tests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec

from pondage.define.project.durability import Durability
from pondage.define.values.names import PondKey
from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.log import AttemptLog, bound
from pondage.engine.execute.spark_executor import SparkExecutor
from pondage.engine.process.config import WorkerConfig, config_of
from pondage.engine.services.outbox import Outbox
from pondage.kernel.demand.events import Pulse
from pondage.ledger.act import questions, verbs
from pondage.ledger.commit import guarded, polling, work
from pondage.ledger.kinds.failed import Failed
from pondage.ledger.kinds.kind import Ending
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.upkeep import retention
from pondage.ledger.upkeep.retention import Published
from pondage.work.failure import Failure
from tests.engine.projects import deployed_into, write_project


class Pipeline:
    """Everything that happens between a trigger and a published table, without processes of its own."""

    def __init__(self, path: Path, ponds: str, settings: str = '[project]\nname = "tests"\n') -> None:
        self.path = path
        self.project = write_project(path, ponds, settings)
        self.config = config_of(self.project)
        # Without the second between two looks at a quiet Inlet: a test does not wait.
        self.ledger = Ledger.open(self.config.ledger, durability=Durability(probe_s=0.0))
        self.failures: list[Failure] = []
        self.deploy(ponds)
        self.outbox = Outbox(self.ledger, self.config.warehouse, self.config.ledger)

    def deploy(self, ponds: str) -> None:
        """Deploy other Ponds in the place of the ones before, with a worker of their code."""
        (self.path / "ponds.py").write_text(ponds)
        sys.modules.pop("ponds", None)
        self.code = deployed_into(self.ledger, self.project)
        with self.ledger.transaction() as tx:
            self.process = processes.register(
                tx, public_id=f"p-{self.code[:12]}", machine="m", pid=1, pid_started=1, role="worker", code=self.code
            )
        config = WorkerConfig(engine=self.config, public_id="p1", code=self.code, parent=0)
        self.executor = SparkExecutor(config, self.ledger)

    def close(self) -> None:
        self.ledger.close()

    def run(self, pond: str) -> None:
        """Pulse a Pond and do everything that follows, but for the outbox."""
        verbs.send(self.ledger, "main", Pulse(pond=PondKey(f"{pond}@1")))
        while self.attempt():
            pass

    def attempt(self) -> bool:
        held = work.claim_work(
            self.ledger, process=self.process, queues=polling.queues_for(self.ledger, code=self.code),
            token=self.ledger.ids.new("t"), is_alone=True,
        )  # fmt: skip
        if held is None:
            return False
        log = AttemptLog(self.path / ".pondage" / "attempt.log")
        try:
            with bound(log):
                result = self.executor.execute(Attempt(held, log, clock=lambda: 0.0, on_phase=lambda _: None))
        except Exception as error:  # noqa: BLE001 - recorded, as a worker does
            failure = self.executor.failure(error)
            log.write("ERROR", f"{failure.code}: {failure.message}\n{failure.trace or ''}")
            self.failures.append(failure)
            assert guarded.commit(self.ledger, held, Failed(failure), process=self.process)
        else:
            assert isinstance(result, Ending)
            assert guarded.commit(self.ledger, held, result, process=self.process)
        log.close()
        return True

    def rows(self, sql: str, environment: str = "main") -> list[list[Any]]:
        """Answer the rows of a question as `pondage query` prints them."""
        asked = questions.submit(self.ledger, environment, sql, limit=100)
        while (answer := questions.result(self.ledger, asked)) is None:
            assert self.attempt()
        assert answer.result is not None, answer.failure
        found: list[list[Any]] = msgspec.json.decode(answer.result)["rows"]
        return found

    def published(self, pond: str) -> Published:
        with self.ledger.reading() as tx:
            row = tx.row("SELECT id FROM ponds WHERE name = :name AND removed_at IS NULL", name=pond)
            assert row is not None
            found = retention.published(tx, int(str(row["id"])))
        assert found is not None, f"{pond} has never published"
        return found
