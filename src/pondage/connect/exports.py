"""A table as one file: Parquet, CSV or JSON lines. The file is there whole, or as it was before."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from pondage.connect.arrow_rows import csv_line, json_line, rows_of
from pondage.errors import PondageError


def _parquet(rows: pa.RecordBatchReader, file: BinaryIO) -> int:
    count = 0
    with pq.ParquetWriter(file, rows.schema) as writer:
        for batch in rows:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


def _csv(rows: pa.RecordBatchReader, file: BinaryIO) -> int:
    count = 0
    file.write(csv_line(rows.schema.names))
    for batch in rows:
        for row in rows_of(batch):
            file.write(csv_line(row.values()))
            count += 1
    return count


def _json(rows: pa.RecordBatchReader, file: BinaryIO) -> int:
    count = 0
    for batch in rows:
        for row in rows_of(batch):
            file.write(json_line(row))
            count += 1
    return count


_FORMATS: dict[str, Callable[[pa.RecordBatchReader, BinaryIO], int]] = {
    ".parquet": _parquet, ".csv": _csv, ".json": _json, ".ndjson": _json, ".jsonl": _json,
}  # fmt: skip


def check_format(path: Path) -> None:
    """Raise `PondageError` for a file whose ending says no format."""
    if path.suffix.lower() not in _FORMATS:
        raise PondageError(
            f"{path.name} does not say its format", hint=f"end it with one of {', '.join(_FORMATS)}", code="BAD_FORMAT"
        )


def write(rows: pa.RecordBatchReader, path: Path) -> int:
    """Write all rows, put the file in the place of the old one, and answer how many rows there are."""
    check_format(path)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            count = _FORMATS[path.suffix.lower()](rows, file)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp is for its owner alone; a new file of anybody is as the mask says.
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return count
