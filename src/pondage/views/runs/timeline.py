"""What an environment did between two moments, on one line of time: Runs, runs of jobs, deploys and acts of people."""

from __future__ import annotations

from typing import Literal

import msgspec

from pondage.define.values.names import pond_key
from pondage.ledger.database.driver import Transaction, number, number_or_none, text
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


_RUNS = """SELECT r.public_id AS id, r.number AS number, r.state AS state, r.reason AS reason,
                  r.started_at AS started_at, r.ended_at AS ended_at, p.name AS name, p.major AS major
           FROM (SELECT * FROM runs WHERE environment = :environment AND pond IS NOT NULL
                 ORDER BY id DESC LIMIT :looked_at) r JOIN ponds p ON p.id = r.pond
           WHERE r.started_at < :until AND (r.ended_at IS NULL OR r.ended_at >= :since)
           ORDER BY r.id DESC LIMIT :most"""

_JOBS = """SELECT public_id AS id, job, state, reason, started_at, ended_at FROM
           (SELECT * FROM job_runs WHERE environment = :environment ORDER BY id DESC LIMIT :looked_at) j
           WHERE started_at < :until AND (ended_at IS NULL OR ended_at >= :since) ORDER BY j.id DESC LIMIT :most"""

_ACTS = """SELECT at, who, verb, target, note FROM
           (SELECT * FROM audit WHERE environment = :environment ORDER BY id DESC LIMIT :looked_at) a
           WHERE at >= :since AND at < :until ORDER BY a.id DESC LIMIT :most"""

_COMING = """SELECT s.next_at AS at, s.cron AS cron, s.tz AS tz, p.name AS name, p.major AS major, j.name AS job
             FROM schedules s LEFT JOIN ponds p ON p.id = s.pond LEFT JOIN jobs j ON j.id = s.job
             WHERE coalesce(p.environment, j.environment) = :environment ORDER BY s.next_at"""


def timeline(tx: Transaction, environment: str, *, since: int, until: int | None = None) -> TimelineView:
    """Answer what went on from a moment to another, or to now; an environment that nobody deployed to has nothing."""
    found = actors.environment(tx, environment)
    until = tx.now if until is None else until
    asked = {"environment": -1 if found is None else found, "since": since, "until": until}
    runs = tx.rows(_RUNS, **asked, most=MOST + 1, looked_at=LOOKED_AT)
    spans = [
        Span(
            lane=pond_key(text(row, "name"), number(row, "major")),
            kind="pond",
            id=text(row, "id"),
            state=text(row, "state"),
            start=number(row, "started_at"),
            end=number_or_none(row, "ended_at"),
            number=number(row, "number"),
            reason=text(row, "reason"),
        )
        for row in runs[:MOST]
    ]
    spans += [
        Span(
            lane=text(row, "job"),
            kind="job",
            id=text(row, "id"),
            state=text(row, "state"),
            start=number(row, "started_at"),
            end=number_or_none(row, "ended_at"),
            reason=text(row, "reason"),
        )
        for row in tx.rows(_JOBS, **asked, most=MOST, looked_at=LOOKED_AT)
    ]
    return TimelineView(
        environment=environment,
        at=tx.now,
        since=since,
        until=until,
        spans=tuple(sorted(spans, key=lambda span: (span.start, span.lane))),
        moments=tuple(
            Moment(at=number(row, "at"), kind=text(row, "verb"), text=_act(text(row, "who"), text(row, "target")))
            for row in reversed(tx.rows(_ACTS, **asked, most=MOST, looked_at=LOOKED_AT))
        ),
        coming=tuple(
            Coming(
                lane=pond_key(text(row, "name"), number(row, "major")) if row["name"] is not None else text(row, "job"),
                at=number(row, "at"),
                text=f"schedule {text(row, 'cron')} ({text(row, 'tz')})",
            )
            for row in tx.rows(_COMING, environment=asked["environment"])
        ),
        has_more=len(runs) > MOST,
    )


def _act(who: str, target: str) -> str:
    return f"{target} by {who}" if target else f"by {who}"
