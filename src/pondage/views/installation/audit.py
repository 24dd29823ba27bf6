"""Who changed what, and why: the audit rows of an environment, newest first."""

from __future__ import annotations

import msgspec

from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables import actors

MOST = 1_000
LOOKED_AT = 20_000
"""A list that is narrowed looks at this many of the newest rows, so that its cost does not grow."""


class AuditLine(msgspec.Struct, frozen=True, kw_only=True):
    """One act: `target` is a Pond, a run, a token or a project; `note` is what its author gave as the reason.

    What has a code in `refused` was not done, and the note says why.
    """

    id: int
    at: int
    who: str
    verb: str
    target: str
    note: str
    refused: str | None = None


class AuditView(msgspec.Struct, frozen=True, kw_only=True):
    """Audit rows, newest first. Go on with `before` = the last `id` while `has_more`."""

    environment: str
    at: int
    lines: tuple[AuditLine, ...]
    has_more: bool


_LINES = """SELECT id, at, who, verb, target, note, refused FROM
            (SELECT * FROM audit WHERE environment = :environment AND id < :before ORDER BY id DESC LIMIT :looked_at) a
            WHERE (:verb = '' OR verb = :verb) AND (:target = '' OR target = :target)
            ORDER BY id DESC LIMIT :limit"""


def audit(
    tx: Transaction,
    environment: str,
    *,
    verb: str | None = None,
    target: str | None = None,
    before: int | None = None,
    limit: int = 100,
) -> AuditView:
    """Answer the newest acts, or those before a row; an environment that nobody deployed to has none."""
    limit = max(1, min(limit, MOST))
    found = actors.environment(tx, environment)
    is_narrow = bool(verb or target)
    rows = tx.rows(
        _LINES,
        AuditLine,
        environment=-1 if found is None else found,
        before=2**62 if before is None else before,
        looked_at=LOOKED_AT if is_narrow else limit + 1,
        verb=verb or "",
        target=target or "",
        limit=limit + 1,
    )
    return AuditView(
        environment=environment,
        at=tx.now,
        has_more=len(rows) > limit,
        lines=tuple(rows[:limit]),
    )
