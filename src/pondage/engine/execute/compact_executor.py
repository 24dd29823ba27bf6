"""Executions of compactions."""

from __future__ import annotations

from pondage.engine.attempt.attempt import Attempt
from pondage.engine.execute.bench import Bench, KindExecutor, remove_local
from pondage.ledger.kinds.compact import Compacted, CompactTask


class CompactExecutor(KindExecutor):
    """Writes many small files again as few."""

    def execute(self, attempt: Attempt, bench: Bench) -> Compacted:
        """Write them and answer what was written."""
        from pondage.spark.files.changes import write_compacted

        task = attempt.work.given(CompactTask)
        with bench.opened(attempt) as session:
            return Compacted(write_compacted(session, task.table, _destination(attempt, task, bench)))

    def discard(self, attempt: Attempt, bench: Bench) -> None:
        """Remove the few."""
        remove_local(_destination(attempt, attempt.work.given(CompactTask), bench))


def _destination(attempt: Attempt, task: CompactTask, bench: Bench) -> str:
    return bench.destination(attempt, dataset=task.dataset_id, run=task.run_id)
