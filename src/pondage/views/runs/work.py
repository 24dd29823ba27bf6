"""The work of an environment that is not done: what each process holds, and why the rest waits."""

from __future__ import annotations

from collections import Counter

import msgspec

from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.mapping import of_row
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors
from pondage.views.runs.active import Progress, read_progress
from pondage.views.runs.processes import ProcessView, alive, heard_of
from pondage.views.words import crash_text, list_text, wait_text

MOST = 500


class WorkView(msgspec.Struct, frozen=True, kw_only=True):
    """One execution that is open. `process` and `claimed_at` when somebody holds it, else `waits` says for what."""

    id: int
    kind: str
    node: str
    subject: str
    run: str | None
    attempt: int
    epoch: int
    created_at: int
    process: str | None = None
    claimed_at: int | None = None
    progress: Progress | None = None
    available_at: int | None = None
    waits: str = ""


class PoolView(msgspec.Struct, frozen=True, kw_only=True):
    """A pool: how many of its slots are taken, over the whole deployment."""

    name: str
    size: int
    taken: int


class WorkListView(msgspec.Struct, frozen=True, kw_only=True):
    """Everybody who is alive, what is open (claimed first, then in the order of the queue), and the pools."""

    environment: str
    at: int
    processes: tuple[ProcessView, ...]
    work: tuple[WorkView, ...]
    pools: tuple[PoolView, ...]
    has_more: bool


_OPEN = """
SELECT e.id AS id, d.kind AS kind, d.node AS node, d.number AS attempt, e.epoch AS epoch, e.created_at AS created_at,
       d.crashes AS crashes, d.crash_budget AS crash_budget, d.reason AS reason, e.is_isolated AS is_isolated,
       e.claimed_at AS claimed_at, e.progress AS progress_text, a.available_at AS available_at, w.public_id AS process,
       q.code AS code, q.pool AS pool, q.labels AS labels, q.role AS role,
       coalesce(r.public_id, j.public_id) AS run,
       coalesce(p.name || '@' || p.major, j.job, '') AS subject
FROM executions e JOIN dispatches d ON d.id = e.dispatch JOIN queues q ON q.id = d.queue
LEFT JOIN availabilities a ON a.execution = e.id LEFT JOIN processes w ON w.id = e.process
LEFT JOIN runs r ON r.id = d.run LEFT JOIN ponds p ON p.id = r.pond LEFT JOIN job_runs j ON j.actor = d.actor
WHERE e.completed_at IS NULL AND d.outcome IS NULL AND d.environment = :environment
ORDER BY CASE WHEN e.claimed_at IS NULL THEN 1 ELSE 0 END, a.available_at, e.id LIMIT :most"""


class _OpenRow(WorkView, frozen=True, kw_only=True):
    progress_text: str | None
    code: str
    pool: str
    labels: str
    role: str
    crashes: int
    crash_budget: int
    reason: str
    is_isolated: bool


def work(tx: Transaction, ledger: Ledger, environment: str) -> WorkListView:
    """Answer what is open in an environment, and why what nobody holds waits."""
    processes = alive(tx, ledger)
    workers = [each for each in heard_of(processes) if each.slots > 0]
    found = actors.environment(tx, environment)
    rows = [] if found is None else tx.rows(_OPEN, _OpenRow, environment=found, most=MOST + 1)
    pools = tuple(
        tx.rows(
            """SELECT pool AS name, count(*) AS size, count(execution) AS taken FROM pool_slots
               GROUP BY pool ORDER BY pool""",
            PoolView,
        )
    )
    full = {pool.name for pool in pools if pool.taken >= pool.size}
    ahead: Counter[tuple[str, str, str]] = Counter()
    views = []
    for row in rows[:MOST]:
        queue = row.code, row.pool, row.labels
        waits = "" if row.claimed_at is not None else _waits(row, workers, full, ahead[queue], tx.now)
        ahead[queue] += row.claimed_at is None
        views.append(of_row(WorkView, row, waits=waits, progress=read_progress(row.progress_text)))
    return WorkListView(
        environment=environment,
        at=tx.now,
        processes=processes,
        work=tuple(views),
        pools=pools,
        has_more=len(rows) > MOST,
    )


def _waits(row: _OpenRow, workers: list[ProcessView], full: set[str], ahead: int, now: int) -> str:
    """Answer in words what keeps an execution from being claimed."""
    if row.available_at is None:
        return "nobody may claim it yet"
    if row.available_at > now:
        words = f"it {wait_text(row.available_at, now, epoch=row.epoch, reason=row.reason)}"
        crashed = crash_text(row.crashes, row.crash_budget, is_isolated=row.is_isolated)
        return f"{words}; {crashed}" if row.crashes or row.is_isolated else words
    if row.role == "questions":
        able = [each for each in workers if each.role == row.role]
        return _waits_to_be_answered(able, ahead)
    workers = [each for each in workers if each.role == row.role]
    if not workers:
        return "no worker runs: pondage dev"
    labels = row.labels.split()
    able = [each for each in workers if set(labels) <= set(each.labels)]
    if not able:
        return f"no worker has the label {list_text(labels)}"
    able = [each for each in able if not row.code or each.code in ("", row.code)]
    if not able:
        return f"no worker runs its code (archive {row.code[:12]}) yet; a supervisor starts one"
    if row.pool in full:
        return f"all slots of pool {row.pool} are taken"
    if row.is_isolated:
        return f"{crash_text(row.crashes, row.crash_budget, is_isolated=True)}: by a worker that holds nothing else"
    if all(each.busy >= each.slots for each in able):
        return "every slot is taken" + (f"; {ahead} before it" if ahead else "; it is next")
    return "it is about to be claimed"


def _waits_to_be_answered(able: list[ProcessView], ahead: int) -> str:
    if not able:
        return "no process answers questions yet; a supervisor starts one"
    if all(each.busy >= each.slots for each in able):
        return "as many questions as may be are answered" + (f"; {ahead} before it" if ahead else "; it is next")
    return "it is about to be claimed"
