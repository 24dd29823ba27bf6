"""Tables of real files for the embedded engine, written by DuckDB itself."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb

from pondage.embedded.question import MEBIBYTE, Limits, Question, TableFiles

TYPES = {"n": "long", "name": "string"}


def schema(**columns: object) -> str:
    """Spark's JSON of a schema."""
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns.items()]
    return json.dumps({"type": "struct", "fields": fields})


def written(path: Path, select: str) -> str:
    """Write what a SELECT of DuckDB gives, and answer the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone='UTC'")
        connection.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    return str(path)


def rows_table(root: Path, name: str = "sales", rows: int = 10) -> TableFiles:
    """A table with a number and a text."""
    file = written(root / f"{name}.parquet", f"SELECT range AS n, 'row ' || range AS name FROM range({rows})")
    return TableFiles(name=name, schema=schema(**TYPES), files=(file,))


def limits(root: Path, **given: object) -> Limits:
    """Small limits, so that what is endless ends soon."""
    chosen = {"seconds": 60.0, "memory": 256 * MEBIBYTE, "spill": 16 * MEBIBYTE, "rows": 1_000} | given
    return Limits(scratch=str(root / "scratch"), **chosen)  # type: ignore[arg-type]


def question(root: Path, sql: str, *tables: TableFiles, **given: object) -> Question:
    """A question about `sales`, or about other tables."""
    return Question(sql=sql, tables=tables or (rows_table(root),), limits=limits(root, **given))
