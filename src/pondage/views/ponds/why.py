"""Why does a Pond not run (or why does it)? The machine's gates, then those of the host, as sentences."""

from __future__ import annotations

import msgspec

from pondage.kernel.demand.explain import explain
from pondage.kernel.demand.gates import IsBlocked
from pondage.kernel.demand.state import PondState, decode_state
from pondage.ledger.data import landed
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.step.ponds import LedgerPonds
from pondage.ledger.tables import actors
from pondage.ledger.tables.actors import PondRow
from pondage.views import find
from pondage.views.pond_names import PondNames, pond_names
from pondage.views.ponds.gates import Fields, GateView, gate_view
from pondage.views.ponds.status import Demand, State, pond_state
from pondage.views.runs.active import active_runs
from pondage.views.runs.processes import ProcessView, alive, heard_of
from pondage.views.runs.runs import read_failure

MOST_AHEAD = 1_000
"""Beyond this many the place in a queue is not counted."""


class WhyView(msgspec.Struct, frozen=True, kw_only=True):
    """A Pond and every gate between it and its next Run, the machine's first."""

    environment: str
    at: int
    pond: str
    state: State
    freshness: int | None
    staleness: int | None
    demand: Demand
    gates: tuple[GateView, ...]


def why(tx: Transaction, ledger: Ledger, environment: str, name: str) -> WhyView:
    """Explain a Pond; raises `NotFound` when there is none of that name."""
    found = find.environment_id(tx, environment)
    row = find.pond(tx, found, name)
    state = decode_state(row.state)
    active = active_runs(tx, found, {row.id: state}).get(row.id, ())
    demand = Demand(pull=state.has_pull, targets=tuple(state.targets))
    reasons = explain(LedgerPonds(tx, ledger, found), row.key, tx.now)
    blockers = [key for gate in reasons if isinstance(gate, IsBlocked) for key in gate.by]
    called = pond_names(tx, found, [row.key, *state.sources, *blockers])
    short = called(row.key) if "@" not in name else name
    gates: list[tuple[str, Fields]] = []
    for gate in reasons:
        fields = dict(msgspec.to_builtins(gate))
        kind = str(fields.pop("gate"))
        if kind == "failed":
            fields |= {**_last_failure(tx, row.id), "has_data": state.end_f >= 0}
        if kind == "blocked":
            fields["missing"] = [key for key in blockers if actors.pond(tx, found, key) is None]
        gates.append((kind, fields))
    gates += _host_gates(tx, ledger, row, state)
    has_run = state.end_f >= 0
    return WhyView(
        environment=environment,
        at=tx.now,
        pond=row.key,
        state=pond_state(state, active, demand),
        freshness=state.end_f if has_run else None,
        staleness=max(0, tx.now + state.end_delay - state.end_f) if has_run else None,
        demand=demand,
        gates=_views(short, gates, tx.now, called),
    )


_REFUSING = frozenset({"failed", "blocked", "killed", "not deployed"})
"""Behind these gates a Pulse is refused: nothing would come of it."""


def _views(pond: str, gates: list[tuple[str, Fields]], now: int, called: PondNames) -> tuple[GateView, ...]:
    missing = (called(str(fields["source"])) for gate, fields in gates if gate == "not deployed")
    unasked = {f"pondage why {name}" for name in missing}  # nobody can say why something that is not there does not run
    if any(gate in _REFUSING for gate, _ in gates):
        unasked.add(f"pondage pulse {pond}")  # it would be refused: what is in the way has a hint of its own
    views = (gate_view(pond, gate, fields, now=now, called=called) for gate, fields in gates)
    return tuple(msgspec.structs.replace(view, hint=None) if view.hint in unasked else view for view in views)


def _last_failure(tx: Transaction, pond: int) -> dict[str, object]:
    """Answer what the newest failed Run said, and where."""
    statement = "SELECT error FROM runs WHERE pond = :pond AND state = 'failed' ORDER BY number DESC LIMIT 1"
    error = read_failure(tx.row(statement, str, pond=pond))
    return {} if error is None else {"error": error.message, "place": error.place}


def _host_gates(tx: Transaction, ledger: Ledger, row: PondRow, state: PondState) -> list[tuple[str, Fields]]:
    found: list[tuple[str, Fields]] = []
    halted = tx.row("SELECT halted FROM actors WHERE id = :id", str, id=row.actor)
    if halted is not None:
        found.append(("halted", {"reason": halted}))
    known = alive(tx, ledger)
    processes = heard_of(known)
    waiting = [*tx.rows(_OWN, _Waiting, pond=row.id), *tx.rows(_IN_JOBS, _Waiting, pond=row.id)]
    if not processes and (waiting or state.has_pull or state.targets):
        found.append(("no process", {"silent": len(known)}))
    for each in waiting:
        found += _work_gates(tx, each, processes)
    for name, cron, tz, at in tx.rows(
        "SELECT name, cron, tz, next_at FROM schedules WHERE pond = :pond ORDER BY name",
        tuple[str, str, str, int],
        pond=row.id,
    ):
        if name in state.paused:
            continue  # the machine has said so
        found.append(("schedule", {"name": name, "cron": cron, "tz": tz, "next": at}))
    return [*found, *_data_gates(tx, row.id)]


class _Current(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    is_spliced: bool
    spliced_from: tuple[str, ...]
    older: int | None
    reason: str
    environment: str | None
    origin: str | None
    shown: int | None


def _data_gates(tx: Transaction, pond: int) -> list[tuple[str, Fields]]:
    """Answer what is unusual about the data that readers see now."""
    found: list[tuple[str, Fields]] = []
    since = _unchanged_since(tx, pond)
    if since is not None:
        found.append(("unchanged", {"since": since}))
    left = sum(each.content.left for each in landed.newest(tx, pond))
    if left:
        found.append(("behind", {"left": left}))
    for each in landed.newest(tx, pond):
        kept = each.content.upkeep
        if kept is not None and kept.how == "full":
            found.append(("computed whole", {"table": each.ripple, "said": kept.said}))
    current = tx.row(
        """SELECT r.number AS number, r.is_spliced AS is_spliced,
                  r.spliced_from AS spliced_from, o.number AS older, r.reason AS reason,
                  v.name AS environment, q.name AS origin, s.number AS shown
           FROM runs r LEFT JOIN runs o ON o.id = r.rollback_of LEFT JOIN runs s ON s.id = r.origin
                LEFT JOIN ponds q ON q.id = s.pond LEFT JOIN environments v ON v.id = s.environment
           WHERE r.id = (SELECT max(id) FROM runs WHERE pond = :pond AND state = 'completed')""",
        _Current,
        pond=pond,
    )
    if current is None:
        return found
    if current.is_spliced:
        found.append(("spliced", {"run": current.number}))
    if current.spliced_from:
        found.append(("spliced above", {"run": current.number, "from": list(current.spliced_from)}))
    if current.older is not None:
        found.append(("rolled back", {"run": current.number, "to": current.older}))
    if current.shown is not None and current.reason == "borrow":
        found.append(("borrowed", {"from": current.environment}))
    elif current.shown is not None:
        found.append(("promoted", {"run": f"{current.origin}#{current.shown} of {current.environment}"}))
    return found


# The unclaimed executions of the Pond's open Runs, those of jobs that are the bodies of its Ripples too; a Pond has few
# open Runs and one execution for each Ripple.
_WAITING = """SELECT d.node AS node, a.queue AS queue, a.priority AS priority, a.available_at AS available_at,
                     d.crashes AS crashes, d.crash_budget AS crash_budget, d.reason AS reason, e.epoch AS epoch,
                     e.is_isolated AS is_isolated, q.code AS code, q.pool AS pool, q.labels AS labels
              FROM runs r JOIN dispatches d ON d.run = r.id {body}
              JOIN executions e ON e.dispatch = {worked}.id AND e.completed_at IS NULL
              JOIN availabilities a ON a.execution = e.id JOIN queues q ON q.id = a.queue
              WHERE r.pond = :pond AND r.ended_at IS NULL ORDER BY a.available_at"""
_OWN = _WAITING.format(body="", worked="d")
_IN_JOBS = _WAITING.format(
    body="""JOIN job_runs j ON j.dispatch = d.id
            JOIN dispatches c ON c.actor = j.actor AND c.kind = 'component' AND c.outcome IS NULL""",
    worked="c",
)

_AHEAD = """SELECT count(*) AS ahead FROM
            (SELECT 1 FROM availabilities WHERE queue = :queue AND priority < :priority AND available_at <= :now
             UNION ALL
             SELECT 1 FROM availabilities
             WHERE queue = :queue AND priority = :priority AND available_at < :available_at
             LIMIT :most) ahead_of_it"""


class _Waiting(msgspec.Struct, frozen=True, kw_only=True):
    node: str
    queue: int
    priority: int
    available_at: int
    code: str
    pool: str
    labels: str
    crashes: int
    crash_budget: int
    reason: str
    epoch: int
    is_isolated: bool


def _work_gates(tx: Transaction, row: _Waiting, processes: tuple[ProcessView, ...]) -> list[tuple[str, Fields]]:
    ahead = tx.one(_AHEAD, int, queue=row.queue, priority=row.priority, available_at=row.available_at, most=MOST_AHEAD)
    code, labels = row.code, set(row.labels.split())
    workers = [each for each in processes if each.slots > 0 and each.role == "worker"]
    able = [each for each in workers if each.code == code and labels <= set(each.labels)]
    place: dict[str, object] = {
        "ripple": row.node,
        "position": ahead + 1,
        "available_at": row.available_at,
        "crashes": row.crashes,
        "crash_budget": row.crash_budget,
        "is_isolated": row.is_isolated,
        "epoch": row.epoch,
        "reason": row.reason,
        "has_room": any(each.busy < each.slots for each in able),
    }
    found: list[tuple[str, Fields]] = [("queue", place)]
    if processes and not able:
        found.append(("no worker", {"code": code, "labels": sorted(labels)}))
    if row.pool:
        size, taken = tx.one(
            "SELECT count(*) AS size, count(execution) AS taken FROM pool_slots WHERE pool = :pool",
            tuple[int, int],
            pool=row.pool,
        )
        if size == taken > 0:
            found.append(("pool", {"name": row.pool, "size": size}))
    return found


def _unchanged_since(tx: Transaction, pond: int) -> int | None:
    """Answer when the data of the last completed Run was made, if that Run used all of it again."""
    since, outputs, own = tx.one(
        """SELECT max(s.created_at) AS since, count(*) AS outputs, sum(CASE WHEN s.run = o.run THEN 1 ELSE 0 END) AS own
           FROM run_outputs o JOIN snapshots s ON s.id = o.snapshot
           WHERE o.run = (SELECT max(id) FROM runs WHERE pond = :pond AND state = 'completed')
             AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = o.run AND r.rollback_of IS NOT NULL)""",
        tuple[int | None, int, int | None],
        pond=pond,
    )
    return since if outputs and own == 0 else None
