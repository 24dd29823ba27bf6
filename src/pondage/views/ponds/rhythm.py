"""How often each Pond ran over a time, how long it took, and what a fixed schedule would have done instead.

Everything is computed from what was recorded. The schedule is the cron line that the project gives, by which every Pond
would run, and rounds that come while one is busy become one. Without a line nothing is compared: what a project would
have done instead is known to nobody else.
"""

from __future__ import annotations

import msgspec

from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables.schedules import next_time
from pondage.views import find

MOST_RUNS = 10_000


class PondRhythm(msgspec.Struct, frozen=True, kw_only=True):
    """One Pond: its completed Runs, the mean time between them (null below two), the pace it could have.

    `pace_us` is the mean time of its slowest Ripple; null when nothing of it was executed, because nothing had changed.
    `scheduled_runs` is null without a schedule to compare with.
    """

    key: str
    runs: int
    mean_run_us: int
    mean_period_us: int | None
    pace_us: int | None
    scheduled_runs: int | None


class RhythmView(msgspec.Struct, frozen=True, kw_only=True):
    """All Ponds that ran between two moments. `bottleneck` is the one with the slowest Ripple.

    `schedule` is the cron line that was compared with and `rounds` how often it came due; without one there is nothing
    to compare with, and `scheduled_runs` is null. `deployed` counts all Ponds there are; under a cron line those that
    nobody asked for would have run, too.
    """

    environment: str
    since: int
    until: int
    bottleneck: str | None
    ponds: tuple[PondRhythm, ...]
    scheduled_runs: int | None
    schedule: str | None = None
    rounds: int = 0
    deployed: int = 0


_RUNS = """SELECT p.name || '@' || p.major AS pond, r.started_at AS started_at, r.ended_at AS ended_at
           FROM (SELECT * FROM runs WHERE environment = :environment ORDER BY id DESC LIMIT :most) r
           JOIN ponds p ON p.id = r.pond
           WHERE r.state = 'completed' AND r.started_at >= :since AND r.started_at < :until ORDER BY r.id"""

_RIPPLES = """SELECT p.name || '@' || p.major AS pond, count(*) AS tries,
                     CAST(sum(e.completed_at - e.claimed_at) AS BIGINT) AS spent
              FROM (SELECT * FROM runs WHERE environment = :environment ORDER BY id DESC LIMIT :most) r
              JOIN ponds p ON p.id = r.pond JOIN dispatches d ON d.run = r.id JOIN executions e ON e.dispatch = d.id
              WHERE r.started_at >= :since AND r.started_at < :until AND e.outcome = 'ok'
                    AND d.kind <> 'compact'
              GROUP BY p.name, p.major, d.node"""


_DEPLOYED = """SELECT count(*) AS count FROM ponds
               WHERE environment = :environment AND removed_at IS NULL AND borrows IS NULL"""


def rhythm(
    tx: Transaction, environment: str, *, since: int, until: int, compare: tuple[str, str] | None = None
) -> RhythmView:
    """Answer the rhythm of the Runs that started in [since, until). Looks at the newest Runs only.

    `compare` is a cron line with its time zone.
    """
    found = find.environment_id(tx, environment)
    ran: dict[str, list[tuple[int, int]]] = {}
    asked = {"environment": found, "most": MOST_RUNS, "since": since, "until": until}
    for key, started_at, ended_at in tx.rows(_RUNS, tuple[str, int, int], **asked):
        ran.setdefault(key, []).append((started_at, ended_at))
    paces: dict[str, int] = {}
    for key, tries, spent in tx.rows(_RIPPLES, tuple[str, int, int], **asked):
        paces[key] = max(paces.get(key, 0), spent // tries)
    bottleneck = max(ran, key=lambda key: paces.get(key, 0), default=None)
    rounds = None if compare is None else _rounds(*compare, since=since, until=until)
    ponds = tuple(_pond(key, rows, paces.get(key), until - since, rounds) for key, rows in sorted(ran.items()))
    deployed = sum(tx.rows(_DEPLOYED, int, environment=found))
    idle = (rounds or 0) * max(0, deployed - len(ponds))
    scheduled = sum(pond.scheduled_runs or 0 for pond in ponds) + idle
    return RhythmView(
        environment=environment,
        since=since,
        until=until,
        bottleneck=bottleneck,
        ponds=ponds,
        scheduled_runs=None if rounds is None else scheduled,
        schedule=None if compare is None else f"{compare[0]} ({compare[1]})",
        rounds=rounds or 0,
        deployed=deployed,
    )


def _rounds(cron: str, tz: str, *, since: int, until: int) -> int:
    """Answer how often a cron line comes due in [since, until)."""
    count, at = 0, next_time(cron, tz, since - 1)
    while at < until and count < MOST_RUNS:
        count, at = count + 1, next_time(cron, tz, at)
    return count


def _pond(key: str, runs: list[tuple[int, int]], pace: int | None, span: int, rounds: int | None) -> PondRhythm:
    ends = [ended_at for _, ended_at in runs]
    # What is quicker than a millisecond was not measured; what was not executed cannot be too slow for a round.
    most = None if pace is None else max(1, span // max(pace, 1_000))
    return PondRhythm(
        key=key,
        runs=len(runs),
        mean_run_us=sum(ended_at - started_at for started_at, ended_at in runs) // len(runs),
        mean_period_us=(ends[-1] - ends[0]) // (len(ends) - 1) if len(ends) > 1 else None,
        pace_us=pace,
        scheduled_runs=rounds if rounds is None or most is None else min(rounds, most),
    )
