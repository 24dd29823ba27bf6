"""Polling, claiming, looking and tidying up on a ledger of years: a million finished executions, 100,000 Ponds.

What is visited (rows on PostgreSQL, steps of SQLite's machine) and how long it takes; beside each, the same question to
a new ledger. A fifth of the Runs is older than retention, and `vacuum` takes that out: each of its transactions must be
short. PONDAGE_BENCH_FINISHED asks for fewer executions.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.run import Row
from pondage.engine.services.vacuum import READER_GRACE_S, vacuum
from pondage.kernel.demand.events import Pulse
from pondage.ledger.database.clock import FakeClock
from pondage.ledger.database.driver import Driver, Transaction
from pondage.ledger.database.postgres import PostgresDriver
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.ledger.ledger import Ledger
from tests.ledger.growth import DAY, Size, grow, used
from tests.ledger.harness import SECOND, World
from tests.ledger.test_costs import POLLED, Asked, DriverFactory, claim_and_commit, measured
from tests.services.postgres import PostgresServer

FINISHED = int(os.environ.get("PONDAGE_BENCH_FINISHED", "1000000"))
PONDS = FINISHED // 10
LATER = FINISHED // 10
OLD = FINISHED // 5
TIMES = 15

ASKED: dict[str, Asked] = {
    name: POLLED[name]
    for name in (
        "look for work", "codes with work", "timer", "leases", "stale processes", "status", "status of one Pond",
        "runs",
    )
}  # fmt: skip


def run() -> list[Row]:
    """Ask the same of a new ledger and of an old one, on both databases."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, _postgres() as server:
        factories: dict[str, DriverFactory] = {
            "SQLite": lambda name, clock: SqliteDriver(Path(folder) / f"{name}.db", clock),
            "PostgreSQL": lambda name, clock: _schema(server, name, clock),
        }
        for database, make in factories.items():
            rows += measure(database, make)
    return rows


def measure(database: str, make: DriverFactory) -> list[Row]:
    """Answer the rows of one database."""

    def world(name: str, size: Size) -> World:
        made = used(World(lambda clock: make(name, clock)))
        grow(made, size)
        return made

    new = world("new", Size())
    old = world("old", Size(finished=FINISHED, young=FINISHED - OLD, later=LATER))
    wide = world("wide", Size(ponds=PONDS))
    rows = _compared(database, new, {f"{FINISHED:,} executions": old, f"{PONDS:,} Ponds": wide})
    rows += _emptied(database, new, old)
    for each in (new, old, wide):
        each.ledger.close()
    return rows


def _compared(database: str, new: World, grown: dict[str, World]) -> list[Row]:
    unit = "steps" if database == "SQLite" else "rows"
    rows = []
    for name, asked in {**ASKED, "claim and commit": claim_and_commit}.items():
        visited = measured(new, asked).visited
        for what, world in grown.items():
            meter = measured(world, asked)
            assert meter.scans == [], meter.scans
            rows.append(_row(f"{database}: {name}, {what}", meter.visited, visited, unit, 1))
        taken = _timed(new, asked)
        rows += [
            _row(f"{database}: {name}, {what}", _timed(world, asked), taken, "ms", TIMES)
            for what, world in grown.items()
        ]
    return rows


def _row(what: str, ours: float, anchor: float, unit: str, n: int) -> Row:
    return Row(what=what, ours=ours, against="a new ledger", anchor=anchor, unit=unit, n=n)


def _timed(world: World, asked: Asked) -> float:
    """Answer the median in milliseconds. Before a claim, something is asked for, which is not counted."""
    taken = []
    for _ in range(TIMES):
        if asked is claim_and_commit:
            world.clock.time += SECOND
            world.send(Pulse(pond="orders@1"))
        began = time.perf_counter()
        asked(world.ledger)
        taken.append((time.perf_counter() - began) * 1000)
    return round(statistics.median(taken), 3)


def _emptied(database: str, new: World, old: World) -> list[Row]:
    """Vacuum what is old; of the new ledger everything is, once it has grown older."""
    new.clock.time += 1_000 * DAY
    small, _, _ = _vacuumed(new)
    big, runs, seconds = _vacuumed(old)
    assert OLD * 0.99 < runs < OLD + 100, f"{runs} Runs went"
    what = f"{database}: vacuum takes out {runs:,} of {FINISHED:,} Runs"
    return [
        _row(f"{what}, median transaction", big.median_ms, small.median_ms, "ms", len(big.taken)),
        _row(f"{what}, longest transaction", big.longest_ms, small.longest_ms, "ms", len(big.taken)),
        Row(what=f"{what}, Runs a second", ours=round(runs / seconds), against="", anchor=0, unit="/s", n=1),
    ]


def _vacuumed(world: World) -> tuple[_Stopwatch, int, float]:
    """Mark and sweep, a grace apart; answer the times, how many Runs went, and the seconds."""
    watch = _Stopwatch(world.ledger.driver)
    ledger = Ledger(watch, ids=world.ledger.ids, durability=world.ledger.durability)  # type: ignore[arg-type]
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as warehouse:
        runs = vacuum(ledger, warehouse).runs
        world.clock.time += int(READER_GRACE_S * 2 * SECOND)
        runs += vacuum(ledger, warehouse).runs
    return watch, runs, time.perf_counter() - began


class _Stopwatch:
    """A driver that measures how long each transaction that writes was open: so long may it keep others waiting."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self.taken: list[float] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._driver, name)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        began = time.perf_counter()
        with self._driver.transaction() as tx:
            yield tx
        self.taken.append((time.perf_counter() - began) * 1000)

    @property
    def median_ms(self) -> float:
        return round(statistics.median(self.taken), 3)

    @property
    def longest_ms(self) -> float:
        return round(max(self.taken), 3)


@contextmanager
def _postgres() -> Iterator[PostgresServer]:
    server = PostgresServer(is_quick=False)
    try:
        yield server
    finally:
        server.close()


def _schema(server: PostgresServer, name: str, clock: FakeClock) -> Driver:
    server.new_schema(name)
    return PostgresDriver(server.url, schema=name, clock=clock)
