"""Rows of secrets. What is in them was encrypted before it came here; the ledger never sees a key or a clear text."""

from __future__ import annotations

import msgspec

from pondage.ledger.database.driver import Transaction


class SecretRow(msgspec.Struct, frozen=True, kw_only=True):
    """That a secret exists, and since when it has its value."""

    name: str
    changed_at: int


def put(tx: Transaction, *, environment: int, name: str, sealed: bytes) -> bool:
    """Write a sealed value; answer whether the name is new."""
    is_new = sealed_value(tx, environment=environment, name=name) is None
    tx.write(
        """INSERT INTO secrets (environment, name, sealed, changed_at) VALUES (:environment, :name, :sealed, :now)
           ON CONFLICT (environment, name) DO UPDATE SET sealed = excluded.sealed, changed_at = excluded.changed_at""",
        environment=environment,
        name=name,
        sealed=sealed,
    )
    return is_new


def remove(tx: Transaction, *, environment: int, name: str) -> bool:
    """Delete a secret; answer whether there was one."""
    return (
        tx.change(
            "DELETE FROM secrets WHERE environment = :environment AND name = :name", environment=environment, name=name
        )
        == 1
    )


def names(tx: Transaction, environment: int) -> list[SecretRow]:
    """Answer the names of all secrets of an environment, never a value."""
    return tx.rows(
        "SELECT name, changed_at FROM secrets WHERE environment = :environment ORDER BY name",
        SecretRow,
        environment=environment,
    )


def sealed_value(tx: Transaction, *, environment: int, name: str) -> bytes | None:
    """Answer the sealed value of a secret, None when there is none."""
    return tx.row(
        "SELECT sealed FROM secrets WHERE environment = :environment AND name = :name",
        bytes,
        environment=environment,
        name=name,
    )
