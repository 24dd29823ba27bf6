"""Logs of attempts: where they are, and their lines. A log is a plain file beside the warehouse, one for each try.

A try that said nothing has no file: what it wrote is in the ledger, and is its only line.
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import msgspec

from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.mapping import of_row
from pondage.ledger.tables import actors
from pondage.ledger.tables.reactors import ReactorRow
from pondage.views import find
from pondage.views.reactors.reactors import named_reactor
from pondage.views.runs.runs import RunDetailView, log_path

_LINE = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z) ([A-Z]+) (.*)", re.DOTALL)
NEWEST_RUNS = 20
NEWEST_TRIES = 50
"""So many streams and graphs of a reactor are looked at."""


class LogFile(msgspec.Struct, frozen=True, kw_only=True):
    """The log of one try. `path` is relative to the warehouse; `outcome` is null while it is open.

    Of a run of a job `pond` is the job, `ripple` the component and `run_number` 0. Of a reactor `run` and `pond` are
    its name, and `ripple` is the source that Spark reads for it, or the graph that ran on a worker.
    """

    run: str
    pond: str
    run_number: int
    ripple: str
    attempt: int
    epoch: int
    path: str
    claimed_at: int
    outcome: str | None
    completed_at: int | None = None
    rows: int | None = None
    bytes: int | None = None
    """How much it wrote; null for a component, and for a try that wrote nothing."""


class LogLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a log; `at` and `level` are null where the line continues the one before."""

    at: int | None
    level: str | None
    text: str
    pond: str
    ripple: str
    run: str
    attempt: int


class LogsView(msgspec.Struct, frozen=True, kw_only=True):
    """The logs that were asked for, oldest first, and their last lines."""

    environment: str
    at: int
    files: tuple[LogFile, ...]
    lines: tuple[LogLine, ...] = ()
    reactor: str | None = None
    """The reactor whose logs these are."""
    runs: tuple[str, ...] = ()
    """The Runs of Ponds whose logs these are, the newest first: `sales@1#12`."""


_FILES = """SELECT r.public_id AS run, r.number AS run_number, p.name || '@' || p.major AS pond, d.id AS dispatch,
                   d.node AS ripple, d.number AS attempt, e.epoch AS epoch, e.claimed_at AS claimed_at,
                   e.outcome AS outcome, e.completed_at AS completed_at, s.rows AS rows, s.bytes AS bytes
            FROM runs r JOIN ponds p ON p.id = r.pond JOIN dispatches d ON d.run = r.id
            JOIN executions e ON e.dispatch = d.id LEFT JOIN snapshots s ON s.execution = e.id
            WHERE r.id = :run AND d.kind <> 'compact' AND e.claimed_at IS NOT NULL ORDER BY e.id"""


class _Try(LogFile, frozen=True, kw_only=True):
    dispatch: int
    run: str = ""
    run_number: int = 0
    pond: str = ""
    path: str = ""


def locate(tx: Transaction, environment: str, subject: str | None = None, *, ripple: str | None = None) -> LogsView:
    """Answer the logs of a Pond's newest Run, of a Run, of a run of a job, of what workers do for a reactor (also named
    by the Pond that it publishes), or (without a subject) of the newest Runs.

    Raises `NotFound` when the subject is none of them.
    """
    found = actors.environment(tx, environment) if subject is None else find.environment_id(tx, environment)
    reactor = None if found is None or subject is None else named_reactor(tx, found, subject)
    files = None if found is None or subject is None else _of_job(tx, found, subject)
    runs: list[_Looked] = []
    if files is None and reactor is not None:
        files = _of_reactor(tx, reactor)
    elif files is None:
        runs = [] if found is None else _runs(tx, found, subject)
        files = [_file(row) for run in runs for row in tx.rows(_FILES, _Try, run=run.id)]
    chosen = [each for each in files if ripple is None or each.ripple == ripple]
    return LogsView(
        environment=environment,
        at=tx.now,
        files=tuple(sorted(chosen, key=lambda each: (each.claimed_at, each.path))),
        reactor=None if reactor is None else reactor.name,
        runs=tuple(run.name for run in runs),
    )


# A component has no Run of a Pond: it is found by the actor of its job's run.
_JOB_FILES = """SELECT j.public_id AS run, j.job AS pond, d.id AS dispatch, d.node AS ripple, d.number AS attempt,
                       e.epoch AS epoch, e.claimed_at AS claimed_at, e.outcome AS outcome
                FROM job_runs j JOIN dispatches d ON d.actor = j.actor AND d.kind = 'component'
                JOIN executions e ON e.dispatch = d.id
                WHERE j.environment = :environment AND j.public_id = :run AND e.claimed_at IS NOT NULL ORDER BY e.id"""


def _of_job(tx: Transaction, environment: int, run: str) -> list[LogFile] | None:
    """Answer the logs of the run of a job with this very id, none before it has begun to work; None if it is no run."""
    if (
        tx.row(
            "SELECT id FROM job_runs WHERE environment = :environment AND public_id = :run",
            environment=environment,
            run=run,
        )
        is None
    ):
        return None
    return [_file(row) for row in tx.rows(_JOB_FILES, _Try, environment=environment, run=run)]


_REACTOR_FILES = """SELECT d.id AS dispatch, d.node AS ripple, d.number AS attempt, e.epoch AS epoch,
                           e.claimed_at AS claimed_at, e.outcome AS outcome, e.completed_at AS completed_at
                    FROM dispatches d JOIN executions e ON e.dispatch = d.id
                    WHERE d.actor = :actor AND d.kind IN ('graph', 'stream') AND e.claimed_at IS NOT NULL
                    ORDER BY e.id DESC LIMIT :limit"""


def _of_reactor(tx: Transaction, row: ReactorRow) -> list[LogFile]:
    """Answer the logs of the newest streams and graphs that workers had for a reactor."""
    tries = tx.rows(_REACTOR_FILES, _Try, actor=row.actor, limit=NEWEST_TRIES)
    return [_file(msgspec.structs.replace(each, run=row.name, pond=row.name), folder="reactors") for each in tries]


class _Looked(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    name: str
    is_open: bool


_LOOKED = """SELECT r.id AS id, p.name || '@' || p.major || '#' || r.number AS name, r.ended_at IS NULL AS is_open
             FROM runs r JOIN ponds p ON p.id = r.pond"""
_NEWEST = f"{_LOOKED} WHERE r.environment = :environment ORDER BY r.id DESC LIMIT :limit"
_NEWEST_OF_POND = f"{_LOOKED} WHERE r.pond = :pond ORDER BY r.number DESC LIMIT :limit"


def _runs(tx: Transaction, environment: int, subject: str | None) -> list[_Looked]:
    if subject is None:
        return tx.rows(_NEWEST, _Looked, environment=environment, limit=NEWEST_RUNS)
    run = find.run_id(tx, environment, subject)
    if run is not None:
        return tx.rows(f"{_LOOKED} WHERE r.id = :run", _Looked, run=run)
    rows = tx.rows(_NEWEST_OF_POND, _Looked, pond=find.pond(tx, environment, subject).id, limit=NEWEST_RUNS)
    # Several Runs of a Pond may be open at once: all of those, or the newest when none is.
    return [run for run in rows if run.is_open] or rows[:1]


def _file(row: _Try, folder: str = "") -> LogFile:
    return of_row(LogFile, row, path=log_path(folder or row.run, row.dispatch, row.epoch))


def read_lines(warehouse: Path, file: LogFile, *, offset: int = 0) -> tuple[list[LogLine], int]:
    """Answer the whole lines after `offset` bytes, and the offset to go on from. A log that is gone has none."""
    try:
        with (warehouse / file.path).open("rb") as opened:
            opened.seek(offset)
            data = opened.read()
    except FileNotFoundError:
        return ([_written(file)], 1) if offset == 0 and file.rows is not None else ([], offset)
    whole, newline, _ = data.rpartition(b"\n")
    lines = [_line(each.decode(errors="replace"), file) for each in whole.split(b"\n")] if newline else []
    return lines, offset + len(whole) + len(newline)


def _written(file: LogFile) -> LogLine:
    text = f"wrote {file.rows:,} rows, {file.bytes:,} bytes"
    return of_row(LogLine, file, at=file.completed_at, level="INFO", text=text)


def with_found_logs(view: RunDetailView, warehouse: Path) -> RunDetailView:
    """Answer a Run that names only the logs that are there."""
    attempts = [
        msgspec.structs.replace(
            attempt,
            executions=tuple(
                each
                if each.log is None or (warehouse / each.log).is_file()
                else msgspec.structs.replace(each, log=None)
                for each in attempt.executions
            ),
        )
        for attempt in view.attempts
    ]
    return msgspec.structs.replace(view, attempts=tuple(attempts))


def with_lines(view: LogsView, warehouse: Path, *, most: int) -> LogsView:
    """Answer the view with the last lines of its logs, in the order of the tries."""
    lines = [line for file in view.files for line in read_lines(warehouse, file)[0]]
    return msgspec.structs.replace(view, lines=tuple(lines[-most:] if most else ()))


def _moment(text: str) -> int | None:
    """Answer a time in microseconds; None for what only looks like one, which an author may have printed."""
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1_000_000)
    except ValueError:
        return None


def _line(body: str, file: LogFile) -> LogLine:
    match = _LINE.match(body)
    at = None if match is None else _moment(match[1])
    if at is None:
        match = None
    return of_row(LogLine, file, at=at, level=match[2] if match else None, text=match[3] if match else body)
