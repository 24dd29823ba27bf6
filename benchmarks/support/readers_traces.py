"""Five kinds of readers over five weeks, each made up from one seed: none of them was recorded from people.

A reader is a time after the first Monday's midnight in Berlin, by the clock on the wall, and the popularity of what is
read (0: the most). Four weeks are there to learn from; the fifth, which follows a change to summer time, counts.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from pondage.simulate.reads import MINUTE, ReadLine, read_log

SECOND = 1_000_000
WEEK_US = 7 * 86_400 * SECOND
BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2026, 3, 2)  # noqa: DTZ001 - the clock on the wall of whoever reads
WEEKS = 5
WORKDAYS = [day for day in range(7 * WEEKS) if day % 7 < 5]
RANKS = 20

Read = tuple[int, int]
"""When (microseconds UTC), and the rank of what is read."""


def _at(day: int, hour: float, zone: ZoneInfo = BERLIN) -> int:
    local = (MONDAY + timedelta(days=day, seconds=round(hour * 3600))).replace(tzinfo=zone)
    return int(local.timestamp()) * SECOND


def _viewing(chance: random.Random, day: int, begin: float, end: float, rank: int, zone: ZoneInfo) -> Iterator[Read]:
    """Somebody has a dashboard open that asks every ten minutes; people switch tabs, so now and then it does not."""
    at = begin
    while at < end:
        yield _at(day, at, zone), rank
        at += (600 * (1 + (chance.random() < 0.15)) + chance.uniform(-20, 20)) / 3600


def office(chance: random.Random) -> Iterator[Read]:
    """Six dashboards in office hours, from Monday to Friday; one day in twelve somebody is away."""
    for day in WORKDAYS:
        for rank in (0, 0, 0, 1, 1, 2):
            if chance.random() < 1 / 12:
                continue
            comes, lunch, goes = chance.uniform(7.5, 9.5), chance.uniform(11.7, 12.6), chance.uniform(16.0, 18.2)
            yield from _viewing(chance, day, comes, lunch, rank, BERLIN)
            yield from _viewing(chance, day, lunch + chance.uniform(0.6, 1.1), goes, rank, BERLIN)


def analyst(chance: random.Random) -> Iterator[Read]:
    """An analyst who asks in bursts, up to five on a workday, when it occurs to him."""
    for day in WORKDAYS:
        for _ in range(chance.randint(0, 5)):
            hour = chance.uniform(9.0, 17.5)
            for _ in range(chance.randint(3, 8)):
                hour += chance.expovariate(15)
                yield _at(day, hour), min(int(chance.paretovariate(0.9)) - 1, RANKS - 1)


def nightly(chance: random.Random) -> Iterator[Read]:
    """Two reports at six in the morning, every day; whoever makes them is some seconds late."""
    for day in range(7 * WEEKS):
        for rank in (0, 1):
            yield _at(day, 6 + rank / 12 + chance.uniform(0, 30) / 3600), rank


def zones(chance: random.Random) -> Iterator[Read]:
    """Two people each in Singapore, Berlin and New York, in the office hours of their own clocks."""
    for day in WORKDAYS:
        for zone in (ZoneInfo("Asia/Singapore"), BERLIN, ZoneInfo("America/New_York")):
            for rank in (0, 1):
                if chance.random() >= 1 / 12:
                    comes, goes = chance.uniform(8.5, 9.5), chance.uniform(16.5, 18.0)
                    yield from _viewing(chance, day, comes, goes, rank, zone)


ABANDONED, FOUND = 16, 31
"""The Wednesday of the third week, after which nobody looks, and the Thursday of the fifth, when one does again."""


def abandoned(chance: random.Random) -> Iterator[Read]:
    """A dashboard that one person looks at on workdays, until the third week; in the fifth it is found again."""
    for day in WORKDAYS:
        if day <= ABANDONED or day >= FOUND:
            comes = chance.uniform(8.5, 9.3) if day != FOUND else 10.6
            yield from _viewing(chance, day, comes, chance.uniform(16.0, 17.5), 0, BERLIN)


KINDS: dict[str, tuple[int, Callable[[random.Random], Iterator[Read]]]] = {
    "office dashboards": (20260302, office),
    "analyst in bursts": (20260303, analyst),
    "nightly report": (20260304, nightly),
    "team over three zones": (20260305, zones),
    "abandoned dashboard": (20260306, abandoned),
}
"""Each kind with its seed."""

START = _at(0, 0)
COUNTED = _at(28, 0)
END = _at(35, 0)


FILE = "PONDAGE_BENCH_READS"
"""The variable that names a file of real reads, as `pondage readers --json` writes it."""


def kinds() -> list[str]:
    """Answer the kinds of readers, with those of a file where one is given."""
    given = os.environ.get(FILE)
    return [*KINDS, *([] if given is None else [Path(given).name])]


def make(kind: str) -> list[Read]:
    """Make the readers of a kind, in the order of time. Nobody reads before the first Monday or after the last week."""
    if kind not in KINDS:
        return logged(read_log(Path(os.environ[FILE])))
    seed, readers = KINDS[kind]
    return sorted(each for each in readers(random.Random(seed)) if START <= each[0] < END)


def logged(lines: Sequence[ReadLine]) -> list[Read]:
    """Answer real reads, moved by whole weeks so that the last of them falls into the week that counts.

    The Pond that was read most is the most popular of the graph, and so on.
    """
    counts = Counter(line.pond for line in lines)
    ranks = {pond: rank for rank, (pond, _) in enumerate(counts.most_common())}
    moved = (END - 1 - max(line.minute for line in lines) * MINUTE) // WEEK_US * WEEK_US
    reads = ((line.minute * MINUTE + moved, min(ranks[line.pond], RANKS - 1)) for line in lines)
    return sorted(each for each in reads if START <= each[0] < END)
