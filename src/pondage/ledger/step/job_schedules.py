"""Schedules of deployed jobs: each time of the cron line begins a run, by the ledger's clock."""

from __future__ import annotations

from datetime import UTC, datetime

from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import job_runs
from pondage.ledger.tables.schedules import Time, times

REASON = "scheduled"


class _JobTime(Time, frozen=True, kw_only=True):
    environment: int
    definition: int
    env: str


def next_at(tx: Transaction, job: int) -> int | None:
    """Answer when a deployed job begins by itself next."""
    return tx.row("SELECT next_at FROM schedules WHERE job = :job", int, job=job)


def fire(tx: Transaction, ledger: Ledger) -> list[int]:
    """Begin the runs whose time has come and answer their actors; missed times follow `catch_up`."""
    begun: list[int] = []
    for one in tx.rows(
        """SELECT s.id AS id, s.cron AS cron, s.tz AS tz, s.catch_up AS catch_up, s.next_at AS next_at,
                  j.environment AS environment, j.definition AS definition, e.name AS env
           FROM schedules s JOIN jobs j ON j.id = s.job JOIN environments e ON e.id = j.environment
           WHERE s.next_at <= :now ORDER BY s.next_at, s.id /*lock skip of s*/""",
        _JobTime,
    ):
        due, following = times(one, tx.now)
        begun += [_begin(tx, ledger, one, at) for at in due]
        tx.change("UPDATE schedules SET next_at = :at WHERE id = :id", at=following, id=one.id)
    return begun


def _begin(tx: Transaction, ledger: Ledger, one: _JobTime, at: int) -> int:
    stored = ledger.job(tx, one.definition).stored
    when = datetime.fromtimestamp(at / 1e6, tz=UTC).isoformat()
    return job_runs.begin(
        tx,
        stored,
        public_id=ledger.ids.new("j"),
        environment=one.environment,
        definition=one.definition,
        context={"env": one.env, **stored.plan.context, "scheduled_at": when},
        reason=REASON,
    )
