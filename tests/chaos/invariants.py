"""What must hold after every fault, read from the ledger and from the files."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pyarrow.parquet as parquet

from pondage.define.pond.definition import PondDefinition
from pondage.ledger.database.driver import Row, Transaction, number, text
from pondage.ledger.ledger import Ledger
from pondage.ledger.upkeep import health, retention
from pondage.work.snapshot import SnapshotContent

_MACHINE_ENDED = ("cancelled",)


def violations(ledger: Ledger, warehouse: Path) -> list[str]:
    """Answer everything that is wrong, in words; an empty list is what a test wants."""
    with ledger.reading() as tx:
        return [
            *_open_ends(tx),
            *_dispatches(tx),
            *_snapshots(tx),
            *_runs(tx),
            *_stable_names(tx, warehouse),
        ]


def _open_ends(tx: Transaction) -> list[str]:
    """Nothing is lost: no run, execution, claim, report or outbox row is left over."""
    questions = {
        "run is not finished": "SELECT public_id AS what FROM runs WHERE ended_at IS NULL",
        "execution is open": "SELECT id AS what FROM executions WHERE completed_at IS NULL",
        "availability is left": "SELECT execution AS what FROM availabilities",
        "dispatch is open": "SELECT id AS what FROM dispatches WHERE outcome IS NULL",
        "signal is due": "SELECT id AS what FROM signals WHERE due_at <= :now",
        "outbox row is not carried out": "SELECT id AS what FROM outbox WHERE done_at IS NULL",
        "actor is halted": "SELECT key AS what FROM actors WHERE halted IS NOT NULL",
        "run failed": "SELECT public_id AS what FROM runs WHERE state = 'failed'",
    }
    found = [f"{what}: {row['what']}" for what, question in questions.items() for row in tx.rows(question)]
    return found + [f"claim leaked: {claim}" for claim in health.leaked_claims(tx)]


def _dispatches(tx: Transaction) -> list[str]:
    """Every dispatch has exactly one execution that succeeded, and at most one snapshot."""
    rows = tx.rows(
        """SELECT d.id AS id, d.node AS node, d.outcome AS outcome,
                  (SELECT count(*) FROM executions e WHERE e.dispatch = d.id AND e.outcome IN ('ok', 'reused')) AS good,
                  (SELECT count(*) FROM executions e JOIN snapshots s ON s.execution = e.id WHERE e.dispatch = d.id)
                      AS written,
                  (SELECT count(*) FROM executions e WHERE e.dispatch = d.id) AS tries
           FROM dispatches d"""
    )
    return [problem for row in rows for problem in _dispatch(row)]


def _dispatch(row: Row) -> list[str]:
    name = f"dispatch {number(row, 'id')} ({text(row, 'node')})"
    if row["outcome"] in _MACHINE_ENDED or number(row, "tries") == 0:
        return []
    found = []
    if number(row, "good") != 1:
        found.append(f"{name} has {row['good']} successful executions")
    if number(row, "written") > 1:
        found.append(f"{name} published {row['written']} snapshots")
    return found


def _snapshots(tx: Transaction) -> list[str]:
    """Every snapshot was written by the execution that committed it, and its files are whole."""
    found: list[str] = []
    for row in tx.rows(
        """SELECT s.public_id AS id, s.path AS path, s.content AS content, e.token AS token, e.outcome AS outcome
           FROM snapshots s JOIN executions e ON e.id = s.execution"""
    ):
        name = f"snapshot {text(row, 'id')}"
        if row["outcome"] != "ok":
            found.append(f"{name} belongs to an execution that ended {row['outcome']}")
        if Path(text(row, "path")).name != row["token"]:
            found.append(f"{name} at {row['path']} was not written by token {row['token']}")
        content = msgspec.json.decode(text(row, "content"), type=SnapshotContent)
        for file in content.files:
            place = Path(content.path) / file.name
            if not place.is_file():
                found.append(f"{name} has lost {place}")
            elif place.suffix == ".json":
                found.extend(_mark(name, text(row, "token"), place))
            elif parquet.read_metadata(place).num_rows != file.rows:
                found.append(f"{name} has another number of rows in {place}")
    return found


def _mark(name: str, token: str, place: Path) -> list[str]:
    """A file of a chaos run without Spark names who wrote it, and is whole."""
    try:
        content = msgspec.json.decode(place.read_bytes())
    except msgspec.DecodeError:
        return [f"{name} is not whole: {place}"]
    if isinstance(content, dict) and content.get("token") != token:
        return [f"{name} was written by {content.get('token')}, not by {token}"]
    return []


def _runs(tx: Transaction) -> list[str]:
    """Every completed Run shows exactly one output for each Ripple of its definition."""
    found: list[str] = []
    for row in tx.rows(
        """SELECT r.id AS id, r.public_id AS public_id, d.body AS body FROM runs r
           JOIN definitions d ON d.id = r.definition WHERE r.state = 'completed'"""
    ):
        definition = msgspec.json.decode(text(row, "body"), type=PondDefinition)
        shown = [
            text(output, "node")
            for output in tx.rows("SELECT node FROM run_outputs WHERE run = :run", run=number(row, "id"))
        ]
        expected = sorted(ripple.name for ripple in definition.ripples)
        if sorted(shown) != expected:
            found.append(f"run {row['public_id']} of {definition.name} shows {sorted(shown)}, not {expected}")
    return found


def _stable_names(tx: Transaction, warehouse: Path) -> list[str]:
    """What outside readers find under the stable names is what the ledger says."""
    found: list[str] = []
    for row in tx.rows("SELECT id FROM ponds"):
        published = retention.published(tx, number(row, "id"))
        if published is None:
            continue
        base = warehouse / "tables" / published.environment / published.pond / f"v{published.major}"
        for table in published.tables:
            current = base / table.ripple / "CURRENT.json"
            if not current.is_file():
                found.append(f"{current} is missing")
            elif msgspec.json.decode(current.read_bytes())["snapshot"] != table.snapshot:
                found.append(f"{current} does not show {table.snapshot}")
            elif table.content.increment is not None:
                continue  # a growing table is in many directories, and no link leads to it
            elif (base / table.ripple / "current").resolve() != Path(table.content.path).resolve():
                found.append(f"the link beside {current} does not lead to {table.content.path}")
    return found
