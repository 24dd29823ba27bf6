"""One worker process of the benchmark `durable`: the raw loop, or the shipped worker with a no-op executor.

Started as `python -m benchmarks.support.durable_side`, told what to do by one line of JSON, and answers one.
"""

from __future__ import annotations

import json
import os
import resource
import select
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import psycopg

CONTENT = '{"path":"somewhere","files":[],"rows":1,"bytes":10}'
SERIAL = {"sqlite": "INTEGER", "postgres": "BIGINT GENERATED ALWAYS AS IDENTITY"}
TABLES = (
    "CREATE TABLE executions (id {serial} PRIMARY KEY, hop INTEGER NOT NULL, token TEXT UNIQUE, outcome TEXT)",
    "CREATE TABLE availabilities (execution BIGINT PRIMARY KEY REFERENCES executions, priority INTEGER NOT NULL)",
    "CREATE INDEX availabilities_next ON availabilities (priority, execution)",
    "CREATE TABLE snapshots (id {serial} PRIMARY KEY, execution BIGINT REFERENCES executions, content TEXT NOT NULL)",
)


def used_s() -> float:
    """Answer the processor time of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


class Raw:
    """The hand-written loop: claim with a token, guarded commit that makes the next hop available."""

    def __init__(self, database: str, place: str, *, is_new: bool = False) -> None:
        self.is_sqlite = database == "sqlite"
        if self.is_sqlite:
            self.connection = sqlite3.connect(place, isolation_level=None, timeout=60)
            for pragma in ("journal_mode=WAL", "foreign_keys=ON", "synchronous=FULL"):
                self.connection.execute(f"PRAGMA {pragma}")
        else:
            self.connection = psycopg.connect(place, autocommit=True, prepare_threshold=3)  # type: ignore[assignment]
        if is_new:
            for table in TABLES:
                self.connection.execute(table.format(serial=SERIAL[database]))

    def run(self, statement: str, values: tuple[object, ...] = ()) -> sqlite3.Cursor:
        """Run one statement."""
        return self.connection.execute(statement if self.is_sqlite else statement.replace("?", "%s"), values)

    def enqueue(self, hop: int) -> None:
        """Make a hop available."""
        (made,) = self.run("INSERT INTO executions (hop) VALUES (?) RETURNING id", (hop,)).fetchone()
        self.run("INSERT INTO availabilities (execution, priority) VALUES (?, 1)", (made,))

    def begin(self) -> None:
        """Begin a transaction that writes."""
        self.run("BEGIN IMMEDIATE" if self.is_sqlite else "BEGIN")

    def hop(self, on_start: Callable[[], None] = lambda: None) -> bool:
        """Claim a hop and commit it; False when there is none."""
        token = uuid4().hex
        self.begin()
        skip = "" if self.is_sqlite else " FOR UPDATE SKIP LOCKED"
        found = self.run(
            "SELECT execution FROM availabilities WHERE priority = 1 ORDER BY execution LIMIT 1" + skip
        ).fetchone()
        if found is None:
            self.run("COMMIT")
            return False
        self.run("DELETE FROM availabilities WHERE execution = ?", (found[0],))
        (left,) = self.run(
            "UPDATE executions SET token = ? WHERE id = ? AND token IS NULL RETURNING hop", (token, found[0])
        ).fetchone()
        self.run("COMMIT")
        on_start()
        self.begin()
        closed = self.run("UPDATE executions SET outcome = 'ok' WHERE token = ? AND outcome IS NULL", (token,)).rowcount
        assert closed == 1
        self.run("INSERT INTO snapshots (execution, content) VALUES (?, ?)", (found[0], CONTENT))
        if left > 1:
            self.enqueue(left - 1)
        self.run("COMMIT")
        return True


def raw_steps(asked: dict[str, object]) -> dict[str, object]:
    """Do hops until all of them are done."""
    raw = Raw(str(asked["database"]), str(asked["place"]))
    _ready()
    began, began_s, steps = used_s(), time.monotonic(), 0
    while True:
        if raw.hop():
            steps += 1
        elif raw.run("SELECT count(*) FROM executions WHERE outcome IS NULL").fetchone()[0] == 0:
            break
    return {"steps": steps, "cpu_s": used_s() - began, "seconds": time.monotonic() - began_s}


def raw_starts(asked: dict[str, object]) -> dict[str, object]:
    """Wait for hops with NOTIFY (PostgreSQL) or `data_version` (SQLite), and note when each started."""
    raw = Raw(str(asked["database"]), str(asked["place"]))
    other = Raw(str(asked["database"]), str(asked["place"]))
    starts: list[float] = []
    if not raw.is_sqlite:
        other.run("LISTEN hop")
    seen = None
    _ready()
    while len(starts) < int(str(asked["count"])):
        if raw.hop(lambda: starts.append(time.time())):
            continue
        if raw.is_sqlite:
            while (version := other.run("PRAGMA data_version").fetchone()[0]) == seen:
                time.sleep(0.002)
            seen = version
        else:
            for _ in other.connection.notifies(timeout=1.0, stop_after=1):  # type: ignore[attr-defined]
                break
    return {"starts": starts}


def ours(asked: dict[str, object]) -> dict[str, object]:
    """Be a shipped worker whose executor does nothing, until told to end by the end of the input."""
    from pondage.engine.attempt.attempt import Attempt
    from pondage.engine.attempt.executor import Executor
    from pondage.engine.process.config import EngineConfig, WorkerConfig
    from pondage.engine.worker.process import Worker
    from pondage.ledger.kinds.component import ComponentEnded
    from pondage.ledger.kinds.kind import Ending
    from pondage.ledger.kinds.ripple import Written
    from pondage.work.component import ComponentResult, ComponentTask, MemberResult
    from pondage.work.failure import Failure
    from pondage.work.progress import JobProgress
    from pondage.work.snapshot import SnapshotContent
    from tests.ledger.harness import SCHEMA

    starts: list[float] = []

    class Nothing(Executor):
        """Does nothing, at once."""

        def execute(self, attempt: Attempt) -> Ending:
            starts.append(time.time())
            table = SnapshotContent(path=f"/nowhere/{attempt.token}", files=(), schema=SCHEMA, rows=1, bytes=10)
            task = attempt.work.task
            if not isinstance(task, ComponentTask):
                return Written(table)
            members = (
                MemberResult(instance=one.instance, outputs=dict.fromkeys(one.writes, table)) for one in task.members
            )
            return ComponentEnded(ComponentResult(members=tuple(members)))

        def failure(self, error: BaseException) -> Failure:
            raise error

        def cancel(self, token: str) -> None:
            """Nothing runs."""

        def progress(self, token: str) -> JobProgress:  # noqa: ARG002 - what an executor is asked
            return JobProgress()

        def discard(self, attempt: Attempt) -> None:
            """Nothing was written."""

        def is_alive(self) -> bool:
            return True

        def ran_out_of_memory(self) -> bool:
            return False

        def stop(self) -> None:
            """Nothing was started."""

    folder = Path(str(asked["folder"]))
    config = EngineConfig(
        project="bench", root=str(folder), ledger=str(asked["url"]), warehouse=str(folder / "warehouse"),
        state_directory=str(folder / f"state{os.getpid()}"), slots=2,
    )  # fmt: skip
    ledger = config.open_ledger()
    worker = Worker(
        WorkerConfig(engine=config, public_id=ledger.ids.new("p"), code=str(asked["code"]), parent=os.getppid()),
        ledger,
        Nothing(),
    )

    def wait_for_the_end() -> None:
        select.select([sys.stdin], [], [])
        worker.drain()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    _ready()
    began = used_s()
    worker.run()
    ledger.close()
    return {"steps": len(starts), "cpu_s": used_s() - began, "starts": starts}


def _ready() -> None:
    print("ready", flush=True)


def main() -> None:
    """Do what the line says."""
    asked = json.loads(sys.stdin.readline())
    play = {"raw_steps": raw_steps, "raw_starts": raw_starts, "ours": ours}[asked["play"]]
    print(json.dumps(play(asked)), flush=True)


if __name__ == "__main__":
    main()
