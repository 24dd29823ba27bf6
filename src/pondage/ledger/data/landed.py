"""Files that landed: which lists of them a snapshot needs, and which files are to be taken again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from pondage.ledger.database.driver import Transaction
from pondage.work.snapshot import SnapshotContent


def keep(tx: Transaction, snapshot: int, names: Iterable[str]) -> None:
    """Say that a snapshot needs these lists: they stay as long as it does."""
    for name in names:
        tx.write("INSERT INTO snapshot_lists (snapshot, name) VALUES (:snapshot, :name)", snapshot=snapshot, name=name)


def kept(tx: Transaction, marks: str, names: Mapping[str, str]) -> list[str]:
    """Answer those lists that a snapshot needs whose files are there, or that an open Run has decided to take.

    `marks` are the placeholders of `names`.
    """
    found = tx.rows(
        f"""SELECT l.name AS name FROM snapshot_lists l JOIN snapshots s ON s.id = l.snapshot
            WHERE l.name IN ({marks}) AND s.swept_at IS NULL""",
        str,
        **names,
    )
    decided = tx.rows(
        "SELECT d.value AS value FROM decisions d JOIN runs r ON r.id = d.run WHERE r.ended_at IS NULL", str
    )
    return [*found, *(name for name in names.values() if any(f'"{name}"' in each for each in decided))]


def forget(tx: Transaction, dataset: int, paths: Iterable[str]) -> None:
    """Let files be taken again by the next Run of a Ripple."""
    for path in paths:
        tx.write(
            "INSERT INTO forgotten_files (dataset, path, forgotten_at) VALUES (:dataset, :path, :now)",
            dataset=dataset,
            path=path,
        )


def forgotten(tx: Transaction, dataset: int, *, after: int) -> tuple[int, tuple[str, ...]]:
    """Answer the number of the last wish to take a file again, and the files that were wished for after a number."""
    rows = tx.rows(
        "SELECT id, path FROM forgotten_files WHERE dataset = :dataset AND id > :after ORDER BY id",
        tuple[int, str],
        dataset=dataset,
        after=after,
    )
    return (rows[-1][0] if rows else after), tuple(path for _, path in rows)


class NewestTable(msgspec.Struct, frozen=True, kw_only=True):
    """The newest table of a Ripple, as it was written."""

    ripple: str
    dataset: int
    content: SnapshotContent


def newest(tx: Transaction, pond: int) -> list[NewestTable]:
    """Answer what each Ripple of a Pond gave last, to a Run that is completed or under way."""
    return tx.rows(
        """SELECT d.ripple AS ripple, d.id AS dataset, s.content AS content
           FROM datasets d JOIN snapshots s ON s.id = (
               SELECT o.snapshot FROM run_outputs o JOIN runs r ON r.id = o.run
               WHERE o.pond = d.pond AND o.node = d.ripple AND r.state IN ('completed', 'running')
               ORDER BY o.freshness DESC, o.id DESC LIMIT 1)
           WHERE d.pond = :pond ORDER BY d.ripple""",
        NewestTable,
        pond=pond,
    )
