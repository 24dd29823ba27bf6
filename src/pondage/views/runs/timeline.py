"""What an environment did between two moments, on one line of time: Runs, runs of jobs, deploys and acts of people."""

from __future__ import annotations

from typing import Literal

import msgspec

from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables import actors

MOST = 5_000
LOOKED_AT = 20_000
"""The newest Runs that are looked at: what is older than all of them is not shown."""


class Span(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A Run of a Pond or a run of a job; `end` is null while it is not over."""

    lane: str
    kind: Literal["pond", "job"]
    id: str
    state: str
    start: int
    end: int | None
    number: int | None = None
    reason: str = ""


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """Something that took no time: a deploy, an act of somebody."""

    at: int
    kind: str
    text: str


class Coming(msgspec.Struct, frozen=True, kw_only=True):
    """What a schedule does next."""

    lane: str
    at: int
    text: str


class TimelineView(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was going on in [since, until), oldest first. `has_more`: some of the older is left out."""

    environment: str
    at: int
    since: int
    until: int
    spans: tuple[Span, ...]
    moments: tuple[Moment, ...]
    coming: tuple[Coming, ...]
    has_more: bool


_RUNS = """SELECT p.name || '@' || p.major AS lane, 'pond' AS kind, r.public_id AS id, r.number AS number,
                  r.state AS state, r.reason AS reason, r.started_at AS start, r.ended_at AS "end"
           FROM (SELECT * FROM runs WHERE environment = :environment AND pond IS NOT NULL
                 ORDER BY id DESC LIMIT :looked_at) r JOIN ponds p ON p.id = r.pond
           WHERE r.started_at < :until AND (r.ended_at IS NULL OR r.ended_at >= :since)
           ORDER BY r.id DESC LIMIT :most"""
_JOBS = """SELECT job AS lane, 'job' AS kind, public_id AS id, state, reason, started_at AS start, ended_at AS "end"
           FROM (SELECT * FROM job_runs WHERE environment = :environment ORDER BY id DESC LIMIT :looked_at) j
           WHERE started_at < :until AND (ended_at IS NULL OR ended_at >= :since) ORDER BY j.id DESC LIMIT :most"""
_ACTS = """SELECT at, who, verb, target FROM
           (SELECT * FROM audit WHERE environment = :environment ORDER BY id DESC LIMIT :looked_at) a
           WHERE at >= :since AND at < :until AND refused IS NULL ORDER BY a.id DESC LIMIT :most"""

_COMING = """SELECT coalesce(p.name || '@' || p.major, j.name) AS lane, s.next_at AS at,
                    'schedule ' || s.cron || ' (' || s.tz || ')' AS text
             FROM schedules s LEFT JOIN ponds p ON p.id = s.pond LEFT JOIN jobs j ON j.id = s.job
             WHERE coalesce(p.environment, j.environment) = :environment ORDER BY s.next_at"""


def timeline(tx: Transaction, environment: str, *, since: int, until: int | None = None) -> TimelineView:
    """Answer what went on from a moment to another, or to now; an environment that nobody deployed to has nothing."""
    found = actors.environment(tx, environment)
    until = tx.now if until is None else until
    asked = {"environment": -1 if found is None else found, "since": since, "until": until}
    runs = tx.rows(_RUNS, Span, **asked, most=MOST + 1, looked_at=LOOKED_AT)
    spans = runs[:MOST] + tx.rows(_JOBS, Span, **asked, most=MOST, looked_at=LOOKED_AT)
    acts = tx.rows(_ACTS, tuple[int, str, str, str], **asked, most=MOST, looked_at=LOOKED_AT)
    return TimelineView(
        environment=environment,
        at=tx.now,
        since=since,
        until=until,
        spans=tuple(sorted(spans, key=lambda span: (span.start, span.lane))),
        moments=tuple(Moment(at=at, kind=verb, text=_act(who, target)) for at, who, verb, target in reversed(acts)),
        coming=tuple(tx.rows(_COMING, Coming, environment=asked["environment"])),
        has_more=len(runs) > MOST,
    )


def _act(who: str, target: str) -> str:
    return f"{target} by {who}" if target else f"by {who}"
