"""An executor without Spark: it calls the author's function with lists and writes a file that says who wrote it."""

from __future__ import annotations

import inspect
import json
import os
import shutil
from pathlib import Path
from typing import Any

from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.executor import Result
from pondage.engine.process.code import DeployedCode
from pondage.engine.process.config import WorkerConfig
from pondage.engine.process.places import code_directory, snapshot_path
from pondage.ledger.kinds.ripple import RippleTask, Written
from pondage.ledger.ledger import Ledger
from pondage.work.component import ComponentTask
from pondage.work.failure import Failure
from pondage.work.progress import JobProgress
from pondage.work.snapshot import DataFile, SnapshotContent

SCHEMA = '{"type":"struct","fields":[{"name":"n","type":"long","nullable":true,"metadata":{}}]}'
PADDING = 64 * 1024
"""Large enough to hit a limit on the size of files, as a full disk would."""


class MarkingExecutor:
    """Does the work of an attempt in plain Python, on the deployed code and on real files of the warehouse."""

    def __init__(self, config: WorkerConfig, ledger: Ledger) -> None:
        self._config = config.engine
        self._code = DeployedCode(ledger, config.code, code_directory(config.engine))
        self._ledger = ledger

    def execute(self, attempt: Attempt) -> Result:
        if isinstance(attempt.work.task, ComponentTask):
            return self._components(attempt)
        task = attempt.work.given(RippleTask)
        function = self._code.pond(task.definition.entry).ripples[task.ripple.name].function
        assert function is not None
        inputs: dict[str, object] = {
            name: None if given is None else _rows(given) for name, given in task.inputs.items()
        }
        if "spark" in inspect.signature(function).parameters:
            inputs["spark"] = None
        rows = function(**inputs)
        place = self._place(attempt)
        place.mkdir(parents=True)
        part = place / "part-0.json"
        with part.open("w") as file:
            json.dump({"token": attempt.token, "rows": rows, "padding": "x" * PADDING}, file)
            file.flush()
            os.fsync(file.fileno())
        files = (DataFile(name=part.name, rows=len(rows), bytes=part.stat().st_size),)
        return Written(
            SnapshotContent(path=str(place), files=files, schema=SCHEMA, rows=len(rows), bytes=files[0].bytes)
        )

    def _components(self, attempt: Attempt) -> Result:
        # Imported here: whoever runs no job starts without it.
        from pondage.engine.execute.bench import Bench
        from pondage.engine.execute.component_executor import ComponentExecutor
        from pondage.engine.execute.lineage import LineageKeeper

        lineage = LineageKeeper(self._ledger)
        bench = Bench(config=self._config, ledger=self._ledger, code=self._code, lineage=lineage, opened=_no_spark)
        return ComponentExecutor().execute(attempt, bench)

    def failure(self, error: BaseException) -> Failure:
        return Failure(code=type(error).__name__.upper(), message=str(error))

    def cancel(self, token: str) -> None:
        """Nothing can be cancelled."""

    def progress(self, token: str) -> JobProgress:
        return JobProgress()

    def discard(self, attempt: Attempt) -> None:
        if not isinstance(attempt.work.task, ComponentTask):
            shutil.rmtree(self._place(attempt), ignore_errors=True)

    def ran_out_of_memory(self) -> bool:
        return False

    def is_alive(self) -> bool:
        return True

    def stop(self) -> None:
        """There is nothing to stop."""

    def _place(self, attempt: Attempt) -> Path:
        task = attempt.work.given(RippleTask)
        return Path(
            snapshot_path(self._config.warehouse, dataset=task.dataset_id, run=task.run_id, token=attempt.token)
        )


def _no_spark() -> Any:
    raise AssertionError("the jobs of a chaos run need no Spark")


def _rows(content: SnapshotContent) -> list[object]:
    rows: list[object] = []
    for file in content.files:
        rows += json.loads((Path(content.path) / file.name).read_text())["rows"]
    return rows
