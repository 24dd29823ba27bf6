"""What a user does with the runs of trees beside what every job has: stop a node or all of it, and clean up."""

from __future__ import annotations

import msgspec

from pondage.errors import LedgerError, NotFound
from pondage.kernel.control.events import Stop
from pondage.ledger.ledger import Ledger
from pondage.ledger.step import advance
from pondage.ledger.tables import history, job_runs
from pondage.ledger.tables.history import Caller


def stop(
    ledger: Ledger, environment: str, public_id: str, node: str | None = None, *, by: Caller | None = None
) -> None:
    """Ask a node, or every node that is not settled, to close its outputs and return; what does not has 30 s.

    Raises `NotFound`, and `LedgerError` when the flow is over.
    """
    with ledger.transaction() as tx:
        run = job_runs.find_flow(tx, environment, public_id)
        if run.ended_at is not None:
            raise LedgerError(f"flow {run.public_id} is over: {run.state}", code="NOT_RUNNING")
        if node is not None and node not in ledger.job(tx, run.definition).shapes:
            raise NotFound(f"flow {run.public_id} has no node {node!r}", hint=f"pondage flow show {run.public_id}")
        history.audit(tx, by, environment=run.environment, verb="flow stop", target=run.public_id, detail=node or "")
        advance.report(tx, ledger, run.actor, process=None, event=Stop(instance=node))


class CleanedUp(msgspec.Struct, frozen=True, kw_only=True):
    """What a clean-up has given up, and when."""

    tables: int
    streams: int
    at: int


def clean_up(ledger: Ledger, environment: str, public_id: str, *, by: Caller | None = None) -> CleanedUp:
    """Let what a flow left between its nodes go now, and answer how much that is.

    What can be extracted stays for its own retention. Raises `NotFound`, and `LedgerError` while the flow runs.
    """
    with ledger.transaction() as tx:
        run = job_runs.find_flow(tx, environment, public_id)
        if run.ended_at is None:
            raise LedgerError(
                f"flow {run.public_id} still runs", hint=f"pondage flow stop {run.public_id}", code="STILL_RUNNING"
            )
        history.audit(tx, by, environment=run.environment, verb="flow cleanup", target=run.public_id)
        tx.change("UPDATE job_runs SET cleaned_at = :now WHERE id = :id AND cleaned_at IS NULL", id=run.id)
        version, streams = ledger.job(tx, run.definition), 0
        for instance, port in tx.rows(
            "SELECT DISTINCT instance, port FROM segments WHERE run = :run", tuple[str, str], run=run.id
        ):
            if version.kept_us(instance, port) is None:
                streams += 1
                # Their files are nobody's from now on, which a vacuum finds.
                tx.change(
                    "DELETE FROM segments WHERE run = :run AND instance = :instance AND port = :port",
                    run=run.id,
                    instance=instance,
                    port=port,
                )
        tables = tx.change(
            "UPDATE run_tables SET tombstoned_at = :now WHERE run = :run AND tombstoned_at IS NULL AND kept_us IS NULL",
            run=run.id,
        )
        return CleanedUp(tables=tables, streams=streams, at=tx.now)
