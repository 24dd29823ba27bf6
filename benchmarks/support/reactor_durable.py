"""Durable sides of the reactor benchmark: an owned reactor with its journal, and a bare loop with one of its own.

The bare loop journals boundaries, starts and commits too, in one blob row for each group of what has arrived, inline at
the level `process` and in a thread at `power`, as ours does. It has no rules, no lease, no recovery.
"""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import msgspec

from pondage.define.reactor.reactor import Reactor
from pondage.engine.live.owned import OwnedReactor
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.tables import actors, reactors

SYNCHRONOUS = {"process": "NORMAL", "power": "FULL"}
COMMITS_A_SECOND = 20

_COMMITS = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
connection.execute("PRAGMA synchronous=FULL")
while True:
    began = time.monotonic()
    connection.execute("BEGIN IMMEDIATE")
    for _ in range(10):
        connection.execute("INSERT INTO audit (environment, at, who, verb, target) VALUES (1, 0, 'w', 'v', 't')")
    connection.execute("COMMIT")
    time.sleep(max(0.0, 1 / float(sys.argv[2]) - (time.monotonic() - began)))
"""


@contextmanager
def ledger_in(folder: Path, *, is_busy: bool) -> Iterator[Ledger]:
    """Open a ledger; a busy one has a process beside it that commits as workers do, 20 times a second."""
    ledger = Ledger.open(f"sqlite:///{folder}/ledger.db")
    with ledger.transaction() as tx:
        actors.made_environment(tx, "main")
    arguments = [sys.executable, "-c", _COMMITS, f"{folder}/ledger.db", str(COMMITS_A_SECOND)]
    worker = subprocess.Popen(arguments) if is_busy else None
    try:
        yield ledger
    finally:
        if worker is not None:
            worker.kill()
            worker.wait()
        ledger.close()


@asynccontextmanager
async def owned_reactor(reactor: Reactor, *, is_busy: bool) -> AsyncIterator[OwnedReactor]:
    """Deploy, claim and run a reactor in this process, on a ledger of its own."""
    with tempfile.TemporaryDirectory(prefix="pondage-bench-") as name, ledger_in(Path(name), is_busy=is_busy) as ledger:
        with ledger.transaction() as tx:
            environment = actors.environment(tx, "main")
            assert environment is not None
            actor = reactors.put(tx, environment=environment, project="bench", declaration=reactor.declaration)
            process = processes.register(tx, public_id="p", machine="m", pid=1, pid_started=1, role="live")
            lease = reactors.claim(tx, actor=actor, process=process, token="t")
            row = reactors.find(tx, environment, reactor.name)
        assert lease is not None
        assert row is not None
        owned = OwnedReactor(ledger, row, lease, reactor)
        await owned.start()
        try:
            yield owned
        finally:
            await owned.drain(1_000_000)


class BareJournal:
    """A file with one blob row for each group."""

    def __init__(self, path: Path, level: str) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute(f"PRAGMA synchronous={SYNCHRONOUS[level]}")
        self._connection.execute("PRAGMA wal_autocheckpoint=4000")
        self._connection.execute("CREATE TABLE log (seq INTEGER PRIMARY KEY, records BLOB NOT NULL)")
        self._thread = ThreadPoolExecutor(1) if level == "power" else None

    async def write(self, records: list[object]) -> None:
        """Make a group durable."""
        blob = msgspec.json.encode(records)
        if self._thread is None:
            self._insert(blob)
        else:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._insert, blob)

    def close(self) -> None:
        """Close the file."""
        if self._thread is not None:
            self._thread.shutdown()
        self._connection.close()

    def _insert(self, blob: bytes) -> None:
        self._connection.execute("INSERT INTO log (records) VALUES (?)", (blob,))


class BareReactor:
    """A cache, flags and queues, as one writes them; every group is journalled before it is fired."""

    def __init__(
        self, names: list[str], journal: BareJournal, fire: Callable[..., None], *, is_all: bool, is_sequential: bool
    ) -> None:
        self.boundaries: asyncio.Queue[tuple[str, object] | None] = asyncio.Queue()
        self._cache: dict[str, object] = dict.fromkeys(names)
        self._dirty: set[str] = set()
        self._queues: dict[str, deque[object]] = {name: deque() for name in names}
        self._journal = journal
        self._fire = fire
        self._is_all = is_all
        self._is_sequential = is_sequential
        self._number = 0

    async def run(self) -> None:
        """React until None comes."""
        committed: list[object] = []
        is_over = False
        while not is_over:
            group = [await self.boundaries.get()]
            while not self.boundaries.empty():
                group.append(self.boundaries.get_nowait())
            is_over = group[-1] is None
            arrived = [each for each in group if each is not None]
            fires = self._taken(arrived)
            started = [["s", self._number + place + 1] for place in range(len(fires))]
            await self._journal.write([*committed, *(["b", *each] for each in arrived), *started])
            for inputs in fires:
                self._number += 1
                self._fire(**inputs)
            committed = [["c", each[1]] for each in started]
            if committed and self.boundaries.empty():
                await self._journal.write(committed)
                committed = []

    def _taken(self, arrived: list[tuple[str, object]]) -> list[dict[str, object]]:
        fires: list[dict[str, object]] = []
        for name, value in arrived:
            if self._is_sequential and self._is_all:
                self._queues[name].append(value)
                if all(self._queues.values()):
                    fires.append({each: queue.popleft() for each, queue in self._queues.items()})
                continue
            self._cache[name] = value
            self._dirty.add(name)
            if self._is_sequential and not self._is_all:
                fires.append(dict(self._cache))
        is_due = bool(self._dirty) and (not self._is_all or len(self._dirty) == len(self._cache))
        if not self._is_sequential and is_due:
            self._dirty.clear()
            fires.append(dict(self._cache))
        return fires
