"""Iceberg tables over the files that Spark wrote: `pyiceberg` commits them to a catalogue in SQL, no jar is needed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pondage.connect.tables import LinkedFile, needed
from pondage.define.pond.partition import parsed
from pondage.errors import PondageError
from pondage.ledger.upkeep.publications import Shown, Version

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.types import IcebergType, NestedField


_PRIMITIVES = {
    "boolean": "BooleanType",
    "byte": "IntegerType",
    "short": "IntegerType",
    "integer": "IntegerType",
    "long": "LongType",
    "float": "FloatType",
    "double": "DoubleType",
    "string": "StringType",
    "binary": "BinaryType",
    "date": "DateType",
    "timestamp": "TimestamptzType",
    "timestamp_ntz": "TimestampType",
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")

CATALOGUE = "pondage"
_SNAPSHOT, _NEWEST, _RUN = "pondage.snapshot", "pondage.newest", "pondage.run"
_MAPPING = "schema.name-mapping.default"


def catalogue_of(ledger: str, tables: Path) -> str:
    """Answer the address of the catalogue: in the ledger's PostgreSQL, else in a file of SQLite beside the tables."""
    if ledger.startswith(("postgres:", "postgresql:")):
        return "postgresql+psycopg:" + ledger.partition(":")[2]
    return f"sqlite:///{tables / 'iceberg.db'}"


def open_catalogue(address: str) -> SqlCatalog:
    """Open the catalogue, making its tables when this is the first time."""
    needed("pyiceberg.catalog.sql", "iceberg")
    from pyiceberg.catalog.sql import SqlCatalog

    return SqlCatalog(CATALOGUE, uri=address, warehouse="")


class IcebergTable:
    """One Iceberg table: `data` holds the links to the data files, `metadata` beside it what the format needs."""

    def __init__(self, catalogue: SqlCatalog, identifier: tuple[str, ...], directory: Path) -> None:
        self._catalogue = catalogue
        self._identifier = identifier
        self._directory = directory
        self.data = directory / "data"

    def shown(self) -> Shown | None:
        """Answer what the newest snapshot of ours says; None when there is none."""
        table = self._table()
        found = None if table is None else table.current_snapshot()
        while table is not None and found is not None:
            summary = found.summary
            if summary is not None and summary.get(_SNAPSHOT) is not None:
                return Shown(snapshot=str(summary[_SNAPSHOT]), newest=str(summary[_NEWEST]))
            # Somebody may have compacted the table.
            parent = found.parent_snapshot_id
            found = None if parent is None else table.snapshot_by_id(parent)
        return None

    def files(self) -> set[str]:
        """Answer the names of the files of the current version."""
        table = self._table()
        return set() if table is None else {_name(each.file.file_path) for each in table.scan().plan_files()}

    def commit(self, version: Version, files: Sequence[LinkedFile]) -> None:
        """Commit one snapshot: the files that are new in, those that are not in the table any more out."""
        from pyiceberg.io.pyarrow import parquet_files_to_data_files

        schema = iceberg_schema(version.content.schema)
        table = self._table() or self._create(schema, version.content.by)
        old = {_name(each.file.file_path): each.file for each in table.scan().plan_files()}
        wanted = {file.name: f"file://{file.path}" for file in files}
        properties = {_SNAPSHOT: version.snapshot, _NEWEST: version.newest, _RUN: version.run}
        with table.transaction() as transaction:
            before = transaction.table_metadata.schema()
            with transaction.update_schema() as update:
                update.union_by_name(schema)
                # A Run that is shown again may have fewer columns: every format shows the schema of that Run.
                for field in before.fields:
                    if field.name not in schema.column_names:
                        update.delete_column(field.name)
            transaction.set_properties({_MAPPING: _mapping(transaction.table_metadata)})
            with transaction.update_snapshot(snapshot_properties=properties).overwrite() as snapshot:
                for name in old.keys() - wanted.keys():
                    snapshot.delete_data_file(old[name])
                added = iter([place for name, place in wanted.items() if name not in old])
                for file in parquet_files_to_data_files(table.io, transaction.table_metadata, added):
                    snapshot.append_data_file(file)

    def _table(self) -> Table | None:
        from pyiceberg.exceptions import NoSuchTableError

        with suppress(NoSuchTableError):
            return self._catalogue.load_table(self._identifier)
        return None

    def _create(self, schema: Schema, by: tuple[str, ...]) -> Table:
        self._catalogue.create_namespace_if_not_exists(self._identifier[:-1])
        return self._catalogue.create_table(
            self._identifier, schema, location=f"file://{self._directory}", partition_spec=_partition_spec(schema, by)
        )


def _mapping(metadata: TableMetadata) -> str:
    """Answer where Spark's files have each column: they have no field ids, so columns are found by name.

    Columns that the table has no longer are named, too, for whoever reads its older versions.
    """
    from pyiceberg.table.name_mapping import NameMapping

    now = metadata.schema()
    mapped = {name: field for field in now.name_mapping.root for name in field.names}
    for schema in sorted(metadata.schemas, key=lambda each: each.schema_id, reverse=True):
        for field in schema.name_mapping.root:
            for name in field.names:
                mapped.setdefault(name, field)
    return NameMapping([*mapped.values()]).model_dump_json()


def _name(path: str) -> str:
    return "/".join(path.split("/")[-2:])


def _partition_spec(schema: Schema, by: tuple[str, ...]) -> PartitionSpec:
    """Answer how Iceberg cuts the table: as we do, or not at all where it knows no such transform (a named zone)."""
    from pyiceberg import transforms
    from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec

    columns = parsed(by)
    if not columns or any(each.tz != "UTC" for each in columns):
        return UNPARTITIONED_PARTITION_SPEC
    made = {None: "IdentityTransform", "hour": "HourTransform", "day": "DayTransform", "month": "MonthTransform"}
    return PartitionSpec(
        *(
            PartitionField(
                source_id=schema.find_field(each.column).field_id,
                field_id=1_000 + number,
                transform=getattr(transforms, made.get(each.unit, "YearTransform"))(),
                name=each.column if each.unit is None else f"{each.column}_{each.unit}",
            )
            for number, each in enumerate(columns)
        )
    )


def iceberg_schema(schema: str) -> Schema:
    """Answer the schema; raises `PondageError` (NO_SUCH_TYPE) for a type that Iceberg does not have."""
    needed("pyiceberg", "iceberg")
    from pyiceberg.schema import Schema

    return Schema(*_fields(json.loads(schema), count(1)))


def _fields(struct: dict[str, Any], ids: Iterator[int]) -> list[NestedField]:
    from pyiceberg.types import NestedField

    return [
        NestedField(field_id=next(ids), name=field["name"], field_type=_type(field["type"], ids), required=False)
        for field in struct["fields"]
    ]


def _type(given: str | dict[str, Any], ids: Iterator[int]) -> IcebergType:
    from pyiceberg import types

    if isinstance(given, str):
        decimal = _DECIMAL.fullmatch(given)
        if decimal is not None:
            return types.DecimalType(int(decimal[1]), int(decimal[2]))
        name = "string" if given.startswith(("varchar(", "char(")) else given
        if name in _PRIMITIVES:
            made: IcebergType = getattr(types, _PRIMITIVES[name])()
            return made
    elif given["type"] == "struct":
        return types.StructType(*_fields(given, ids))
    elif given["type"] == "array":
        return types.ListType(next(ids), _type(given["elementType"], ids), element_required=False)
    elif given["type"] == "map":
        key, value = next(ids), next(ids)
        return types.MapType(
            key, _type(given["keyType"], ids), value, _type(given["valueType"], ids), value_required=False
        )
    raise PondageError(
        f"Iceberg has no type {given if isinstance(given, str) else given['type']}",
        hint="cast the column to another type, or do not publish this Ripple as Iceberg",
        code="NO_SUCH_TYPE",
    )
