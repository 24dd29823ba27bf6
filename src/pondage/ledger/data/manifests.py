"""Tables that grow: which snapshots' files make up the table of a snapshot, and which batches lead from one to another.

A snapshot of an append or merge Pond holds its own batch. Its *manifest* lists the snapshots whose files are its table.
A compaction writes the same rows into fewer files and adds a newer manifest: what was pinned stays what it is.
The manifest of a table in partitions has pages instead, which say where the files of each partition are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from pondage.define.pond.partition import Partition
from pondage.ledger.data import pages
from pondage.ledger.data.pages import Entry, Member, PageRef
from pondage.ledger.database.driver import Transaction, batches, numbered
from pondage.work.snapshot import Changes, DataFile, Increment, SetAside, SnapshotContent

SMALL_BYTES = 32 * 1024 * 1024
"""A batch below this size is a small one."""
GROWING = ("append", "merge", "partition", "auto")
"""The kinds of snapshots that have a manifest; `compact` is only ever a member of one."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The table of a snapshot; without an id it is a snapshot that is its own table. It has members or pages."""

    id: int | None
    members: tuple[Member, ...]
    small: int
    rows: int
    bytes: int
    pages: tuple[PageRef, ...] = ()


class Author(msgspec.Struct, frozen=True, kw_only=True):
    """Who makes the rows of a batch: the Run, and the code of its Ripple."""

    run: str
    code: str


class _Stored(Manifest, frozen=True, kw_only=True):
    snapshot: int


def newest(tx: Transaction, snapshots: Iterable[int]) -> dict[int, Manifest]:
    """Answer the manifest of each of these snapshots that has one."""
    found: dict[int, Manifest] = {}
    for some in batches(sorted(set(snapshots))):
        marks, values = numbered("id", some)
        rows = tx.rows(
            f"""SELECT snapshot, id, members, small, rows, bytes, pages FROM manifests
                WHERE snapshot IN ({marks}) ORDER BY id""",
            _Stored,
            **values,
        )
        found.update({row.snapshot: row for row in rows})
    return found


def contents(tx: Transaction, snapshots: Iterable[int], *, is_retained: bool = False) -> dict[int, SnapshotContent]:
    """Answer what each of these snapshots wrote itself; with `is_retained` not those that are marked for deletion."""
    found: dict[int, SnapshotContent] = {}
    for some in batches(sorted(set(snapshots))):
        marks, values = numbered("id", some)
        rows = tx.rows(
            f"SELECT id, content FROM snapshots WHERE id IN ({marks}) AND (:all = 1 OR tombstoned_at IS NULL)",
            tuple[int, SnapshotContent],
            all=int(not is_retained),
            **values,
        )
        found.update(rows)
    return found


def tables(tx: Transaction, own: dict[int, SnapshotContent]) -> dict[int, SnapshotContent]:
    """Answer the whole table of each of these snapshots, given what each wrote itself."""
    manifests = newest(tx, own)
    members = members_by(tx, manifests)
    parts = contents(tx, {each.snapshot for some in members.values() for each in some})
    return {each: _whole(own[each], manifest, members[each], parts) for each, manifest in manifests.items()}


def members_by(tx: Transaction, manifests: Mapping[int, Manifest]) -> dict[int, tuple[Member, ...]]:
    """Answer all members of each manifest, those that its pages name too; a page that some share is read once."""
    found = pages.entries(tx, (page for each in manifests.values() for page in each.pages))
    return {
        key: (*each.members, *(entry.member for page in each.pages for entry in found[page.id]))
        for key, each in manifests.items()
    }


def _whole(
    own: SnapshotContent, manifest: Manifest, members: tuple[Member, ...], parts: dict[int, SnapshotContent]
) -> SnapshotContent:
    return msgspec.structs.replace(
        own,
        files=tuple(files_of(members, parts)),
        rows=manifest.rows,
        bytes=manifest.bytes,
        set_aside=own.set_aside if own.is_merge or own.by else set_aside(members, parts, own),
    )


def table(tx: Transaction, snapshot: int) -> tuple[int | None, SnapshotContent]:
    """Answer the whole table of a snapshot and the id of the manifest it was taken from, None without one."""
    own = contents(tx, [snapshot])[snapshot]
    manifest = newest(tx, [snapshot]).get(snapshot)
    if manifest is None:
        return None, own
    (members,) = members_by(tx, {snapshot: manifest}).values()
    files = files_of(members, contents(tx, {each.snapshot for each in members}))
    return manifest.id, msgspec.structs.replace(own, files=tuple(files), rows=manifest.rows, bytes=manifest.bytes)


def files_of(members: Sequence[Member], parts: dict[int, SnapshotContent]) -> list[DataFile]:
    """Answer the files of a table, with full paths, in the order of its manifest."""
    found: list[DataFile] = []
    for member in members:
        part = parts[member.snapshot]
        for position in range(len(part.files)) if member.files is None else member.files:
            file = part.files[position]
            found.append(msgspec.structs.replace(file, name=part.place(file)))
    return found


def set_aside(members: Sequence[Member], parts: dict[int, SnapshotContent], newest: SnapshotContent) -> SetAside | None:
    """Answer the rows that were set aside from all batches of a table that is appended to, in its `newest` schema.

    Not for merges: what was wrong with a row may have been mended since, so only the newest batch counts there.
    """
    bad = [each for each in (parts[member.snapshot].bad for member in members) if each is not None]
    if not bad:
        return None
    rejected = newest.rejected_table
    return SetAside(
        path=rejected.path,
        files=tuple(msgspec.structs.replace(file, name=each.place(file)) for each in bad for file in each.files),
        schema=rejected.schema,
        rows=sum(each.rows for each in bad),
        bytes=sum(each.bytes for each in bad),
    )


def record(
    tx: Transaction, *, snapshot: int, kind: str, content: SnapshotContent, author: Author | None = None
) -> None:
    """Write down which table a batch makes. Only the guarded commit calls this, with the snapshot just inserted."""
    increment = content.increment or Increment()
    base = None if increment.base is None else _base(tx, increment.base)
    # A batch of which every row was set aside belongs to the table of those.
    own = (Member(snapshot),) if content.files or (kind in ("append", "auto") and content.set_aside) else ()
    parent, position = None, 1
    if base is not None:
        before, parent, position = base
        if parent is not None and (before != kind or (kind == "partition" and increment.kept is not None)):
            # Continued in another mode: the rows stay, but what a batch means has changed.
            parent, position = None, 1
    if kind == "partition":
        made = _partitioned(tx, snapshot, content, author or Author(run="", code=""))
    else:
        made = measured(tx, own) if base is None else _extended(tx, increment, own)
    tx.write(
        "INSERT INTO batches (snapshot, parent, number) VALUES (:snapshot, :parent, :number)",
        snapshot=snapshot,
        parent=parent,
        number=position,
    )
    insert(tx, snapshot, made)


def _base(tx: Transaction, snapshot: int) -> tuple[str, int | None, int] | None:
    """Answer the kind of the snapshot that is extended, itself if it can be followed from, and the next number."""
    kind, last = tx.one(
        """SELECT s.kind AS kind, b.number AS number FROM snapshots s LEFT JOIN batches b ON b.snapshot = s.id
           WHERE s.id = :id""",
        tuple[str, int | None],
        id=snapshot,
    )
    return kind, None if last is None else snapshot, 1 if last is None else last + 1


def _extended(tx: Transaction, increment: Increment, own: tuple[Member, ...]) -> Manifest:
    assert increment.base is not None
    if increment.kept is None:
        before = newest(tx, [increment.base]).get(increment.base) or measured(tx, [Member(increment.base)])
        added = measured(tx, own)
        (was,) = members_by(tx, {increment.base: before}).values()
        return Manifest(
            id=None,
            members=was + own,
            small=before.small + added.small,
            rows=before.rows + added.rows,
            bytes=before.bytes + added.bytes,
        )
    # The worker looked at exactly this manifest; one that a compaction added since has other files.
    members: Sequence[Member] = [Member(increment.base)]
    if increment.manifest is not None:
        seen = tx.one(
            "SELECT snapshot, id, members, small, rows, bytes, pages FROM manifests WHERE id = :id",
            _Stored,
            id=increment.manifest,
        )
        (members,) = members_by(tx, {seen.snapshot: seen}).values()
    return measured(tx, [*_kept(tx, members, set(increment.kept)), *own])


def _partitioned(tx: Transaction, snapshot: int, content: SnapshotContent, author: Author) -> Manifest:
    """Answer the table of the base with the batch's partitions replaced."""
    increment = content.increment or Increment()
    before: tuple[PageRef, ...] = ()
    if increment.base is not None and increment.kept is None:
        found = newest(tx, [increment.base]).get(increment.base)
        before = () if found is None else found.pages
    made = [
        Entry(
            partition=partition,
            member=Member(snapshot, tuple(positions)),
            **_sizes([content.files[position] for position in positions]),
            run=author.run,
            code=author.code,
            made_at=tx.now,
        )
        for partition, positions in by_partition(content.files).items()
    ]
    return paged(pages.replaced(tx, before, increment.partitions, made))


def by_partition(files: Sequence[DataFile]) -> dict[Partition, list[int]]:
    """Answer the positions of the files of each partition."""
    found: dict[Partition, list[int]] = {}
    for position, file in enumerate(files):
        assert file.partition is not None, "every file of such a table belongs to one partition"
        found.setdefault(file.partition, []).append(position)
    return found


def _sizes(files: Sequence[DataFile]) -> dict[str, int]:
    small = sum(is_small([file]) for file in files)
    return {
        "rows": sum(file.rows for file in files),
        "bytes": sum(file.bytes for file in files),
        "small": max(0, small - 1),
    }


def moved(entry: Entry, member: Member, files: Sequence[DataFile]) -> Entry:
    """Answer a partition whose rows are in other files now; who made them stays."""
    return msgspec.structs.replace(entry, member=member, **_sizes(files))


def paged(found: tuple[PageRef, ...]) -> Manifest:
    """Answer a manifest of these pages with its sizes."""
    return Manifest(
        id=None,
        members=(),
        small=sum(page.small for page in found),
        rows=sum(page.rows for page in found),
        bytes=sum(page.bytes for page in found),
        pages=found,
    )


def _kept(tx: Transaction, members: Sequence[Member], kept: set[int]) -> list[Member]:
    parts = contents(tx, {each.snapshot for each in members})
    found: list[Member] = []
    at = 0
    for member in members:
        positions = tuple(range(len(parts[member.snapshot].files))) if member.files is None else member.files
        left = tuple(position for offset, position in enumerate(positions) if at + offset in kept)
        at += len(positions)
        if left:
            found.append(member if left == positions else Member(member.snapshot, left))
    return found


def measured(tx: Transaction, members: Sequence[Member]) -> Manifest:
    """Answer a manifest of these members with its sizes."""
    parts = contents(tx, {each.snapshot for each in members})
    sizes = [files_of([member], parts) for member in members]
    return Manifest(
        id=None,
        members=tuple(members),
        small=sum(is_small(files) for files in sizes),
        rows=sum(file.rows for files in sizes for file in files),
        bytes=sum(file.bytes for files in sizes for file in files),
    )


def is_small(files: Sequence[DataFile]) -> bool:
    """Answer whether the files of a member are worth putting together with others."""
    return sum(file.bytes for file in files) < SMALL_BYTES


def insert(tx: Transaction, snapshot: int, manifest: Manifest) -> None:
    """Give a snapshot a manifest, which is the newest from now on."""
    tx.write(
        """INSERT INTO manifests (snapshot, members, pages, small, rows, bytes)
           VALUES (:snapshot, :members, :pages, :small, :rows, :bytes)""",
        snapshot=snapshot,
        members=msgspec.json.encode(manifest.members).decode(),
        pages=msgspec.json.encode(manifest.pages).decode(),
        small=manifest.small,
        rows=manifest.rows,
        bytes=manifest.bytes,
    )


_CHAIN = """
WITH RECURSIVE chain(snapshot, parent, number) AS (
    SELECT snapshot, parent, number FROM batches WHERE snapshot = :pin
    UNION ALL
    SELECT b.snapshot, b.parent, b.number FROM chain c JOIN batches b ON b.snapshot = c.parent WHERE c.number > :least)
SELECT snapshot FROM chain ORDER BY number"""


def between(tx: Transaction, *, cursor: int, pin: int) -> list[int]:
    """Answer the batches that come after a snapshot, up to another one; none when they do not lead there."""
    least = tx.row("SELECT number FROM batches WHERE snapshot = :cursor", int, cursor=cursor)
    if cursor == pin or least is None:
        return []
    chain = tx.rows(_CHAIN, int, pin=pin, least=least)
    return chain[1:] if chain and chain[0] == cursor else []


def changes(tx: Transaction, *, cursor: int, pin: int) -> Changes | None:
    """Answer the batches that lead from one snapshot of a table to another, or None when that is not known.

    It is not when the later table does not continue the earlier one, or when a batch in between is gone.
    """
    end = contents(tx, [pin]).get(pin)
    if end is None:
        return None
    keys = end.increment.keys if end.increment is not None else ()
    if cursor == pin:
        return Changes(batches=(), schema=end.schema, keys=keys, by=end.by, is_signed=end.is_signed)
    later = between(tx, cursor=cursor, pin=pin)
    if not later:
        return None
    if end.by:
        return _replaced(tx, pin, end, contents(tx, later).values())
    parts = contents(tx, later, is_retained=True)
    if len(parts) < len(later) or any((part.increment or Increment()).keys != keys for part in parts.values()):
        return None
    found = [parts[each] for each in later]
    if end.is_signed:
        return Changes(
            batches=tuple(_came(part) for part in found),
            schema=end.schema,
            is_signed=True,
            gone=tuple(_went(part) for part in found),
        )
    return Changes(batches=tuple(_changed(part) for part in found), schema=end.schema, keys=keys)


def _replaced(tx: Transaction, pin: int, end: SnapshotContent, parts: Iterable[SnapshotContent]) -> Changes:
    """Answer what a table has in the partitions that these batches replaced, whatever they held in between."""
    gone = dict.fromkeys(each for part in parts for each in (part.increment or Increment()).partitions)
    manifest = newest(tx, [pin])[pin]
    members = [entry.member for entry in pages.listed(tx, manifest.pages, only=gone)]
    files = files_of(members, contents(tx, {member.snapshot for member in members}))
    rows, size = sum(file.rows for file in files), sum(file.bytes for file in files)
    content = msgspec.structs.replace(end, files=tuple(files), rows=rows, bytes=size)
    return Changes(batches=(content,), schema=end.schema, by=end.by, partitions=tuple(gone))


def _changed(part: SnapshotContent) -> SnapshotContent:
    """Answer a batch with the files that hold its changed rows."""
    if part.increment is None or part.increment.changes is None:
        return part
    return msgspec.structs.replace(part, files=part.increment.changes)


def _came(part: SnapshotContent) -> SnapshotContent:
    increment = part.increment or Increment()
    return part if increment.plus is None else _only(part, increment.plus)


def _went(part: SnapshotContent) -> SnapshotContent:
    return _only(part, (part.increment or Increment()).minus)


def _only(part: SnapshotContent, files: tuple[DataFile, ...]) -> SnapshotContent:
    rows, size = sum(file.rows for file in files), sum(file.bytes for file in files)
    return msgspec.structs.replace(part, files=files, rows=rows, bytes=size)


def members_of(tx: Transaction, snapshots: Iterable[int]) -> set[int]:
    """Answer every snapshot that a manifest of one of these names, an older manifest included: it may be read now."""
    found: set[int] = set()
    for some in batches(sorted(set(snapshots))):
        marks, values = numbered("id", some)
        statement = f"""SELECT snapshot, id, members, small, rows, bytes, pages FROM manifests
                        WHERE snapshot IN ({marks})"""
        found |= snapshots_of(tx, tx.rows(statement, _Stored, **values))
    return found


def snapshots_of(tx: Transaction, manifests: Iterable[Manifest]) -> set[int]:
    """Answer every snapshot that has files of these tables."""
    members = members_by(tx, dict(enumerate(manifests)))
    return {member.snapshot for some in members.values() for member in some}


def whole_table(tx: Transaction, snapshot: int) -> tuple[int | None, SnapshotContent] | None:
    """Answer the same as `table`, None when a file of it was marked for deletion."""
    found = newest(tx, [snapshot]).get(snapshot)
    if found is None:
        return None if not contents(tx, [snapshot], is_retained=True) else table(tx, snapshot)
    return table(tx, snapshot) if is_whole(tx, [snapshot]) else None


def is_whole(tx: Transaction, snapshots: Iterable[int]) -> bool:
    """Answer whether no file of these tables was marked for deletion."""
    parts = snapshots_of(tx, newest(tx, snapshots).values())
    return len(contents(tx, parts, is_retained=True)) == len(parts)
