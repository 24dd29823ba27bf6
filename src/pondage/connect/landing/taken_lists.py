"""Which files were taken: lists beside the data, each written once. A snapshot names the lists that hold for it.

Every batch writes what it took as a list of its own, and takes older lists that are not much longer along. So a table
of a million files has some twenty lists, and each file was written in about as many of them.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import pyarrow as pa
from pyarrow import fs, parquet

from pondage.connect.landing.decision import List
from pondage.connect.landing.listing import LandedFile
from pondage.connect.stores import store_of

State = Literal["taken", "aside", "ignored", "gone"]
FILE = "list.parquet"
BATCH = 65_536
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
    """The files that some lists hold, newer lists before older ones: their identities in few bytes."""

    def __init__(self, place: str, lists: Sequence[List]) -> None:
        self._place = place
        self._lists = lists
        # A million paths as Python's texts would be some hundred megabytes. Two files whose names have the same hash
        # would have to have the same size and time, too, to be taken for each other in silence.
        self._found: dict[int, int] = {}
        self._gone: set[int] = set()
        for each in lists:
            for batch in _batches(place, each.name, ["path", "size", "modified", "state"]):
                columns = (batch.column(name).to_pylist() for name in batch.schema.names)
                for path, size, modified, state in zip(*columns, strict=True):
                    self._found[hash(path)] = hash((size, modified))
                    if state == "gone":
                        self._gone.add(hash(path))

    def forget(self, paths: Iterable[str]) -> None:
        """Take it that these files were never there."""
        for path in paths:
            self._found.pop(hash(path), None)
            self._gone.discard(hash(path))

    def is_new(self, file: LandedFile) -> bool:
        """Answer whether no file of that name was taken."""
        return hash(file.path) not in self._found

    def is_replaced(self, file: LandedFile) -> bool:
        """Answer whether another file was there under that name when it was taken."""
        found = self._found.get(hash(file.path))
        return found is not None and found != hash((file.size, file.modified))

    def gone(self, paths: Iterable[str]) -> list[str]:
        """Answer what was taken, is not among these any more, and was not said to be gone yet."""
        missing = self._found.keys() - self._gone - {hash(each) for each in paths}
        if not missing:
            return []
        names = (path for each in self._lists for path in _read(self._place, each.name, ["path"])["path"].to_pylist())
        return sorted({name for name in names if hash(name) in missing})


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
