"""Iceberg tables over the files that Spark wrote: `pyiceberg` commits them to a catalogue in SQL, no jar is needed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pondage.connect.iceberg_schema import iceberg_schema
from pondage.connect.tables import LinkedFile, needed
from pondage.ledger.upkeep.publications import Shown, Version

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table

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
        table = self._table() or self._create(schema)
        old = {_name(each.file.file_path): each.file for each in table.scan().plan_files()}
        wanted = {file.name: f"file://{file.path}" for file in files}
        properties = {_SNAPSHOT: version.snapshot, _NEWEST: version.newest, _RUN: version.run}
        with table.transaction() as transaction:
            with transaction.update_schema() as update:
                update.union_by_name(schema)
            # Spark's files have no field ids: their columns are found by name.
            mapping = transaction.table_metadata.schema().name_mapping
            transaction.set_properties({_MAPPING: mapping.model_dump_json()})
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

    def _create(self, schema: Schema) -> Table:
        self._catalogue.create_namespace_if_not_exists(self._identifier[:-1])
        return self._catalogue.create_table(self._identifier, schema, location=f"file://{self._directory}")


def _name(path: str) -> str:
    return "/".join(path.split("/")[-2:])
