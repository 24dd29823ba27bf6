"""Views over exactly the files of a table, with exactly the columns and types that Spark reads them with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from pondage.embedded.question import TableFiles
from pondage.errors import PondageError

if TYPE_CHECKING:
    import duckdb

_PLAIN = {
    "string": "VARCHAR", "boolean": "BOOLEAN", "byte": "TINYINT", "short": "SMALLINT", "integer": "INTEGER",
    "long": "BIGINT", "float": "FLOAT", "double": "DOUBLE", "date": "DATE", "binary": "BLOB",
    "timestamp": "TIMESTAMPTZ", "timestamp_ntz": "TIMESTAMP", "void": "VARCHAR",
}  # fmt: skip


class Column(msgspec.Struct, frozen=True):
    """A column: its name, its type in DuckDB (None: as the files have it), and what the author says of it."""

    name: str
    type: str | None
    comment: str = ""


def columns_of(schema: str) -> list[Column]:
    """Answer the columns of Spark's JSON of a schema."""
    fields: list[dict[str, Any]] = msgspec.json.decode(schema)["fields"]
    return [
        Column(field["name"], duckdb_type(field["type"]), str((field.get("metadata") or {}).get("comment", "")))
        for field in fields
    ]


def duckdb_type(given: Any) -> str | None:
    """Answer a type of Spark's JSON as DuckDB writes it, None for one that DuckDB has no word for."""
    if isinstance(given, str):
        if given.startswith("decimal"):
            return given.upper()
        return "VARCHAR" if given.startswith(("char", "varchar")) else _PLAIN.get(given)
    match given.get("type"):
        case "array":
            element = duckdb_type(given["elementType"])
            return None if element is None else f"{element}[]"
        case "map":
            key, value = duckdb_type(given["keyType"]), duckdb_type(given["valueType"])
            return None if key is None or value is None else f"MAP({key}, {value})"
        case "struct":
            fields = [(field["name"], duckdb_type(field["type"])) for field in given["fields"]]
            if not fields or any(kind is None for _, kind in fields):
                return None
            return f"STRUCT({', '.join(f'{quoted(name)} {kind}' for name, kind in fields)})"
    return None


def quoted(name: str) -> str:
    """Answer a name as SQL has it, whatever it is made of."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Answer a text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


def local_files(table: TableFiles) -> list[str]:
    """Answer the files as paths of this machine; raises `PondageError` when they are not on it."""
    found: list[str] = []
    for file in table.files:
        path = "/" + file.removeprefix("file:").lstrip("/") if file.startswith("file:") else file
        if not path.startswith("/"):
            raise PondageError(
                f"the files of {table.name} are not on this machine, and the embedded engine reads only such",
                hint="ask a worker: --engine spark",
                code="NOT_LOCAL",
            )
        found.append(path)
    return found


def create(connection: duckdb.DuckDBPyConnection, table: TableFiles, *, where: str) -> None:
    """Make the view of a table; a column that no file has is null, as Spark reads it."""
    files, columns = local_files(table), columns_of(table.schema)
    view = f"CREATE VIEW {where}.{quoted(table.name)} AS SELECT"
    if not files:
        nulls = ", ".join(f"CAST(NULL AS {each.type or 'VARCHAR'}) AS {quoted(each.name)}" for each in columns)
        connection.execute(f"{view} {nulls} WHERE false")
        return
    source = _source(files)
    there = {name.lower() for name in connection.sql(f"SELECT * FROM {source}").columns}
    shown = ", ".join(_selected(each, is_there=each.name.lower() in there) for each in columns)
    connection.execute(f"{view} {shown} FROM {source}")


def _source(files: Sequence[str]) -> str:
    listed = ", ".join(literal(escaped(file)) for file in files)
    # Files of a table that has grown may have different columns; directories name partitions, columns stay in files.
    return f"read_parquet([{listed}], union_by_name={str(len(files) > 1).lower()}, hive_partitioning=false)"


def escaped(path: str) -> str:
    """Answer a path that is no pattern: whatever has a meaning in one stands for itself."""
    return "".join(f"[{each}]" if each in "*?[" else each for each in path)


def _selected(column: Column, *, is_there: bool) -> str:
    name = quoted(column.name)
    if not is_there:
        return f"CAST(NULL AS {column.type or 'VARCHAR'}) AS {name}"
    return name if column.type is None else f"CAST({name} AS {column.type}) AS {name}"
