"""Who reads: by which door, when, how old what they read was; and the Runs of which nothing was read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from pondage.define.values.names import PondKey
from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables import reads
from pondage.ledger.tables.reads import MINUTE_US, Door, ReadRow
from pondage.views import find
from pondage.views.ponds.unread import UnreadRuns, unread

HOUR_US = 60 * MINUTE_US
DAY_US = 24 * HOUR_US
STRIP_HOURS = 7 * 24


class DoorReader(msgspec.Struct, frozen=True, kw_only=True):
    """One reader at one door: how often he read, and when last."""

    reader: str
    door: Door
    reads: int
    last_at: int


class PondReaders(msgspec.Struct, frozen=True, kw_only=True):
    """Who reads a Pond. `week` has the reads of each hour of the last seven days, the newest hour last; `age_us` is the
    mean age of what was read."""

    pond: PondKey
    reads: int
    bytes: int
    age_us: int
    last_at: int
    week: tuple[int, ...]
    readers: tuple[DoorReader, ...]


class ReadersView(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of an environment since a moment. `unread` is by Pond, the most expensive first; `reads` are the
    rows of the log, if they were asked for: what happened in a minute, later in a quarter of an hour."""

    environment: str
    at: int
    since: int
    week_from: int
    ponds: tuple[PondReaders, ...]
    unread: tuple[UnreadRuns, ...]
    reads: tuple[ReadRow, ...] = ()


def readers(
    tx: Transaction, environment: str, *, since_us: int, pond: PondKey | None = None, has_rows: bool = False
) -> ReadersView:
    """Answer what was read in the last so many microseconds, of one Pond or of all."""
    found = find.environment_id(tx, environment)
    since = max(0, tx.now - since_us)
    week_from = (tx.now // HOUR_US - STRIP_HOURS + 1) * HOUR_US
    first = min(since, max(0, week_from)) // MINUTE_US
    rows = reads.between(tx, found, first=first, last=tx.now // MINUTE_US, pond=pond)
    by_pond: dict[PondKey, list[ReadRow]] = defaultdict(list)
    for row in rows:
        by_pond[row.pond].append(row)
    ponds = [_of_pond(key, some, since=since, week_from=week_from) for key, some in by_pond.items()]
    return ReadersView(
        environment=environment,
        at=tx.now,
        since=since,
        week_from=week_from,
        ponds=tuple(sorted(ponds, key=lambda each: (-each.reads, each.pond))),
        unread=tuple(each for each in unread(tx, found, since=since) if pond is None or each.pond == pond),
        reads=tuple(row for row in rows if row.minute >= since // MINUTE_US) if has_rows else (),
    )


def _of_pond(pond: PondKey, rows: Sequence[ReadRow], *, since: int, week_from: int) -> PondReaders:
    week = [0] * STRIP_HOURS
    for row in rows:
        hour = (row.minute * MINUTE_US - week_from) // HOUR_US
        if 0 <= hour < STRIP_HOURS:
            week[hour] += row.count
    rows = [row for row in rows if row.minute >= since // MINUTE_US]
    count = sum(row.count for row in rows)
    by_reader: dict[tuple[str, Door], list[ReadRow]] = defaultdict(list)
    for row in rows:
        by_reader[row.reader, row.door].append(row)
    people = [
        DoorReader(
            reader=reader,
            door=door,
            reads=sum(row.count for row in some),
            last_at=max(row.minute for row in some) * MINUTE_US,
        )
        for (reader, door), some in by_reader.items()
    ]
    return PondReaders(
        pond=pond,
        reads=count,
        bytes=sum(row.bytes for row in rows),
        age_us=sum(row.age for row in rows) // max(1, count),
        last_at=max((row.minute for row in rows), default=0) * MINUTE_US,
        week=tuple(week),
        readers=tuple(sorted(people, key=lambda each: (-each.reads, each.reader, each.door))),
    )
