"""Which files were taken: lists beside the data, each written once. A snapshot names the lists that hold for it.

Every batch writes what it took as a list of its own, and takes older lists that are not much longer along. So a table
of a million files has some twenty lists, and each file was written in about as many of them.
"""

from __future__ import annotations

import os
import secrets
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import pyarrow as pa
from pyarrow import fs, parquet

from pondage.connect.landing.decision import List
from pondage.connect.landing.listing import LandedFile
from pondage.connect.stores import store_of

State = Literal["taken", "aside", "ignored", "gone", "forgotten"]
FILE = "list.parquet"
BATCH = 65_536
_TOLD, _THERE = 1, 2
_SCHEMA = pa.schema([
    ("path", pa.string()),
    ("size", pa.int64()),
    ("modified", pa.int64()),
    ("state", pa.dictionary(pa.int8(), pa.string())),
    ("group", pa.int32()),
    ("at", pa.int64()),
    ("run", pa.dictionary(pa.int32(), pa.string())),
    ("why", pa.string()),
])  # fmt: skip


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a file. `group` says how it is read by the batch that takes it; `at` is when that was decided."""

    path: str
    size: int
    modified: int
    state: State = "taken"
    group: int = 0
    at: int = 0
    run: str = ""
    why: str = ""


class Taken:
    """The files that some lists hold, newer lists before older ones: their identities in few bytes.

    A million paths as Python's texts would be some hundred megabytes, so only their hashes are kept. Two files whose
    names have the same hash would have to have the same size and time, too, to be taken for each other in silence.
    """

    def __init__(self, place: str, lists: Sequence[List]) -> None:
        self._place = place
        self._lists = lists
        self._positions: dict[int, int] = {}
        self._identities = array("q")
        self._marks = bytearray()
        for each in lists:
            for batch in _batches(place, each.name, ["path", "size", "modified", "state"]):
                columns = (batch.column(name).to_pylist() for name in batch.schema.names)
                for path, size, modified, state in zip(*columns, strict=True):
                    if state == "forgotten":
                        self.forget([path])
                    else:
                        self._add(path, hash((size, modified)), _TOLD if state == "gone" else 0)

    def _add(self, path: str, identity: int, mark: int) -> None:
        position = self._positions.setdefault(hash(path), len(self._identities))
        if position == len(self._identities):
            self._identities.append(identity)
            self._marks.append(mark)
        else:
            self._identities[position] = identity
            self._marks[position] = mark

    def forget(self, paths: Iterable[str]) -> None:
        """Take it that these files were never there."""
        for path in paths:
            position = self._positions.pop(hash(path), None)
            if position is not None:
                self._marks[position] |= _THERE

    def is_new(self, file: LandedFile) -> bool:
        """Answer whether no file of that name was taken."""
        return hash(file.path) not in self._positions

    def is_replaced(self, file: LandedFile) -> bool:
        """Answer whether another file was there under that name when it was taken."""
        position = self._positions.get(hash(file.path))
        return position is not None and self._identities[position] != hash((file.size, file.modified))

    def see(self, path: str) -> None:
        """Take it that a file of this name is there now."""
        position = self._positions.get(hash(path))
        if position is not None:
            self._marks[position] |= _THERE

    def gone(self) -> list[Entry]:
        """Answer what was taken, was not seen, and was not said to be gone yet, as it was when it was taken."""
        if 0 not in self._marks:
            return []
        found: dict[str, Entry] = {}
        for each in self._lists:
            for batch in _batches(self._place, each.name, ["path", "size", "modified"]):
                for path, size, modified in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    position = self._positions.get(hash(path))
                    if position is not None and not self._marks[position]:
                        found[path] = Entry(path=path, size=size, modified=modified, state="gone")
        return [found[path] for path in sorted(found)]


def entries(place: str, lists: Sequence[List]) -> dict[str, Entry]:
    """Answer everything that is known of each file, from the lists of a snapshot, the oldest first."""
    found: dict[str, Entry] = {}
    for each in lists:
        found |= {row.path: row for row in read(place, each.name)}
    return found


def read(place: str, name: str) -> list[Entry]:
    """Answer one list."""
    return [Entry(**row) for row in _read(place, name, _SCHEMA.names).to_pylist()]


def write(
    place: str, added: Sequence[Entry], older: Sequence[List], *, at: int = 0, run: str = ""
) -> tuple[List, tuple[List, ...]]:
    """Write a list of what is new, and one that stands for it and for older ones of about its length, if there are any.

    Answers the list of what is new alone, which the batch reads, and the lists that hold from then on.
    """
    rows = [{**msgspec.structs.asdict(each), "at": at, "run": run} for each in added]
    new = _written(place, pa.Table.from_pylist(rows, schema=_SCHEMA))
    kept, joined = list(older), [new]
    while kept and kept[-1].files <= 2 * sum(each.files for each in joined):
        joined.insert(0, kept.pop())
    if len(joined) == 1:
        return new, (*kept, new)
    table = pa.concat_tables([_read(place, each.name, _SCHEMA.names) for each in joined], promote_options="permissive")
    # The last word on a file counts.
    newest = {path: position for position, path in enumerate(table["path"].to_pylist())}
    return new, (*kept, _written(place, table.take(pa.array(sorted(newest.values()), pa.int64()))))


def _written(place: str, table: pa.Table) -> List:
    name = f"l-{secrets.token_hex(12)}"
    system, path = store_of(f"{place}/{name}", code="WAREHOUSE")
    system.create_dir(path)
    with system.open_output_stream(f"{path}/{FILE}") as stream:
        parquet.write_table(table, stream, compression="zstd")
    if isinstance(system, fs.LocalFileSystem):
        _secure(Path(path))
    return List(name=name, files=table.num_rows)


def _secure(folder: Path) -> None:
    """Make a list survive a loss of power: the file, and the directories in which it is found again."""
    for each in (folder / FILE, folder, *folder.parents[:2]):
        descriptor = os.open(each, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _read(place: str, name: str, columns: Sequence[str]) -> pa.Table:
    system, path = store_of(f"{place}/{name}/{FILE}", code="WAREHOUSE")
    with system.open_input_file(path) as stream:
        return parquet.read_table(stream, columns=list(columns))


def _batches(place: str, name: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Answer a list part by part: a long one is never in memory as a whole."""
    system, path = store_of(f"{place}/{name}/{FILE}", code="WAREHOUSE")
    with system.open_input_file(path) as stream:
        yield from parquet.ParquetFile(stream).iter_batches(BATCH, columns=list(columns))
