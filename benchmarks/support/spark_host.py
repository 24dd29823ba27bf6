"""Pondage in this process: a deployed project, and the shipped worker on a JVM that hand-written scripts use too."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pondage.define.values.names import PondKey
from pondage.engine.execute.spark_executor import SparkExecutor
from pondage.engine.process.config import WorkerConfig, config_of
from pondage.engine.worker.patient_calls import Aside
from pondage.engine.worker.process import Worker
from pondage.kernel.demand.events import Event, Force, Pulse
from pondage.ledger.act import verbs
from pondage.ledger.data import snapshots
from pondage.project.project import load_project
from pondage.work.snapshot import SnapshotContent
from tests.engine.projects import deployed_into

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROJECT = Path(__file__).parent / "spark_project"
_LOOK_S = 1.0
_PATIENCE_S = 600.0


class SparkHost:
    """The project at work in `folder`, with as many events as given, in full and small."""

    def __init__(self, folder: Path, events: int, small: int) -> None:
        shutil.copytree(PROJECT, folder / "project", ignore=shutil.ignore_patterns("__pycache__", "__init__.py"))
        root = folder / "project"
        (root / "size.py").write_text(f"EVENTS = {events}\nSMALL = {small}\n")
        (root / "pondage.toml").write_text('[project]\nname = "bench"\n[spark]\nmemory = "3g"\n')
        project = load_project(root)
        config = config_of(project)
        self.ledger = config.open_ledger()
        code = deployed_into(self.ledger, project)
        worker = WorkerConfig(engine=config, public_id=self.ledger.ids.new("p"), code=code, parent=0)
        self._worker = Worker(worker, self.ledger, Aside(SparkExecutor(worker, self.ledger)))
        self._thread = threading.Thread(target=self._worker.run, name="worker")
        self._thread.start()

    def session(self) -> SparkSession:
        """Answer a session of a script in the worker's own JVM, once that has started."""
        from pyspark.sql import SparkSession

        return SparkSession.builder.getOrCreate().newSession()

    def cpu_s(self) -> float:
        """Answer how long processors have worked for this process and for its JVM so far."""
        from pyspark.sql import SparkSession

        pid = SparkSession.builder.getOrCreate()._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return time.process_time() + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def pulse(self, pond: str) -> float:
        """Bring a Pond up to date with now and answer how long that took."""
        return self._until_completed(pond, Pulse(pond=PondKey(f"{pond}@1")))

    def force(self, pond: str) -> float:
        """Compute a Pond anew from what its Sources have published, and answer how long that took."""
        return self._until_completed(pond, Force(pond=PondKey(f"{pond}@1")))

    def output(self, pond: str, ripple: str) -> SnapshotContent:
        """Answer what readers of a Ripple see."""
        with self.ledger.reading() as tx:
            row = tx.row("SELECT max(r.id) AS id FROM runs r JOIN ponds p ON p.id = r.pond "
                         "WHERE p.name = :pond AND r.state = 'completed'", pond=pond)  # fmt: skip
            assert row is not None and isinstance(row["id"], int), f"{pond} has published nothing"  # noqa: PT018
            snapshot = snapshots.outputs(tx, row["id"])[ripple].snapshot
            return snapshots.load(tx, [snapshot])[snapshot].content

    def close(self) -> None:
        """Stop the worker and its JVM."""
        self._worker.drain()
        self._thread.join()
        self.ledger.close()

    def _until_completed(self, pond: str, event: Event) -> float:
        before = self._completed(pond)
        changes = self.ledger.driver.changes()
        began = time.perf_counter()
        verbs.send(self.ledger, "main", event)
        try:
            # Looking all the time would take the processor from whom it looks at.
            while self._completed(pond) == before:
                assert time.perf_counter() - began < _PATIENCE_S, f"{pond} did not complete"
                assert self._failure() is None, self._failure()
                changes.wait(_LOOK_S)
            return time.perf_counter() - began
        finally:
            changes.close()

    def _completed(self, pond: str) -> object:
        with self.ledger.reading() as tx:
            row = tx.row("SELECT count(*) AS n FROM runs r JOIN ponds p ON p.id = r.pond "
                         "WHERE p.name = :pond AND r.state = 'completed'", pond=pond)  # fmt: skip
        return None if row is None else row["n"]

    def _failure(self) -> object:
        with self.ledger.reading() as tx:
            row = tx.row("SELECT error FROM runs WHERE state = 'failed'")
        return None if row is None else row["error"]
