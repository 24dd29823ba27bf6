"""What polling, claiming and looking visit on a ledger of years: a million finished executions, 100,000 Ponds.

Rows on PostgreSQL (EXPLAIN ANALYZE), steps of SQLite's machine; beside each, the same question to a new ledger.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.run import Row
from pondage.ledger.clock import FakeClock
from pondage.ledger.driver import Driver
from pondage.ledger.postgres import PostgresDriver
from pondage.ledger.sqlite import SqliteDriver
from tests.ledger.growth import Size, grow, used
from tests.ledger.harness import World
from tests.ledger.test_costs import POLLED, Asked, DriverFactory, claim_and_commit, measured
from tests.services.postgres import PostgresServer

FINISHED = 1_000_000
PONDS = 100_000
LATER = 100_000

ASKED: dict[str, Asked] = {
    name: POLLED[name]
    for name in ("look for work", "codes with work", "timer", "leases", "stale processes", "status", "runs")
}


def run() -> list[Row]:
    """Ask the same of a new ledger and of an old one, on both databases."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, _postgres() as server:
        factories: dict[str, DriverFactory] = {
            "SQLite": lambda name, clock: SqliteDriver(Path(folder) / f"{name}.db", clock, synchronous="OFF"),
            "PostgreSQL": lambda name, clock: _schema(server, name, clock),
        }
        for database, make in factories.items():
            rows += _compared(database, make)
    return rows


def _compared(database: str, make: DriverFactory) -> list[Row]:
    unit = "steps" if database == "SQLite" else "rows"
    new, old, wide = (used(World(lambda clock, name=name: make(name, clock))) for name in ("new", "old", "wide"))  # type: ignore[misc]
    grow(new, Size())
    grow(old, Size(finished=FINISHED, later=LATER))
    grow(wide, Size(ponds=PONDS))
    rows = []
    for name, asked in {**ASKED, "claim and commit": claim_and_commit}.items():
        anchor = measured(new, asked).visited
        grown = {f"{FINISHED:,} executions": old} | ({} if name == "status" else {f"{PONDS:,} Ponds": wide})
        for what, world in grown.items():
            meter = measured(world, asked)
            assert meter.scans == [], meter.scans
            rows.append(
                Row(
                    what=f"{database}: {name}, {what}", ours=meter.visited, against="a new ledger", anchor=anchor,
                    unit=unit, n=1,
                )
            )  # fmt: skip
    for world in (new, old, wide):
        world.ledger.close()
    return rows


@contextmanager
def _postgres() -> Iterator[PostgresServer]:
    server = PostgresServer()
    try:
        yield server
    finally:
        server.close()


def _schema(server: PostgresServer, name: str, clock: FakeClock) -> Driver:
    server.new_schema(name)
    return PostgresDriver(server.url, schema=name, clock=clock)
