"""Pools: how many executions of a kind may run at once, over the whole deployment. A slot is a row."""

from __future__ import annotations

from collections.abc import Mapping

from pondage.ledger.database.driver import Transaction


def resize(tx: Transaction, sizes: Mapping[str, int]) -> None:
    """Give each pool this many slots. A slot in use above the new size goes when it is freed."""
    for pool, size in sizes.items():
        for slot in range(1, size + 1):
            tx.change("INSERT INTO pool_slots (pool, n) VALUES (:pool, :n) ON CONFLICT DO NOTHING", pool=pool, n=slot)
        tx.change("DELETE FROM pool_slots WHERE pool = :pool AND n > :size AND execution IS NULL", pool=pool, size=size)
        tx.change(
            """INSERT INTO pools (name, size) VALUES (:pool, :size)
               ON CONFLICT (name) DO UPDATE SET size = excluded.size""",
            pool=pool,
            size=size,
        )


def sizes(tx: Transaction) -> dict[str, int]:
    """Answer every pool and how many slots it has."""
    return dict(tx.rows("SELECT name, size FROM pools ORDER BY name", tuple[str, int]))


def free_slot(tx: Transaction, pool: str) -> int | None:
    """Answer a slot that this transaction may take, held for it until it ends; None when the pool is full."""
    return tx.row(
        """SELECT n FROM pool_slots WHERE pool = :pool AND execution IS NULL
           ORDER BY n LIMIT 1 /*lock skip*/""",
        int,
        pool=pool,
    )


def take(tx: Transaction, pool: str, slot: int, execution: int) -> bool:
    """Take a slot for an execution. False when somebody else has it."""
    taken = tx.change(
        """UPDATE pool_slots SET execution = :execution
           WHERE pool = :pool AND n = :n AND execution IS NULL""",
        pool=pool,
        n=slot,
        execution=execution,
    )
    return taken == 1


def free(tx: Transaction, execution: int) -> None:
    """Give back the slot of an execution that was closed; one above the pool's size goes for good."""
    row = tx.row(
        """SELECT s.pool AS pool, s.n AS n, p.size AS size FROM pool_slots s JOIN pools p ON p.name = s.pool
           WHERE s.execution = :execution""",
        tuple[str, int, int],
        execution=execution,
    )
    if row is None:
        return
    pool, n, size = row
    tx.change(
        "UPDATE pool_slots SET execution = NULL WHERE pool = :pool AND n = :n AND execution = :execution",
        pool=pool,
        n=n,
        execution=execution,
    )
    if n > size:
        tx.change("DELETE FROM pool_slots WHERE pool = :pool AND n = :n", pool=pool, n=n)
