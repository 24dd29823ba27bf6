"""Code archives, by their digest."""

from __future__ import annotations

from pondage.errors import LedgerError
from pondage.ledger.database.driver import Transaction


def store_archive(tx: Transaction, digest: str, archive: bytes) -> None:
    """Write code once, however often it is stored."""
    tx.change(
        "INSERT INTO archives (digest, data, created_at) VALUES (:digest, :data, :now) ON CONFLICT DO NOTHING",
        digest=digest,
        data=archive,
    )


def stored_archive(tx: Transaction, digest: str) -> bytes:
    """Answer a code archive; raises `LedgerError` when it is not there."""
    row = tx.row("SELECT data FROM archives WHERE digest = :digest", digest=digest)
    if row is None or not isinstance(row["data"], bytes):
        raise LedgerError(f"code archive {digest[:12]} is not in the ledger", code="NO_ARCHIVE")
    return row["data"]
