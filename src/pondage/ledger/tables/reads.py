"""The read log: who read which Pond, when, through which door. A statistic, and never what was asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

import msgspec

from pondage.define.values.names import PondKey
from pondage.ledger.database.driver import Transaction, batches, numbered

Door = Literal["query", "api", "page", "read", "sql"]
"""`query`: the command line; `api`: POST /v1/queries; `page`; `read`: notebooks, scripts, files; `sql`: Flight SQL."""
DOORS: tuple[Door, ...] = get_args(Door)
MINUTE_US = 60_000_000
QUARTER = 15
FINE_MINUTES = 7 * 24 * 60
"""For so long each minute has a row of its own; after it a quarter of an hour does."""
DAY_MINUTES = 24 * 60


class ReadKey(NamedTuple):
    """What one row of the log is about; `minute` is counted from 1970."""

    environment: int
    pond: PondKey
    minute: int
    door: Door
    reader: str


class Sum(NamedTuple):
    """How often something was read: how many bytes its tables have, and the ages of what was read, added up."""

    times: int = 0
    bytes: int = 0
    age: int = 0

    def plus(self, other: Sum) -> Sum:
        """Answer both together."""
        return Sum(self.times + other.times, self.bytes + other.bytes, self.age + other.age)


class ReadRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the log. `minute` is that in which it was read, or the first of the quarter of an hour."""

    pond: PondKey
    minute: int
    door: Door
    reader: str
    count: int
    bytes: int
    age: int


def record(tx: Transaction, sums: Mapping[ReadKey, Sum], runs: Iterable[int]) -> frozenset[int]:
    """Add to the log, and note which Runs were read; answer those that nobody had read before."""
    for key, added in sums.items():
        tx.write(
            """INSERT INTO reads (environment, pond, minute, door, reader, count, bytes, age)
               VALUES (:environment, :pond, :minute, :door, :reader, :times, :bytes, :age)
               ON CONFLICT (environment, pond, minute, door, reader) DO UPDATE SET
               count = reads.count + excluded.count, bytes = reads.bytes + excluded.bytes,
               age = reads.age + excluded.age""",
            **key._asdict(),
            **added._asdict(),
        )
    first: set[int] = set()
    for some in batches(sorted(set(runs))):
        marks, values = numbered("run", some)
        unread = tx.rows(f"SELECT id FROM runs WHERE read_at IS NULL AND id IN ({marks}) /*lock*/", int, **values)
        first.update(unread)
    for some in batches(sorted(first)):
        marks, values = numbered("run", some)
        tx.change(f"UPDATE runs SET read_at = :now WHERE read_at IS NULL AND id IN ({marks})", **values)
    return frozenset(first)


def between(tx: Transaction, environment: int, *, first: int, last: int, pond: PondKey | None = None) -> list[ReadRow]:
    """Answer the rows of these minutes, the first and the last among them; of one Pond, or of all."""
    return tx.rows(
        """SELECT pond, minute, door, reader, count, bytes, age FROM reads
           WHERE environment = :environment AND minute >= :first AND minute <= :last
                 AND (:pond = '' OR pond = :pond) ORDER BY minute, pond, door, reader""",
        ReadRow,
        environment=environment,
        first=first,
        last=last,
        pond=pond or "",
    )


def coarsen(tx: Transaction) -> bool:
    """Put one old day of minutes into quarters of an hour; answer whether there may be more."""
    limit = tx.now // MINUTE_US - FINE_MINUTES
    limit -= limit % QUARTER
    oldest = tx.row(
        "SELECT min(minute) AS oldest FROM reads WHERE minute % 15 <> 0 AND minute < :limit", int, limit=limit
    )
    if oldest is None:
        return False
    until = min(limit, oldest - oldest % QUARTER + DAY_MINUTES)
    tx.change(
        """INSERT INTO reads (environment, pond, minute, door, reader, count, bytes, age)
           SELECT environment, pond, minute - minute % 15, door, reader, sum(count), sum(bytes), sum(age)
           FROM reads WHERE minute % 15 <> 0 AND minute < :until
           GROUP BY environment, pond, minute - minute % 15, door, reader
           ON CONFLICT (environment, pond, minute, door, reader) DO UPDATE SET
           count = reads.count + excluded.count, bytes = reads.bytes + excluded.bytes,
           age = reads.age + excluded.age""",
        until=until,
    )
    tx.change("DELETE FROM reads WHERE minute % 15 <> 0 AND minute < :until", until=until)
    return True


def forget(tx: Transaction, *, keep_days: float) -> bool:
    """Delete one day of what is older than that; answer whether there may be more."""
    limit = tx.now // MINUTE_US - int(keep_days * DAY_MINUTES)
    oldest = tx.row("SELECT min(minute) AS oldest FROM reads WHERE minute < :limit", int, limit=limit)
    if oldest is None:
        return False
    tx.change("DELETE FROM reads WHERE minute < :until", until=min(limit, oldest + DAY_MINUTES))
    return True


def totals(tx: Transaction, environment: int) -> Sequence[tuple[PondKey, Door, int, int]]:
    """Answer for each Pond and door how often and how many bytes were read, as far as the log goes back."""
    return tx.rows(
        """SELECT pond, door, CAST(sum(count) AS BIGINT) AS count, CAST(sum(bytes) AS BIGINT) AS bytes
           FROM reads WHERE environment = :environment GROUP BY pond, door ORDER BY pond, door""",
        tuple[PondKey, Door, int, int],
        environment=environment,
    )
