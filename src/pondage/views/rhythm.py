"""How often each Pond ran over a time, how long it took, and what a fixed schedule would have done instead.

Everything is computed from what was recorded. The schedule it is compared with runs a Pond again and again, as fast as
the Pond itself can: what eager pipelines do. Its Runs beyond those of the slowest Pond are data that nobody read.
"""

from __future__ import annotations

import msgspec

from pondage.define.names import pond_key
from pondage.ledger.driver import Row, Transaction, number, text
from pondage.views import find

MOST_RUNS = 10_000


class PondRhythm(msgspec.Struct, frozen=True, kw_only=True):
    """One Pond: its completed Runs, their mean length, the mean time between them (null below two Runs)."""

    key: str
    runs: int
    mean_run_us: int
    mean_period_us: int | None
    scheduled_runs: int
    unread_runs: int


class RhythmView(msgspec.Struct, frozen=True, kw_only=True):
    """All Ponds that ran between two moments. `bottleneck` is the one with the longest mean Run."""

    environment: str
    since: int
    until: int
    bottleneck: str | None
    ponds: tuple[PondRhythm, ...]
    scheduled_runs: int
    unread_runs: int


def rhythm(tx: Transaction, environment: str, *, since: int, until: int) -> RhythmView:
    """Answer the rhythm of the Runs that started in [since, until). Looks at the newest Runs only."""
    rows = tx.rows(
        """SELECT p.name AS name, p.major AS major, r.started_at AS started_at, r.ended_at AS ended_at
           FROM (SELECT * FROM runs WHERE environment = :environment ORDER BY id DESC LIMIT :most) r
           JOIN ponds p ON p.id = r.pond
           WHERE r.state = 'completed' AND r.started_at >= :since AND r.started_at < :until ORDER BY r.id""",
        environment=find.environment_id(tx, environment),
        most=MOST_RUNS,
        since=since,
        until=until,
    )
    ran: dict[str, list[Row]] = {}
    for row in rows:
        ran.setdefault(pond_key(text(row, "name"), number(row, "major")), []).append(row)
    means = {key: _mean_run(found) for key, found in ran.items()}
    bottleneck = max(means, key=lambda key: means[key], default=None)
    most = len(ran[bottleneck]) if bottleneck is not None else 0
    ponds = tuple(_pond(key, found, means[key], most, until - since) for key, found in sorted(ran.items()))
    return RhythmView(
        environment=environment,
        since=since,
        until=until,
        bottleneck=bottleneck,
        ponds=ponds,
        scheduled_runs=sum(pond.scheduled_runs for pond in ponds),
        unread_runs=sum(pond.unread_runs for pond in ponds),
    )


def _mean_run(rows: list[Row]) -> int:
    return sum(number(row, "ended_at") - number(row, "started_at") for row in rows) // len(rows)


def _pond(key: str, rows: list[Row], mean_run: int, read: int, span: int) -> PondRhythm:
    ends = [number(row, "ended_at") for row in rows]
    scheduled = span // max(mean_run, 1_000)
    return PondRhythm(
        key=key,
        runs=len(rows),
        mean_run_us=mean_run,
        mean_period_us=(ends[-1] - ends[0]) // (len(ends) - 1) if len(ends) > 1 else None,
        scheduled_runs=scheduled,
        unread_runs=max(0, scheduled - read),
    )
