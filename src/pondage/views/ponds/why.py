"""Why does a Pond not run (or why does it)? The machine's gates, then those of the host, as sentences."""

from __future__ import annotations

import msgspec

from pondage.kernel.demand.explain import explain
from pondage.kernel.demand.state import PondState, decode_state
from pondage.ledger.database.driver import Row, Transaction, number, text, text_or_none
from pondage.ledger.ledger import Ledger
from pondage.ledger.step.ponds import LedgerPonds
from pondage.ledger.tables.actors import PondRow
from pondage.views import find
from pondage.views.ponds.gates import Fields, GateView, gate_view
from pondage.views.ponds.status import Demand, State, pond_state
from pondage.views.runs.active import active_runs
from pondage.views.runs.processes import ProcessView, alive
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
    short = row.key.partition("@")[0] if "@" not in name else name
    gates: list[tuple[str, Fields]] = []
    for gate in explain(LedgerPonds(tx, ledger, found), row.key, tx.now):
        fields = dict(msgspec.to_builtins(gate))
        kind = str(fields.pop("gate"))
        gates.append((kind, fields | _last_failure(tx, row.id) if kind == "failed" else fields))
    gates += _host_gates(tx, row, state)
    has_run = state.end_f >= 0
    return WhyView(
        environment=environment,
        at=tx.now,
        pond=row.key,
        state=pond_state(state, active, demand),
        freshness=state.end_f if has_run else None,
        staleness=max(0, tx.now + state.end_delay - state.end_f) if has_run else None,
        demand=demand,
        gates=_views(short, gates, tx.now),
    )


def _views(pond: str, gates: list[tuple[str, Fields]], now: int) -> tuple[GateView, ...]:
    missing = (str(fields["source"]).partition("@")[0] for gate, fields in gates if gate == "not deployed")
    unasked = {f"pondage why {name}" for name in missing}  # nobody can say why something that is not there does not run
    views = (gate_view(pond, gate, fields, now=now) for gate, fields in gates)
    return tuple(msgspec.structs.replace(view, hint=None) if view.hint in unasked else view for view in views)


def _last_failure(tx: Transaction, pond: int) -> dict[str, object]:
    """Answer what the newest failed Run said, and where."""
    row = tx.row(
        "SELECT error FROM runs WHERE pond = :pond AND state = 'failed' ORDER BY number DESC LIMIT 1", pond=pond
    )
    error = None if row is None else read_failure(text_or_none(row, "error"))
    return {} if error is None else {"error": error.message, "place": error.place}


def _host_gates(tx: Transaction, row: PondRow, state: PondState) -> list[tuple[str, Fields]]:
    found: list[tuple[str, Fields]] = []
    actor = tx.row("SELECT halted FROM actors WHERE id = :id", id=row.actor)
    if actor is not None and actor["halted"] is not None:
        found.append(("halted", {"reason": text(actor, "halted")}))
    processes = alive(tx)
    waiting = [*tx.rows(_OWN, pond=row.id), *tx.rows(_IN_JOBS, pond=row.id)]
    if not processes and (waiting or state.has_pull or state.targets):
        found.append(("no process", {}))
    for each in waiting:
        found += _work_gates(tx, each, processes)
    for each in tx.rows("SELECT name, cron, tz, next_at FROM schedules WHERE pond = :pond ORDER BY name", pond=row.id):
        found.append(
            (
                "schedule",
                {
                    "name": text(each, "name"),
                    "cron": text(each, "cron"),
                    "tz": text(each, "tz"),
                    "next": number(each, "next_at"),
                },
            )
        )
    return [*found, *_data_gates(tx, row.id)]


def _data_gates(tx: Transaction, pond: int) -> list[tuple[str, Fields]]:
    """Answer what is unusual about the data that readers see now."""
    found: list[tuple[str, Fields]] = []
    since = _unchanged_since(tx, pond)
    if since is not None:
        found.append(("unchanged", {"since": since}))
    current = tx.row(
        """SELECT r.number AS number, r.is_spliced AS is_spliced, o.number AS older, r.reason AS reason,
                  v.name AS environment, q.name AS origin, s.number AS shown
           FROM runs r LEFT JOIN runs o ON o.id = r.rollback_of LEFT JOIN runs s ON s.id = r.origin
                LEFT JOIN ponds q ON q.id = s.pond LEFT JOIN environments v ON v.id = s.environment
           WHERE r.id = (SELECT max(id) FROM runs WHERE pond = :pond AND state = 'completed')""",
        pond=pond,
    )
    if current is not None and current["is_spliced"]:
        found.append(("spliced", {"run": number(current, "number")}))
    if current is not None and current["older"] is not None:
        found.append(("rolled back", {"run": number(current, "number"), "to": number(current, "older")}))
    if current is not None and current["shown"] is not None:
        shown = f"{text(current, 'origin')}#{number(current, 'shown')} of {text(current, 'environment')}"
        if text(current, "reason") == "borrow":
            found.append(("borrowed", {"from": text(current, "environment")}))
        else:
            found.append(("promoted", {"run": shown}))
    return found


# The unclaimed executions of the Pond's open Runs, those of jobs that are the bodies of its Ripples too; a Pond has few
# open Runs and one execution for each Ripple.
_WAITING = """SELECT d.node AS node, a.queue AS queue, a.priority AS priority, a.available_at AS available_at,
                     q.code AS code, q.pool AS pool, q.labels AS labels
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


def _work_gates(tx: Transaction, row: Row, processes: tuple[ProcessView, ...]) -> list[tuple[str, Fields]]:
    ahead = tx.row(
        _AHEAD,
        queue=number(row, "queue"),
        priority=number(row, "priority"),
        available_at=number(row, "available_at"),
        most=MOST_AHEAD,
    )
    position = 1 if ahead is None else number(ahead, "ahead") + 1
    place: dict[str, object] = {
        "ripple": text(row, "node"),
        "position": position,
        "available_at": number(row, "available_at"),
    }
    found: list[tuple[str, Fields]] = [("queue", place)]
    code, labels = text(row, "code"), set(text(row, "labels").split())
    can_run = any(each.code == code and labels <= set(each.labels) for each in processes if each.slots > 0)
    if processes and not can_run:
        found.append(("no worker", {"code": code, "labels": sorted(labels)}))
    pool = text_or_none(row, "pool")
    if pool:
        slots = tx.row(
            "SELECT count(*) AS size, count(execution) AS taken FROM pool_slots WHERE pool = :pool", pool=pool
        )
        if slots is not None and number(slots, "size") == number(slots, "taken") > 0:
            found.append(("pool", {"name": pool, "size": number(slots, "size")}))
    return found


def _unchanged_since(tx: Transaction, pond: int) -> int | None:
    """Answer when the data of the last completed Run was made, if that Run used all of it again."""
    row = tx.row(
        """SELECT max(s.created_at) AS since, count(*) AS outputs, sum(CASE WHEN s.run = o.run THEN 1 ELSE 0 END) AS own
           FROM run_outputs o JOIN snapshots s ON s.id = o.snapshot
           WHERE o.run = (SELECT max(id) FROM runs WHERE pond = :pond AND state = 'completed')
             AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = o.run AND r.rollback_of IS NOT NULL)""",
        pond=pond,
    )
    if row is None or number(row, "outputs") == 0 or row["own"] != 0:
        return None
    return number(row, "since")
