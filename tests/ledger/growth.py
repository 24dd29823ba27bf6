"""A ledger that has been in use for years, made in seconds: rows like those of a real Run, many times over."""

from __future__ import annotations

from typing import Any

import msgspec

from pondage.kernel.demand.events import Pulse, Tap
from pondage.kernel.demand.state import decode_state, encode_state
from pondage.ledger.database.driver import Driver
from pondage.ledger.tables import actors
from tests.ledger.harness import SECOND, World, pond

DAY = 86_400 * SECOND

_COUNT = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"

# In the order of their ids, as a ledger that was lived in has them: what looks for old rows relies on it.
_RUNS = """INSERT INTO runs (public_id, environment, actor, pond, number, freshness, delay, definition, pins, ancestry,
                             outputs_digest, state, reason, started_at, ended_at)
           {n} SELECT 'rb' || n.i, r.environment, r.actor, r.pond, r.number + n.i, r.freshness, r.delay, r.definition,
                      r.pins, r.ancestry, r.outputs_digest, 'completed', r.reason,
                      r.started_at + {age}, r.ended_at + {age}
               FROM n CROSS JOIN runs r WHERE r.id = :run ORDER BY n.i"""
_DISPATCHES = """INSERT INTO dispatches (environment, actor, run, dataset, kind, node, number, freshness, queue,
                                         priority, inputs, digest, crash_budget, outcome, created_at, closed_at)
                 SELECT d.environment, d.actor, r.id, d.dataset, d.kind, d.node, r.number, d.freshness, d.queue,
                        d.priority, d.inputs, d.digest, d.crash_budget, d.outcome, r.started_at, r.ended_at
                 FROM runs r CROSS JOIN dispatches d WHERE r.public_id LIKE 'rb%' AND d.id = :dispatch
                 ORDER BY r.id"""
_EXECUTIONS = """INSERT INTO executions (dispatch, token, process, epoch, created_at, claimed_at, completed_at, outcome)
                 SELECT d.id, 'tb' || d.id, e.process, e.epoch, d.created_at, d.created_at, d.closed_at, e.outcome
                 FROM dispatches d CROSS JOIN executions e
                 WHERE d.id > :newest AND e.id = :execution ORDER BY d.id"""
_SNAPSHOTS = """INSERT INTO snapshots (public_id, dataset, run, execution, freshness, kind, path, content, rows, bytes,
                                       inputs, digest, created_at)
                SELECT 'sb' || e.id, s.dataset, d.run, e.id, s.freshness, s.kind, s.path, s.content, s.rows, s.bytes,
                       s.inputs, s.digest, d.closed_at
                FROM executions e JOIN dispatches d ON d.id = e.dispatch CROSS JOIN snapshots s
                WHERE e.id > :newest AND s.execution = :execution ORDER BY e.id"""
_OUTPUTS = """INSERT INTO run_outputs (run, pond, node, freshness, snapshot)
              SELECT s.run, o.pond, o.node, o.freshness, s.id FROM snapshots s CROSS JOIN run_outputs o
              WHERE s.public_id LIKE 'sb%' AND o.run = :run"""

_PONDS = """INSERT INTO ponds (actor, environment, name, major, project, state, definition)
            {n} SELECT p.actor, p.environment, 'bulk_' || n.i, 1, p.project, p.state, p.definition
                FROM n CROSS JOIN ponds p WHERE p.id = :pond"""
_SOURCES = """INSERT INTO pond_sources (pond, environment, source_name, source_major)
              SELECT id, environment, 'bulk_0', 1 FROM ponds WHERE name LIKE 'bulk_%'"""
_SCHEDULES = """INSERT INTO schedules (pond, name, cron, tz, catch_up, next_at)
                SELECT id, 'daily', '0 6 * * *', 'UTC', 'latest', {later} FROM ponds WHERE name LIKE 'bulk_%'"""

_WAITING = """INSERT INTO dispatches (environment, actor, run, dataset, kind, node, number, freshness, queue, priority,
                                      inputs, digest, crash_budget, created_at)
              {n} SELECT d.environment, d.actor, d.run, d.dataset, d.kind, d.node, d.number + n.i, d.freshness, d.queue,
                         d.priority, d.inputs, d.digest, d.crash_budget, d.created_at
                  FROM n CROSS JOIN dispatches d WHERE d.id = :dispatch"""
_OPEN = (
    "INSERT INTO executions (dispatch, epoch, created_at) SELECT id, 0, created_at FROM dispatches WHERE id > :newest"
)
_LATER = """INSERT INTO availabilities (execution, queue, priority, available_at)
            SELECT e.id, d.queue, d.priority, {later} FROM executions e JOIN dispatches d ON d.id = e.dispatch
            WHERE d.id > :newest"""
_SIGNALS = """INSERT INTO signals (actor, kind, pond, payload, due_at)
              {n} SELECT p.actor, 'pulse', 'orders@1', '{{}}', {later} FROM n CROSS JOIN ponds p WHERE p.id = :pond"""

_DEAD = """INSERT INTO processes (public_id, machine, boot, pid, pid_started, role,
                                  registered_at, heartbeat_at, dead_at)
           {n} SELECT 'pb' || n.i, p.machine, p.boot, n.i, 1, p.role, 1, 1, 1
               FROM n CROSS JOIN processes p WHERE p.id = :process"""
_DONE = """INSERT INTO outbox (environment, kind, payload, created_at, available_at, done_at)
           {n} SELECT 1, 'publish', '{{}}', 1, 1, 1 + {age} FROM n"""
_ADVANCEMENTS = """INSERT INTO advancements (actor, at, signals, touched, effects)
                   {n} SELECT p.actor, 1 + {age}, '[]', '[]', '[]' FROM n CROSS JOIN ponds p WHERE p.id = :pond"""
_HISTORY = """INSERT INTO history (environment, at, kind, pond, payload)
              {n} SELECT 1, 1, 'failed', 'orders@1', '{{}}' FROM n"""


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """How much of each: what has happened, what is deployed, what waits for a later time."""

    finished: int = 0
    young: int = 0
    """How many of the finished are of the last days; the others are years older."""
    ponds: int = 0
    later: int = 0


def used(world: World) -> World:
    """A small pipeline that has run."""
    world.deploy(pond("orders"), pond("sales", sources={"orders": True}), pond("reports", sources={"sales": True}))
    worker = world.worker()
    world.send(Pulse(pond="reports@1"))
    worker.drain()
    world.clock.time += SECOND
    return world


def grow(world: World, size: Size) -> None:
    """Add what years would have added, and then one Run that waits to be claimed.

    Constraints are not checked meanwhile: the rows copy rows that keep them.
    """
    # As if Runs had been made before and after the clock went on.
    years = 1_000 * DAY if size.young else 0
    age = f"(CASE WHEN n.i > {size.finished - size.young} THEN {years} ELSE 0 END)"
    world.clock.time += years
    later = world.clock.time + DAY
    first = _ids(world)
    with _Bulk(world.ledger.driver) as bulk:
        bulk("UPDATE processes SET heartbeat_at = :now WHERE dead_at IS NULL")
        if size.finished:
            n = _COUNT.format(count=size.finished)
            bulk(_RUNS.format(n=n, age=age), run=first["run"])
            bulk(_DISPATCHES, dispatch=first["dispatch"])
            bulk(_EXECUTIONS, newest=first["newest_dispatch"], execution=first["execution"])
            bulk(_SNAPSHOTS, newest=first["newest_execution"], execution=first["execution"])
            bulk(_OUTPUTS, run=first["run"])
            bulk(_DEAD.format(n=_COUNT.format(count=max(1, size.finished // 10))), process=1)
            bulk(_DONE.format(n=n, age=age))
            bulk(_ADVANCEMENTS.format(n=n, age=age), pond=first["pond"])
            bulk(_HISTORY.format(n=n))
        if size.ponds:
            bulk(_PONDS.format(n=_COUNT.format(count=size.ponds)), pond=first["pond"])
            bulk(_SOURCES)
            bulk(_SCHEDULES.format(later=later))
        if size.later:
            newest = bulk.newest("dispatches")
            n = _COUNT.format(count=size.later)
            bulk(_WAITING.format(n=n), dispatch=first["dispatch"])
            bulk(_OPEN, newest=newest)
            bulk(_LATER.format(later=later), newest=newest)
            bulk(_SIGNALS.format(n=n, later=later), pond=first["pond"])
    _count_runs(world, size.finished)
    world.send(Tap(pond="orders@1"))


def _ids(world: World) -> dict[str, int]:
    """The finished Run of `orders` that is copied, and where the copies begin."""
    (row,) = world.rows(
        """SELECT r.id AS run, r.pond AS pond, d.id AS dispatch, e.id AS execution,
                  (SELECT max(id) FROM dispatches) AS newest_dispatch,
                  (SELECT max(id) FROM executions) AS newest_execution
           FROM runs r JOIN ponds p ON p.id = r.pond JOIN dispatches d ON d.run = r.id
           JOIN executions e ON e.dispatch = d.id WHERE p.name = 'orders' AND r.state = 'completed'"""
    )
    return {key: int(str(value)) for key, value in row.items()}


def _count_runs(world: World, finished: int) -> None:
    """Let the machine go on counting behind the copies."""
    with world.ledger.transaction() as tx:
        row = tx.row("SELECT id, actor, state FROM ponds WHERE name = 'orders'")
        assert row is not None
        actors.edit(tx, int(str(row["actor"])))
        state = decode_state(str(row["state"]))
        state.number += finished
        encoded = encode_state(state).decode()
        tx.change("UPDATE ponds SET state = :state WHERE id = :id", state=encoded, id=int(str(row["id"])))


_INDEXES = """
SELECT format('DROP INDEX %I.%I', i.schemaname, i.indexname) AS dropped, i.indexdef AS made FROM pg_indexes i
WHERE i.schemaname = current_schema() AND NOT EXISTS
      (SELECT 1 FROM pg_constraint c WHERE c.conindid = to_regclass(i.schemaname || '.' || i.indexname))"""
_QUICK = """
SET session_replication_role = replica; SET statement_timeout = 0; SET synchronous_commit = off;
SET maintenance_work_mem = '256MB'"""
_AS_BEFORE = """
RESET session_replication_role; RESET statement_timeout; RESET synchronous_commit; RESET maintenance_work_mem"""


class _Bulk:
    """Runs statements without foreign keys, and on PostgreSQL without indexes, which are made when all rows are there;
    and tells its planner afterwards what there is."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._is_sqlite = driver.dialect == "sqlite"
        self._indexes: list[str] = []

    def _connection(self) -> Any:
        driver: Any = self._driver
        return driver._own()[0] if self._is_sqlite else driver._connection()

    def __enter__(self) -> _Bulk:
        connection = self._connection()
        if self._is_sqlite:
            connection.execute("PRAGMA foreign_keys=OFF")
            return self
        connection.execute(_QUICK)
        for row in connection.execute(_INDEXES).fetchall():
            connection.execute(row["dropped"])
            self._indexes.append(row["made"])
        return self

    def __exit__(self, *exception: object) -> None:
        connection = self._connection()
        if self._is_sqlite:
            connection.execute("PRAGMA foreign_keys=ON")
            return
        for made in self._indexes:
            connection.execute(made)
        connection.execute(_AS_BEFORE)
        # It does this by itself after a while; nobody does it for SQLite.
        connection.execute("ANALYZE")

    def __call__(self, statement: str, **values: int) -> None:
        with self._driver.transaction() as tx:
            tx.change(statement, **values)

    def newest(self, table: str) -> int:
        with self._driver.reading() as tx:
            row = tx.row(f"SELECT max(id) AS id FROM {table}")
        assert row is not None
        return int(str(row["id"]))
