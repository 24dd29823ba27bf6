"""Queues: work that the same processes can do. Who may claim from one is decided here, and nowhere else.

A queue is for one code digest, so that an upgraded worker never takes old work. What is left over when nobody has that
code any more can be bound to a newer one: then the queue is served by it, with everything that still comes into it.
"""

from __future__ import annotations

from typing import Literal, cast

import msgspec

from pondage.define.values.size import mebibytes
from pondage.ledger.database.driver import Row, Transaction, number, text
from pondage.ledger.queue.claims import heads

Role = Literal["worker", "questions"]
"""Which processes a queue is for: those that work, or those that answer questions of people and do nothing else."""


class QueueKey(msgspec.Struct, frozen=True, kw_only=True):
    """What work needs. Work with the same needs waits in the same queue."""

    code: str
    pool: str = ""
    labels: str = ""
    components: str = ""
    """The components that an execution runs, in order of their names; empty for what is no component's."""
    memory: str = ""
    """The sizes that it may have: the first is what it needs now, the next what it gets when that was not enough."""
    concurrency: int = 0
    """How many executions one worker takes at a time; 0 is as many as it has slots."""
    least: int = 0
    most: int = 0
    """How many workers there may be, by the depth of the queue; 0 leaves it to the machine."""
    role: Role = "worker"


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """What a process can do: its role, its code, its labels, its memory, and the components that it is kept for (None:
    all)."""

    code: str
    labels: frozenset[str] = frozenset()
    components: frozenset[str] | None = None
    mebibytes: int | None = None
    role: Role = "worker"

    def serves(self, row: Row) -> bool:
        """Answer whether such a process may claim from a queue whose code and role it has."""
        names = text(row, "components").split()
        if self.components is not None and not (names and self.components.issuperset(names)):
            return False
        return self.labels.issuperset(text(row, "labels").split()) and (
            self.mebibytes is None or needed(text(row, "memory")) <= self.mebibytes
        )


def needed(memory: str) -> int:
    """Answer the mebibytes that work of a queue needs now; 0 when it says nothing."""
    return mebibytes(memory.split()[0]) if memory else 0


def find(tx: Transaction, key: QueueKey) -> int:
    """Answer the queue of work that needs this, making it the first time."""
    values = msgspec.structs.asdict(key)
    found = tx.row(_SOUGHT, int, **{name: values[name] for name in _NAMES})
    if found is None:
        tx.change(
            """INSERT INTO queues (code, served_by, pool, labels, components, memory, concurrency, least, most, role)
               VALUES (:code, :code, :pool, :labels, :components, :memory, :concurrency, :least, :most, :role)
               ON CONFLICT DO NOTHING""",
            **values,
        )
        found = tx.row(_SOUGHT, int, **{name: values[name] for name in _NAMES})
    assert found is not None
    return found


_NAMES = ("code", "pool", "labels", "components", "memory", "role")
_SOUGHT = "SELECT id FROM queues WHERE " + " AND ".join(f"{name} = :{name}" for name in _NAMES)


def larger(tx: Transaction, queue: int) -> int | None:
    """Answer the queue for the next size of memory, or None when there is none."""
    key = tx.one(
        "SELECT code, pool, labels, components, memory, concurrency, least, most, role FROM queues WHERE id = :id",
        QueueKey,
        id=queue,
    )
    left = key.memory.split()[1:]
    return find(tx, msgspec.structs.replace(key, memory=" ".join(left))) if left else None


def served(tx: Transaction, offer: Offer) -> list[Row]:
    """Answer the queues that a process with this offer may claim from, and whether their pools are open."""
    rows = tx.rows(
        """SELECT q.id AS id, q.pool AS pool, q.labels AS labels, q.components AS components, q.memory AS memory,
                  q.concurrency AS concurrency, q.most AS most,
                  q.pool = '' OR EXISTS (SELECT 1 FROM pool_slots s
                                         WHERE s.pool = q.pool AND s.execution IS NULL) AS is_open
           FROM queues q WHERE q.served_by IN (:code, '') AND q.role = :role""",
        code=offer.code,
        role=offer.role,
    )
    return [row for row in rows if offer.serves(row)]


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """Work that waits, as whoever starts workers sees it: `waiting` is how much of it is due, at most `MOST`."""

    code: str
    mebibytes: int = 0
    waiting: int = 0
    concurrency: int = 0
    least: int = 0
    most: int = 0
    role: Role = "worker"
    turn: int | None = 0
    """Its place among what may be taken now, the oldest of each priority first; None: nothing of it is due yet."""


MOST = 1000
"""How far the depth of a queue is counted."""

# One probe for each queue that has something, of however many there ever were.
_WAITING = """WITH RECURSIVE present(queue) AS (
                  SELECT min(queue) FROM availabilities
                  UNION ALL
                  SELECT (SELECT min(a.queue) FROM availabilities a WHERE a.queue > p.queue)
                  FROM present p WHERE p.queue IS NOT NULL)
              SELECT q.id AS id, q.served_by AS code, q.labels AS labels, q.components AS components,
                     q.memory AS memory, q.concurrency AS concurrency, q.least AS least, q.most AS most,
                     q.role AS role
              FROM present p JOIN queues q ON q.id = p.queue"""
# Those that want workers also when nothing waits.
_STANDING = """SELECT q.id AS id, q.served_by AS code, q.labels AS labels, q.components AS components,
                      q.memory AS memory, q.concurrency AS concurrency, q.least AS least, q.most AS most,
                      q.role AS role
               FROM queues q WHERE q.least > 0 AND q.served_by = :newest"""


def needs(tx: Transaction, offer: Offer | None = None, *, newest: str = "") -> list[Need]:
    """Answer what waits, now or later, for each queue: what workers must be kept for.

    With `offer`, only what a process with these labels and components may claim, whatever its code, memory and role.
    A queue of the `newest` code that asks for standing workers is answered also when nothing waits.
    """
    rows = {number(row, "id"): row for row in tx.rows(_STANDING, newest=newest)} if newest else {}
    rows |= {number(row, "id"): row for row in tx.rows(_WAITING)}
    found = [row for _, row in sorted(rows.items()) if offer is None or offer.serves(row)]
    due = heads(tx, [number(row, "id") for row in found], is_alone=True) if found else []
    turns = {queue: place for place, queue in enumerate(dict.fromkeys(queue for queue, _ in due))}
    return [
        Need(
            code=text(row, "code"),
            mebibytes=needed(text(row, "memory")),
            waiting=_depth(tx, number(row, "id")) if number(row, "most") else 0,
            concurrency=number(row, "concurrency"),
            least=number(row, "least"),
            most=number(row, "most"),
            role=cast(Role, text(row, "role")),
            turn=turns.get(number(row, "id")),
        )
        for row in found
    ]


def _depth(tx: Transaction, queue: int) -> int:
    return tx.one(
        """SELECT count(*) AS depth FROM (SELECT 1 FROM availabilities
                                          WHERE queue = :queue AND priority IN (0, 1, 2, 3) AND available_at <= :now
                                          LIMIT :most) due""",
        int,
        queue=queue,
        most=MOST,
    )
