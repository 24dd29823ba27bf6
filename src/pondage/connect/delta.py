"""Delta tables over the files that Spark wrote: the package `deltalake` commits them, no jar is needed."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pondage.connect.tables import LinkedFile, needed, original_name, relinked
from pondage.define.pond.partition import as_text, parsed
from pondage.errors import PondageError
from pondage.ledger.upkeep.publications import Shown, Version
from pondage.work.snapshot import SnapshotContent

if TYPE_CHECKING:
    from deltalake import DeltaTable as Table
    from deltalake.transaction import AddAction

_SNAPSHOT, _NEWEST, _RUN = "pondage.snapshot", "pondage.newest", "pondage.run"
# Of other types a bound as we keep it is not one as Delta reads it; a wrong one would hide rows.
_BOUNDED = {"byte", "short", "integer", "long", "string", "date"}


class DeltaTable:
    """One Delta table. Its directory holds the links to the data files, and `_delta_log`."""

    def __init__(self, directory: Path) -> None:
        needed("deltalake", "delta")
        self.data = directory

    def shown(self) -> Shown | None:
        """Answer what the newest commit of ours says; None when there is no table."""
        table = self._table()
        if table is None:
            return None
        # The newest commit is nearly always ours; somebody may have compacted the table.
        for limit in (1, None):
            for commit in table.history(limit):
                if _SNAPSHOT in commit:
                    return Shown(snapshot=str(commit[_SNAPSHOT]), newest=str(commit[_NEWEST]))
        return None

    def files(self) -> set[str]:
        """Answer the names of the files of the current version."""
        table = self._table()
        return set() if table is None else _names(table)

    def commit(self, version: Version, files: Sequence[LinkedFile]) -> None:
        """Commit one version: the files that are new in, those that are not in the table any more out."""
        from deltalake import CommitProperties, Schema
        from deltalake.transaction import create_table_with_add_actions

        schema = Schema.from_json(_nullable(version.content.schema))
        by = _partitions(version.content)
        properties = CommitProperties(
            custom_metadata={_SNAPSHOT: version.snapshot, _NEWEST: version.newest, _RUN: version.run}
        )
        table = self._table()
        if table is None:
            added = [_added(file, version.content.schema, by) for file in files]
            create_table_with_add_actions(
                str(self.data), schema, added, mode="error", partition_by=by, commit_properties=properties
            )
            return
        by = _require_partitions(table, by)
        before = {original_name(name) for name in _names(table)}
        is_growing = before <= {file.name for file in files} and schema.to_json() == table.schema().to_json()
        if is_growing:
            added = [_added(file, version.content.schema, by) for file in files if file.name not in before]
        else:
            # One commit may not remove and add the same name, so a file that stays comes back under another one.
            fresh = [relinked(self.data, file, version.snapshot) if file.name in before else file for file in files]
            added = [_added(file, version.content.schema, by) for file in fresh]
        mode = "append" if is_growing else "overwrite"
        table.create_write_transaction([*added], mode, schema, partition_by=by, commit_properties=properties)

    def _table(self) -> Table | None:
        from deltalake import DeltaTable as Table

        return Table(str(self.data)) if Table.is_deltatable(str(self.data)) else None


def _names(table: Table) -> set[str]:
    return {"/".join(uri.split("/")[-2:]) for uri in table.file_uris()}


def _partitions(content: SnapshotContent) -> list[str]:
    """Answer the columns that Delta can have its partitions by; a derived one is no column of the table.

    Raises `PondageError` for an empty text, which Delta reads as null.
    """
    by = parsed(content.by)
    if any(each.unit is not None for each in by):
        return []
    if any("" in (file.partition or ()) for file in content.files):
        raise PondageError(
            f"a partition by {', '.join(content.by)} has an empty text, which Delta reads as null",
            hint="give such rows another value, or do not publish this table as Delta",
            code="EMPTY_PARTITION",
        )
    return [each.column for each in by]


def _require_partitions(table: Table, by: list[str]) -> list[str]:
    """Answer the columns of the table's partitions; raises `PondageError` when the files do not have them."""
    before = list(table.metadata().partition_columns)
    if before and before != by:
        raise PondageError(
            f"the Delta table is in partitions by {', '.join(before)}, and the Pond's by {', '.join(by) or 'nothing'}",
            hint="its versions go on with a new major version of the Pond",
            code="OTHER_PARTITIONS",
        )
    return before


def _added(file: LinkedFile, schema: str, by: Sequence[str]) -> AddAction:
    from deltalake.transaction import AddAction

    now_ms = int(time.time() * 1000)
    values = (file.data.partition or ()) if by else ()
    named = {name: None if each is None else as_text(each) for name, each in zip(by, values, strict=True)}
    return AddAction(file.name, file.path.stat().st_size, named, now_ms, True, json.dumps(_statistics(file, schema)))


def _statistics(file: LinkedFile, schema: str) -> dict[str, object]:
    types = {field["name"]: field["type"] for field in json.loads(schema)["fields"]}
    known = {name: each for name, each in file.data.columns.items() if isinstance(types.get(name), str)}
    bounded = {name: each for name, each in known.items() if types[name] in _BOUNDED and each.minimum is not None}
    return {
        "numRecords": file.data.rows,
        "nullCount": {name: each.nulls for name, each in known.items() if each.nulls is not None},
        "minValues": {name: each.minimum for name, each in bounded.items()},
        "maxValues": {name: each.maximum for name, each in bounded.items() if each.maximum is not None},
    }


def _nullable(schema: str) -> str:
    """Answer the schema without promises that older files of the table may not keep."""
    return json.dumps(_loosened(json.loads(schema)))


def _loosened(node: object) -> object:
    if isinstance(node, list):
        return [_loosened(each) for each in node]
    if not isinstance(node, dict):
        return node
    loose = {"nullable": True, "containsNull": True, "valueContainsNull": True}
    return {key: loose.get(key, _loosened(value)) for key, value in node.items()}
