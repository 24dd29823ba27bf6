"""Carrying out attempts as plain Python, on the deployed code and on real files of the warehouse."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow
from pyarrow import parquet

from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.executor import Result
from pondage.engine.process.code import DeployedCode
from pondage.engine.process.config import WorkerConfig
from pondage.engine.process.places import code_directory, snapshot_path
from pondage.ledger.kinds.ripple import RippleTask, Written
from pondage.ledger.ledger import Ledger
from pondage.work.failure import Failure
from pondage.work.progress import JobProgress
from pondage.work.snapshot import DataFile, SnapshotContent

SCHEMA = '{"type":"struct","fields":[{"name":"n","type":"long","nullable":true,"metadata":{}}]}'


class PlainExecutor:
    """Runs the author's function with lists for tables."""

    def __init__(self, config: WorkerConfig, ledger: Ledger) -> None:
        self._config = config.engine
        self._code = DeployedCode(ledger, config.code, code_directory(config.engine))

    def execute(self, attempt: Attempt) -> Result:
        task = attempt.work.given(RippleTask)
        function = self._code.pond(task.definition.entry).ripples[task.ripple.name].function
        assert function is not None
        inputs = {name: None if given is None else _rows(given) for name, given in task.inputs.items()}
        inputs |= dict.fromkeys(task.ripple.injects)
        place = self._place(attempt)
        rows = function(**inputs)
        assert isinstance(rows, list)
        place.mkdir(parents=True)
        part = place / "part-0.parquet"
        parquet.write_table(pyarrow.table({"n": rows}), part)
        files = (DataFile(name=part.name, rows=len(rows), bytes=part.stat().st_size),)
        return Written(
            SnapshotContent(path=str(place), files=files, schema=SCHEMA, rows=len(rows), bytes=files[0].bytes)
        )

    def failure(self, error: BaseException) -> Failure:
        return Failure(code=type(error).__name__.upper(), message=str(error))

    def cancel(self, token: str) -> None:
        """Nothing can be cancelled."""

    def progress(self, token: str) -> JobProgress:
        return JobProgress()

    def discard(self, attempt: Attempt) -> None:
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


def _rows(content: SnapshotContent) -> list[object]:
    rows: list[object] = []
    for file in content.files:
        rows += parquet.read_table(Path(content.path) / file.name)["n"].to_pylist()
    return rows
