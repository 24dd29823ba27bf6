"""A stream that leads into a `stop` port: its first row stops whoever it leads to."""

from __future__ import annotations

from pondage.define.types.segment import Segment
from pondage.kernel.control.events import Stop
from pondage.ledger.data.segments import Stream
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue.claims import Claim
from pondage.ledger.step import advance
from pondage.ledger.tables import job_runs


def after_append(tx: Transaction, ledger: Ledger, claim: Claim, stream: Stream, seq: int, entry: Segment) -> None:
    """Send a Stop to those that a segment stops, in the transaction that commits it; its end alone is nothing."""
    assert claim.actor is not None
    if not entry.rows:
        return
    version = ledger.job(tx, job_runs.of_actor(tx, claim.actor).definition)
    stopped = [target for port, target in version.stops(claim.node) if port == stream.port]
    if not stopped or _had_rows(tx, stream, seq):
        return
    for target in stopped:
        advance.report(tx, ledger, claim.actor, process=None, event=Stop(instance=target))


def _had_rows(tx: Transaction, stream: Stream, seq: int) -> bool:
    found = tx.row(
        """SELECT seq FROM segments
           WHERE run = :run AND instance = :instance AND port = :port AND seq < :seq AND rows > 0 LIMIT 1""",
        run=stream.run,
        instance=stream.instance,
        port=stream.port,
        seq=seq,
    )
    return found is not None
