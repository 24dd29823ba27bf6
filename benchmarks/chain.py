"""A deployed chain of 100 Ponds that do nothing, Pulse to done, through the shipped ledger: no Spark, no short cut.

Against the raw claim-and-commit loop with the same durability, on the same disk and server, in the same run and
alternately; and beside Duckstring's driver on its own SQLite file.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.run import Row
from benchmarks.support import duckstring
from benchmarks.support.raw_loop import PostgresLoop, RawLoop, SqliteLoop
from pondage.define.values.names import PondKey
from pondage.kernel.demand.events import Pulse
from pondage.ledger.act import verbs
from pondage.ledger.act.deploy import deploy
from pondage.ledger.commit import guarded, polling, work
from pondage.ledger.database.clock import HostClock
from pondage.ledger.database.driver import Driver
from pondage.ledger.database.migrate import migrate
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.ledger.kinds.ripple import Written
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.work.snapshot import SnapshotContent
from tests.ledger.harness import SCHEMA, pond

LENGTH = 100
PAIRS = 9
GOAL = "goal: at most 3×"


class LedgerChain:
    """The chain on a ledger of its own, and one worker that claims and commits."""

    def __init__(self, driver: Driver, length: int = LENGTH) -> None:
        migrate(driver)
        self.driver = driver
        self._length = length
        self._ledger = Ledger(driver)
        names = [f"p{number}" for number in range(length)]
        digest = deploy(
            self._ledger,
            "main",
            project="chain",
            definitions=[
                pond(name, sources={before: True} if before else None)
                for name, before in zip(names, [None, *names], strict=False)
            ],
            removed=[],
            archive=b"chain",
            summary="{}",
            expected=[],
        )
        with self._ledger.transaction() as tx:
            self._process = processes.register(
                tx, public_id=self._ledger.ids.new("p"), machine="m", pid=1, pid_started=1, role="worker", slots=1
            )
        self._code = digest
        self._queues = polling.queues_for(self._ledger, code=digest)

    def chain(self) -> int:
        """Pulse the end and do every hop; answer how many transactions that took."""
        before = self.driver.counts.transactions
        verbs.send(self._ledger, "main", Pulse(pond=PondKey(f"p{self._length - 1}@1")))
        if not self._queues:  # a queue appears with the first work for it
            self._queues = polling.queues_for(self._ledger, code=self._code)
        for _ in range(self._length):
            held = work.claim_work(
                self._ledger, process=self._process, queues=self._queues, token=self._ledger.ids.new("t"), is_alone=True
            )
            assert held is not None, "the chain stopped"
            content = SnapshotContent(path=held.claim.token, files=(), schema=SCHEMA, rows=0, bytes=0)
            assert guarded.commit(self._ledger, held, Written(content), process=self._process)
        return self.driver.counts.transactions - before

    def check(self, rounds: int) -> None:
        """See that each Pond completed one Run in each round: nothing was left out to be faster."""
        with self._ledger.reading() as tx:
            rows = tx.rows("SELECT pond, count(*) AS runs FROM runs WHERE state = 'completed' GROUP BY pond")
        assert [row["runs"] for row in rows] == [rounds] * self._length

    def close(self) -> None:
        """Close the ledger."""
        self._ledger.close()


@dataclass(frozen=True, kw_only=True)
class _Timed:
    wall_ms: float
    cpu_ms: float
    transactions: float


def run() -> list[Row]:
    """Measure on SQLite, and on PostgreSQL when one can be started."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="pondage-bench-") as made:
        folder = Path(made)
        ours, raw = LedgerChain(SqliteDriver(folder / "ledger.db", HostClock())), SqliteLoop(folder / "raw.db")
        rows += _compare("SQLite", ours, raw)
        other = duckstring.ask({"kind": "chain", "length": LENGTH, "rounds": PAIRS, "folder": made}, timeout_s=300)
        rows.append(
            Row(
                what=f"SQLite, chain of {LENGTH}: time for each hop",
                ours=rows[0].ours,
                against=f"{other.against}, its driver without processes",
                anchor=round(other.figure, 4),
                unit="ms",
                n=other.count,
            )
        )
    with _postgres() as server:
        if server is not None:
            ours, raw_loop = LedgerChain(server[0]), server[1]
            rows += _compare("PostgreSQL", ours, raw_loop)
    return rows


def _compare(database: str, ours: LedgerChain, raw: RawLoop) -> list[Row]:
    try:
        # Once unmeasured: statements are prepared, definitions read, files grown.
        ours.chain()
        raw.chain(LENGTH)
        pairs = [(_timed(lambda: raw.chain(LENGTH)), _timed(ours.chain)) for _ in range(PAIRS)]
        ours.check(PAIRS + 1)
    finally:
        ours.close()
        raw.close()
    ratios = sorted(one.wall_ms / base.wall_ms for base, one in pairs)
    spread = f"raw claim-and-commit loop; ratios {ratios[0]:.2f} to {ratios[-1]:.2f}, {GOAL}"
    where = f"{database}, chain of {LENGTH}"
    return [
        _row(f"{where}: time for each hop", pairs, lambda one: one.wall_ms, "ms", spread),
        _row(f"{where}: client's processor time for each hop", pairs, lambda one: one.cpu_ms, "ms", "raw loop"),
        _row(f"{where}: transactions for each hop", pairs, lambda one: one.transactions, "transactions", "raw loop"),
    ]


def _timed(chain: Callable[[], int]) -> _Timed:
    wall, cpu = time.perf_counter(), time.process_time()
    transactions = chain()
    return _Timed(
        wall_ms=(time.perf_counter() - wall) / LENGTH * 1000,
        cpu_ms=(time.process_time() - cpu) / LENGTH * 1000,
        transactions=transactions / LENGTH,
    )


def _row(
    what: str, pairs: list[tuple[_Timed, _Timed]], figure: Callable[[_Timed], float], unit: str, against: str
) -> Row:
    return Row(
        what=what,
        ours=round(statistics.median(figure(one) for _, one in pairs), 4),
        against=against,
        anchor=round(statistics.median(figure(base) for base, _ in pairs), 4),
        unit=unit,
        n=len(pairs),
    )


@contextmanager
def _postgres() -> Iterator[tuple[Driver, RawLoop] | None]:
    """Start a server for so long; None, and a word about it, when there is none to start."""
    try:
        from pondage.ledger.database.postgres import PostgresDriver
        from tests.services.postgres import PostgresServer

        server = PostgresServer(is_quick=False)
    except (ImportError, OSError, AssertionError) as error:
        print(f"no PostgreSQL can be started here: {error}")
        yield None
        return
    try:
        server.new_schema("ours")
        server.new_schema("raw")
        yield PostgresDriver(server.url, schema="ours"), PostgresLoop(server.url, "raw")
    finally:
        server.close()
