"""What changed since a moment: advancements in an order in which nothing can appear behind a reader's back.

SQLite commits in the order of ids. PostgreSQL does not, so there a reader's place is a transaction: everything that was
written by transactions before the oldest one that is still open is final, and is read; the rest is read later.
"""

from __future__ import annotations

import msgspec

from pondage.ledger.database.driver import Transaction, numbered
from pondage.ledger.ledger import Ledger

_MARKS = {
    "sqlite": """SELECT coalesce(min(id), coalesce(max(id), 0) + 1) AS oldest, coalesce(max(id), 0) + 1 AS until
                 FROM advancements""",
    "postgres": """SELECT coalesce(min(written_in), pg_snapshot_xmin(pg_current_snapshot())::text::bigint) AS oldest,
                          pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS until FROM advancements""",
}
_CHANGES = {
    "sqlite": """SELECT a.actor AS actor, x.kind AS kind, a.touched AS touched, a.error IS NOT NULL AS failed
                 FROM advancements a JOIN actors x ON x.id = a.actor
                 WHERE a.id >= :after AND a.id < :until AND x.environment = :environment ORDER BY a.id LIMIT :most""",
    "postgres": """SELECT a.actor AS actor, x.kind AS kind, a.touched AS touched, a.error IS NOT NULL AS failed
                   FROM advancements a JOIN actors x ON x.id = a.actor
                   WHERE a.written_in >= :after AND a.written_in < :until AND x.environment = :environment
                   ORDER BY a.written_in LIMIT :most""",
}
_touched = msgspec.json.Decoder(list[str])


class Marks(msgspec.Struct, frozen=True, kw_only=True):
    """Everything before `until` is final; what was before `oldest` is not kept any more."""

    oldest: int
    until: int


class Touched(msgspec.Struct, frozen=True, kw_only=True):
    """What advancements changed: Ponds by key, runs of jobs by their actor."""

    ponds: frozenset[str]
    runs: frozenset[int]


def marks(tx: Transaction, ledger: Ledger) -> Marks:
    """Answer how far can be read now, and from where."""
    return tx.one(_MARKS[ledger.driver.dialect], Marks)


def touched(tx: Transaction, ledger: Ledger, environment: int, *, after: int, until: int, most: int) -> Touched | None:
    """Answer what changed in an environment from `after` on and before `until`; None when it is more than `most`."""
    rows = tx.rows(
        _CHANGES[ledger.driver.dialect],
        tuple[int, str, str, bool],
        after=after,
        until=until,
        environment=environment,
        most=most + 1,
    )
    if len(rows) > most:
        return None
    # Only a step of a catchment touches Ponds.
    ponds = {pond for _, kind, body, _ in rows if kind == "catchment" for pond in _touched.decode(body)}
    # A step that failed may have halted its actor, and so every Pond of it.
    ponds.update(_ponds_of(tx, sorted({actor for actor, _, _, is_failed in rows if is_failed})))
    return Touched(ponds=frozenset(ponds), runs=frozenset(actor for actor, kind, _, _ in rows if kind == "run"))


def _ponds_of(tx: Transaction, actors: list[int]) -> set[str]:
    if not actors:
        return set()
    marked, values = numbered("actor", actors)
    return set(tx.rows(f"SELECT name || '@' || major AS pond FROM ponds WHERE actor IN ({marked})", str, **values))


def running(tx: Transaction, environment: int) -> dict[tuple[str, str | int], tuple[object, ...]]:
    """Answer who works on what just now and how far it is, by Pond and by run of a job: claims make no advancement."""
    found: dict[tuple[str, str | int], tuple[object, ...]] = {}
    for actor, pond, *work in tx.rows(
        _RUNNING, tuple[int, str | None, int, str | None, str, int | None], environment=environment
    ):
        key: tuple[str, str | int] = ("run", actor) if pond is None else ("pond", pond)
        found[key] = (*found.get(key, ()), tuple(work))
    return found


_RUNNING = """
SELECT d.actor AS actor, p.name || '@' || p.major AS pond, e.id AS id, e.progress AS progress, w.state AS state,
       (SELECT max(s.seq) FROM segments s WHERE s.execution = e.id) AS put
FROM executions e JOIN dispatches d ON d.id = e.dispatch JOIN processes w ON w.id = e.process
LEFT JOIN runs r ON r.id = d.run LEFT JOIN ponds p ON p.id = r.pond
WHERE e.completed_at IS NULL AND e.process IS NOT NULL AND d.environment = :environment AND d.actor IS NOT NULL
ORDER BY e.id"""
