"""Chains of components for the benchmark `durable`: jobs whose components hand a table on, one to the next."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pondage.ledger.act import jobs
from pondage.ledger.ledger import Ledger
from pondage.plan.job.stored_job import StoredJob
from tests.ledger.jobs import job


def chain(length: int, code: str) -> StoredJob:
    """A job of so many components in one line, which needs this code; none of them are fused."""
    calls = "".join(f"  - {{name: c{number}, type: transform}}\n" for number in range(1, length))
    edges = "".join(f"    - c{number}.main -> c{number + 1}.input\n" for number in range(length - 1))
    text = f"job: {{name: chain}}\ncomponents:\n  - {{name: c0, type: source}}\n{calls}connections:\n  data:\n{edges}"
    return msgspec.structs.replace(job(text, fuses=False), archive=code)


class Chains:
    """Runs of one job, one for each worker, again and again."""

    def __init__(
        self, ledger: Ledger, *, chains: int, length: int, code: str, require_workers: Callable[[], None]
    ) -> None:
        """`require_workers` raises when a worker has ended: then nothing would ever be done."""
        self._ledger = ledger
        self._chains = chains
        self._job = chain(length, code)
        self._changes = ledger.driver.changes()
        self._require_workers = require_workers

    def run(self) -> None:
        """Start every chain, and wait until all are done."""
        for _ in range(self._chains):
            jobs.start_job(self._ledger, "main", self._job)
        while self._is_busy():
            self._require_workers()
            self._changes.wait(0.5)

    def _is_busy(self) -> bool:
        with self._ledger.reading() as tx:
            return tx.row("SELECT 1 AS yes FROM job_runs WHERE ended_at IS NULL LIMIT 1") is not None
