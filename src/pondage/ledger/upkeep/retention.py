"""What is visible to outside readers, and which snapshots nobody needs any more."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from pondage.errors import NotFound
from pondage.ledger.data import landed, manifests, snapshots
from pondage.ledger.data.inputs import compact_inputs, query_inputs, ripple_inputs
from pondage.ledger.database.driver import Transaction, batches, numbered
from pondage.ledger.kinds.sample import SampleInputs
from pondage.ledger.tables import read_leases
from pondage.work.snapshot import Increment, SnapshotContent

BATCH = 500


class PublishedTable(msgspec.Struct, frozen=True, kw_only=True):
    """One Ripple of a Pond as its current Run shows it."""

    ripple: str
    freshness: int
    snapshot: str
    kind: str
    content: SnapshotContent


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """A Pond as readers see it: its current Run. `order` grows with every publication of the Pond."""

    environment: str
    pond: str
    major: int
    run: str
    order: int
    tables: tuple[PublishedTable, ...]


class DoomedSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot that may go, and where its files are."""

    id: int
    public_id: str
    path: str
    bytes: int


class _GoingBack(msgspec.Struct):
    """Of a Pond's state: the Run that is to be shown again."""

    rollback: str | None = None


_state = msgspec.json.Decoder(_GoingBack)
_sampled = msgspec.json.Decoder(SampleInputs)


def published(tx: Transaction, pond: int) -> Published | None:
    """Answer what a Pond shows now, or None when it has never completed a Run, or its environment was removed."""
    run = snapshots.current_run(tx, pond)
    if run is None:
        return None
    row = tx.row(
        """SELECT e.name AS environment, p.name AS pond, p.major AS major, r.public_id AS run
           FROM runs r JOIN ponds p ON p.id = r.pond JOIN environments e ON e.id = p.environment
           WHERE r.id = :run AND e.removed_at IS NULL""",
        tuple[str, str, int, str],
        run=run,
    )
    if row is None:
        return None
    environment, name, major, run_id = row
    given = snapshots.outputs(tx, run)
    loaded = snapshots.load(tx, [output.snapshot for output in given.values()])
    return Published(
        environment=environment,
        pond=name,
        major=major,
        run=run_id,
        order=run,
        tables=tuple(
            PublishedTable(
                ripple=ripple,
                freshness=output.freshness,
                snapshot=loaded[output.snapshot].public_id,
                kind=loaded[output.snapshot].kind,
                content=loaded[output.snapshot].content,
            )
            for ripple, output in given.items()
        ),
    )


def has_outbox(tx: Transaction) -> bool:
    """Answer whether an outbox row can be carried out now."""
    return tx.row("SELECT id FROM outbox WHERE done_at IS NULL AND available_at <= :now LIMIT 1") is not None


def newest_archive(tx: Transaction) -> str:
    """Answer the digest of the code that was deployed last, empty when nothing was."""
    return tx.row("SELECT archive FROM deployments ORDER BY id DESC LIMIT 1", str) or ""


def archive_like(tx: Transaction, start: str) -> str:
    """Answer the digest that begins like this; raises `NotFound` when none or several do."""
    found = tx.rows(
        "SELECT digest FROM archives WHERE substr(digest, 1, length(:start)) = :start LIMIT 2", str, start=start
    )
    if len(found) != 1:
        said = "no code" if not found else "more than one code"
        raise NotFound(f"{said} in the ledger has a digest that begins with {start!r}", code="NO_ARCHIVE")
    return found[0]


# In use: of a Run that was not thinned. The newest snapshot of a dataset always stays: it is what an unchanged Ripple
# goes on with. What no Run shows stays while it is young. Of an environment that was removed nothing stays for its own
# sake, only what a Run of another one shows.
_GONE = """EXISTS (SELECT 1 FROM datasets g JOIN ponds q ON q.id = g.pond JOIN environments v ON v.id = q.environment
                 WHERE g.id = s.dataset AND v.removed_at IS NOT NULL)"""
_JUDGED = """
SELECT s.id AS id, s.public_id AS public_id, s.path AS path, s.bytes AS bytes, s.created_at AS created_at,
       CASE WHEN ((s.created_at < :limit AND s.id <> (SELECT max(n.id) FROM snapshots n
                                                       WHERE n.dataset = s.dataset AND n.kind <> 'compact'))
                  OR {gone})
                 AND NOT EXISTS (
                     SELECT 1 FROM run_outputs o JOIN runs r ON r.id = o.run JOIN environments e ON e.id = r.environment
                     WHERE o.snapshot = s.id AND e.removed_at IS NULL AND r.thinned_at IS NULL)
            THEN 1 ELSE 0 END AS is_unused
FROM {snapshots} s ORDER BY s.id"""

_PAGE = _JUDGED.format(
    gone=_GONE,
    snapshots="(SELECT * FROM snapshots WHERE id > :after AND tombstoned_at IS NULL ORDER BY id LIMIT :batch)",
)

_TABLES = _JUDGED.format(
    gone=_GONE,
    snapshots="""(SELECT * FROM snapshots WHERE dataset = :dataset AND swept_at IS NULL
                  AND kind IN ('append', 'merge', 'partition', 'auto'))""",
)


class _Judged(DoomedSnapshot, frozen=True, kw_only=True):
    created_at: int
    is_unused: bool


class Unused(msgspec.Struct, frozen=True, kw_only=True):
    """What one look found, and where the next one begins; `after` is None when only young ones are left."""

    snapshots: list[DoomedSnapshot]
    after: int | None


def unused(tx: Transaction, *, young_us: int, read: set[int], after: int = 0) -> Unused:
    """Look at one batch of snapshots for those that neither somebody `read`s, nor a Run that is kept shows."""
    limit = tx.now - young_us
    rows = tx.rows(_PAGE, _Judged, after=after, limit=limit, batch=BATCH)
    found = [row for row in rows if row.is_unused]
    kept = _members(tx, [each.id for each in found], limit) if found else set()
    # Snapshots are numbered as they are written: behind one that is young there are only such.
    is_last = len(rows) < BATCH or rows[-1].created_at >= limit
    return Unused(
        snapshots=[each for each in found if each.id not in read and each.id not in kept],
        after=None if is_last else rows[-1].id,
    )


def used_again(tx: Transaction, ids: list[int], *, young_us: int, read: set[int]) -> set[int]:
    """Answer those of these snapshots that something needs after all: what is `read`, or what is kept."""
    if not ids:
        return set()
    marks, values = numbered("id", ids)
    limit = tx.now - young_us
    rows = tx.rows(
        _JUDGED.format(gone=_GONE, snapshots=f"(SELECT * FROM snapshots WHERE id IN ({marks}))"),
        _Judged,
        limit=limit,
        **values,
    )
    kept = read | _members(tx, ids, limit)
    return {row.id for row in rows if not row.is_unused} | (kept & set(ids))


def _members(tx: Transaction, ids: list[int], limit: int) -> set[int]:
    """Answer what belongs to a table that is in use: a batch lives as long as a table with it does."""
    marks, values = numbered("id", ids)
    growing = tx.rows(
        # A table may go on with batches that the same Ripple wrote in another environment.
        f"""SELECT DISTINCT t.id AS dataset FROM snapshots s JOIN datasets d ON d.id = s.dataset
            JOIN ponds p ON p.id = d.pond JOIN ponds q ON q.name = p.name AND q.major = p.major
            JOIN datasets t ON t.pond = q.id AND t.ripple = d.ripple
            WHERE s.id IN ({marks})
                  AND EXISTS (SELECT 1 FROM snapshots b
                              WHERE b.dataset = t.id AND b.kind IN ('append', 'merge', 'partition', 'auto'))""",
        int,
        **values,
    )
    found: set[int] = set()
    for dataset in growing:
        judged = tx.rows(_TABLES, _Judged, dataset=dataset, limit=limit)
        shown = manifests.newest(tx, [row.id for row in judged if not row.is_unused])
        found |= manifests.snapshots_of(tx, shown.values())
    return found


def revive(tx: Transaction, ids: set[int]) -> None:
    """Take the marks back from snapshots whose files are still there."""
    for some in batches(sorted(ids)):
        marks, values = numbered("id", some)
        tx.change(f"UPDATE snapshots SET tombstoned_at = NULL WHERE swept_at IS NULL AND id IN ({marks})", **values)


def going_back_to(state: str) -> str | None:
    """Answer the Run that a Pond is to show when its active one is over."""
    return _state.decode(state).rollback


def being_read(tx: Transaction, *, followed_us: int | None = None) -> set[int]:
    """Answer the snapshots that an active Run reads or may still read, of work that is under way, and of readers; and
    those that whoever follows a growing table has still to take in, unless he has not run for `followed_us`."""
    # A dropped Run's pins stay while an older Run of the same Pond is active: it may take them over. Each Pond is asked
    # alone: there are few with open Runs, and a planner that expects many would read all Runs that ever were.
    active = tx.rows(
        "SELECT pond, min(number) AS oldest FROM runs WHERE ended_at IS NULL GROUP BY pond", tuple[int | None, int]
    )
    runs = {
        run
        for pond, oldest in active
        for pins in tx.rows(
            "SELECT pins FROM runs WHERE pond = :pond AND number >= :oldest",
            dict[str, int | None],
            pond=pond,
            oldest=oldest,
        )
        for run in pins.values()
        if run is not None
    }
    # A Pond that is to go back to an older Run does so when the active one is over, however long that takes.
    for state in tx.rows("""SELECT state FROM ponds WHERE state LIKE '%"rollback":"%'""", str):
        found = tx.row("SELECT id FROM runs WHERE public_id = :older", int, older=going_back_to(state))
        runs.update(() if found is None else (found,))
    pinned: set[int] = set()
    for some in batches(sorted(runs)):
        marks, values = numbered("run", some)
        pinned.update(tx.rows(f"SELECT snapshot FROM run_outputs WHERE run IN ({marks})", int, **values))
    for kind, inputs in tx.rows("SELECT kind, inputs FROM dispatches WHERE outcome IS NULL", tuple[str, str]):
        pinned.update(one for one in _reads(kind, inputs) if one is not None)
    # Readers outside of the queue have a lease.
    pinned |= read_leases.leased(tx)
    pinned |= _followed(tx, 0 if followed_us is None else tx.now - followed_us)
    # Work that was claimed before a compaction reads the files of an older manifest.
    return pinned | manifests.members_of(tx, pinned)


_GROWING = """SELECT DISTINCT p.name AS name, p.major AS major
              FROM (SELECT DISTINCT dataset FROM snapshots WHERE kind IN ('append', 'merge', 'partition')) s
              JOIN datasets d ON d.id = s.dataset JOIN ponds p ON p.id = d.pond"""
_FOLLOWERS = f"""
WITH growing AS ({_GROWING})
SELECT s.content AS content FROM datasets d JOIN ponds p ON p.id = d.pond JOIN environments e ON e.id = p.environment
JOIN snapshots s ON s.id = (SELECT max(n.id) FROM snapshots n WHERE n.dataset = d.id AND n.kind <> 'compact')
WHERE p.removed_at IS NULL AND e.removed_at IS NULL AND s.created_at >= :since AND s.content LIKE '%"cursors":%'
      AND (EXISTS (SELECT 1 FROM growing g WHERE g.name = p.name AND g.major = p.major)
           OR p.id IN (SELECT q.pond FROM pond_sources q
                       JOIN growing g ON g.name = q.source_name AND g.major = q.source_major))"""
_BEHIND = """
SELECT b.id AS id FROM snapshots c JOIN datasets d ON d.id = c.dataset JOIN ponds p ON p.id = d.pond
JOIN ponds q ON q.name = p.name AND q.major = p.major JOIN datasets t ON t.pond = q.id AND t.ripple = d.ripple
JOIN snapshots b ON b.dataset = t.id AND b.id >= c.id
WHERE c.id = :cursor AND b.kind IN ('append', 'merge', 'partition')"""


def _followed(tx: Transaction, since: int) -> set[int]:
    """Answer the batches that lead from where followers are to the newest: without them they would have to read all."""
    contents = tx.rows(_FOLLOWERS, tuple[SnapshotContent], since=since)
    cursors = {each for (content,) in contents for each in (content.increment or Increment()).cursors.values()}
    return {found for cursor in sorted(cursors) for found in tx.rows(_BEHIND, int, cursor=cursor)}


def _reads(kind: str, inputs: str) -> Iterable[int | None]:
    """Answer the snapshots that a piece of work reads."""
    match kind:
        case "ripple":
            found = ripple_inputs(inputs)
            return [*found.snapshots.values(), *found.going_on]
        case "query":
            return query_inputs(inputs).views.values()
        case "compact":
            inputs_ = compact_inputs(inputs)
            return [inputs_.snapshot, *(each.snapshot for each in inputs_.members)]
        case "sample":
            return [one for tables in _sampled.decode(inputs).snapshots.values() for one in tables.values()]
        case _:
            return ()


def tombstone(tx: Transaction, ids: list[int]) -> int:
    """Mark snapshots as gone, before a file of them is touched. Answer how many were not marked before."""
    marked = 0
    for some in batches(ids):
        marks, values = numbered("id", some)
        marked += tx.change(
            f"UPDATE snapshots SET tombstoned_at = :now WHERE tombstoned_at IS NULL AND id IN ({marks})",
            **values,
        )
    return marked


def tombstoned(tx: Transaction, *, before: int) -> list[DoomedSnapshot]:
    """Answer one batch of the snapshots that were marked before a moment and whose files have not been deleted."""
    return tx.rows(
        """SELECT id, public_id, path, bytes FROM snapshots
           WHERE tombstoned_at < :limit AND swept_at IS NULL
           ORDER BY tombstoned_at LIMIT :batch""",
        DoomedSnapshot,
        limit=before,
        batch=BATCH,
    )


def swept(tx: Transaction, ids: list[int]) -> None:
    """Note that the files of marked snapshots were deleted."""
    for some in batches(ids):
        marks, values = numbered("id", some)
        tx.change(f"UPDATE snapshots SET swept_at = :now WHERE tombstoned_at IS NOT NULL AND id IN ({marks})", **values)


def kept_tokens(tx: Transaction, tokens: list[str]) -> set[str]:
    """Answer those tokens whose files must stay: the execution is open, its snapshot's files are not deleted yet, the
    run of a job that is the body of a Ripple has them, or they are a list that a snapshot or an open Run needs."""
    kept: set[str] = set()
    for start in range(0, len(tokens), BATCH):
        names = {f"token{position}": token for position, token in enumerate(tokens[start : start + BATCH])}
        marks = ", ".join(f":{name}" for name in names)
        rows = tx.rows(
            f"""SELECT e.token AS token FROM executions e LEFT JOIN snapshots s ON s.execution = e.id
                WHERE e.token IN ({marks})
                  AND (e.completed_at IS NULL OR (s.id IS NOT NULL AND s.swept_at IS NULL)
                       OR EXISTS (SELECT 1 FROM run_tables t WHERE t.execution = e.id))""",
            str,
            **names,
        )
        kept.update(rows)
        kept.update(landed.kept(tx, marks, names))
    return kept


class NamedSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot whose files should be there, and what it belongs to."""

    id: int
    public_id: str
    pond: str
    ripple: str
    run: str
    path: str
    content: SnapshotContent

    @property
    def files(self) -> tuple[str, ...]:
        """Answer the names of its files."""
        increment = self.content.increment
        if increment is None:
            return tuple(file.name for file in self.content.files)
        beside = (*(increment.changes or ()), *(increment.plus or ()), *increment.minus)
        return tuple(dict.fromkeys(file.name for file in (*self.content.files, *beside)))


def named(tx: Transaction, *, after: int) -> list[NamedSnapshot]:
    """Answer one batch of the snapshots that are not marked for deletion, in the order of their ids."""
    return tx.rows(
        """SELECT s.id AS id, s.public_id AS public_id, p.name AS pond, d.ripple AS ripple, r.public_id AS run,
                  s.path AS path, s.content AS content
           FROM (SELECT * FROM snapshots WHERE id > :after AND tombstoned_at IS NULL
                 ORDER BY id LIMIT :batch) s
           JOIN datasets d ON d.id = s.dataset JOIN ponds p ON p.id = d.pond JOIN runs r ON r.id = s.run
           ORDER BY s.id""",
        NamedSnapshot,
        after=after,
        batch=BATCH,
    )
