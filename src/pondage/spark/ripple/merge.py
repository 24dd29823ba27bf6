"""Merging changed rows into a table: only the files that may hold one of their keys are written again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses
from pyspark.sql.types import BooleanType, ByteType, DateType, IntegerType, LongType, ShortType, StringType, StructType

from pondage.define.pond.contract import require_contract
from pondage.define.pond.definition import ExpectationDefinition
from pondage.errors import PondageError
from pondage.spark.files.changes import DELETED, with_deletions
from pondage.spark.files.footers import merged
from pondage.spark.files.read import read_snapshot
from pondage.spark.files.storage import secure
from pondage.spark.files.write import WrittenFiles, check_output, write_files
from pondage.spark.rules.expectations import ExpectationPlan, Facts
from pondage.spark.types.names import quoted
from pondage.work.snapshot import ColumnStatistics, DataFile, Increment, SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Types whose stored bounds compare as their values do; of any other, every file may hold the key.
_ORDERED = (ByteType, ShortType, IntegerType, LongType, StringType, DateType)


class MergeRefused(PondageError):
    """Changed rows that cannot be merged: a key is missing, null or there twice."""

    code = "BAD_MERGE"


class Merge(msgspec.Struct, frozen=True, kw_only=True):
    """What to merge into: `base` is asked after the author's code was called, and None when a table begins."""

    keys: tuple[str, ...]
    base: Callable[[], SnapshotContent | None]


def write_merged(
    session: SparkSession,
    frame: DataFrame,
    merge: Merge,
    *,
    destination: str,
    contract: str | None,
    rules: tuple[ExpectationDefinition, ...],
    checks: Mapping[str, Callable[[], Column]],
    facts: Facts,
    where: str,
) -> SnapshotContent:
    """Write the changed rows and the table files that they replace; answer both, unpublished.

    The author's plan is computed once. `increment` of the answer says which files of the base stay and where the
    changed rows are. Rules judge the changed rows that are not deletions.
    """
    check_output(frame.schema)
    schema = _table_schema(frame.schema, merge.keys, where)
    require_contract(contract, schema, where=where)
    has_mark = DELETED in frame.columns
    only = ~F.coalesce(F.col(DELETED), F.lit(False)) if has_mark else None
    plan = ExpectationPlan.decide(frame.schema, rules, checks, facts, only=only)
    checked = plan.write(session, frame, inside(destination, "changes"), where=where)
    changed = checked.files
    _require_keys(session, changed, merge.keys, where)
    base = merge.base()
    content = _merged(session, changed, base, schema, merge.keys, destination, has_mark=has_mark)
    secure(destination, [])
    return msgspec.structs.replace(content, expectations=checked.results, set_aside=checked.aside)


def _merged(
    session: SparkSession,
    changed: WrittenFiles,
    base: SnapshotContent | None,
    schema: str,
    keys: tuple[str, ...],
    destination: str,
    *,
    has_mark: bool,
) -> SnapshotContent:
    changes = tuple(in_folder(changed.path, footer.as_data_file()) for footer in changed.footers)
    touched = [] if base is None else touched_files(base.files, changes, schema, keys)
    kept = None if base is None else tuple(n for n in range(len(base.files)) if n not in set(touched))
    content = SnapshotContent(
        path=destination,
        files=changes,
        schema=schema,
        rows=changed.rows,
        bytes=sum(file.bytes for file in changes),
        increment=Increment(kept=kept),
    )
    if not touched and not has_mark:
        return content  # only new keys, and no column that is not the table's: the changed rows are its files
    rows = read_snapshot(session, msgspec.structs.replace(content, schema=with_deletions(schema)))
    alive = rows.where(~F.coalesce(F.col(DELETED), F.lit(False))).drop(DELETED)
    if base is not None and touched:
        old = msgspec.structs.replace(base, files=tuple(base.files[n] for n in touched), schema=schema)
        columns = [F.col(quoted(key)) for key in keys]
        alive = read_snapshot(session, old).join(rows.select(*columns), list(keys), "left_anti").unionByName(alive)
    names = StructType.fromJson(json.loads(schema)).names
    written = write_files(alive.select(*(F.col(quoted(name)) for name in names)), inside(destination, "table"))
    files = tuple(in_folder(written.path, footer.as_data_file()) for footer in written.footers)
    return msgspec.structs.replace(
        content,
        files=files,
        bytes=content.bytes + sum(file.bytes for file in files),
        increment=Increment(kept=kept, changes=changes),
    )


def touched_files(
    files: Sequence[DataFile], changes: Sequence[DataFile], schema: str, keys: Sequence[str]
) -> list[int]:
    """Answer the positions of the files that may hold a key of the changes, by what their footers say."""
    types = {field.name: field.dataType for field in StructType.fromJson(json.loads(schema)).fields}
    ordered = [key for key in keys if isinstance(types[key], _ORDERED)]
    return [
        position
        for position, file in enumerate(files)
        if any(all(_overlap(file, other, key) for key in ordered) for other in changes)
    ]


def may_hold(files: Sequence[DataFile], schema: str, columns: Sequence[str], keys: SnapshotContent) -> list[int]:
    """Answer the positions of the files that may hold, in these columns, one of the keys; null is a key like any other.

    The keys are the columns of their table, in the same order.
    """
    mine = {field.name: field.dataType for field in StructType.fromJson(json.loads(schema)).fields}
    theirs = StructType.fromJson(json.loads(keys.schema)).fields
    pairs = [
        (name, field.name)
        for name, field in zip(columns, theirs, strict=True)
        if isinstance(field.dataType, _ORDERED) and mine[name] == field.dataType
    ]
    return [
        position
        for position, file in enumerate(files)
        if any(all(_may_equal(file, name, other, key) for name, key in pairs) for other in keys.files)
    ]


def _may_equal(file: DataFile, name: str, other: DataFile, key: str) -> bool:
    first, second = file.columns.get(name), other.columns.get(key)
    if first is None or second is None or (first.nulls != 0 and second.nulls != 0):
        return True
    return _meet(first, second)


def _overlap(one: DataFile, other: DataFile, key: str) -> bool:
    first, second = one.columns.get(key), other.columns.get(key)
    return first is None or second is None or _meet(first, second)


def _meet(first: ColumnStatistics, second: ColumnStatistics) -> bool:
    bounds = (first.minimum, first.maximum, second.minimum, second.maximum)
    if all(isinstance(each, int) for each in bounds) or all(isinstance(each, str) for each in bounds):
        return not (bounds[1] < bounds[2] or bounds[3] < bounds[0])  # type: ignore[operator]  # all of one type
    return True


def inside(destination: str, what: str) -> str:
    """Answer a directory below one that belongs to an execution, with a name that is as unique as that one's."""
    return f"{destination}/{destination.rpartition('/')[2]}.{what}"


def in_folder(path: str, file: DataFile) -> DataFile:
    """Answer a file that lies in a directory below the one that its snapshot names."""
    return msgspec.structs.replace(file, name=f"{path.rpartition('/')[2]}/{file.name}")


def _table_schema(schema: StructType, keys: tuple[str, ...], where: str) -> str:
    missing = [key for key in keys if key not in schema.names]
    if missing:
        raise MergeRefused(
            f"{where} has no column {', '.join(missing)}, which is a key of its Pond",
            hint=f"return the key of every changed row; the result has {', '.join(schema.names)}",
        )
    fields = [field for field in schema.fields if field.name != DELETED]
    if DELETED in schema.names and not isinstance(schema[DELETED].dataType, BooleanType):
        raise MergeRefused(f"{where}: column {DELETED} must be a boolean", hint="true marks a deleted row")
    return str(StructType(fields).json())


def _require_keys(session: SparkSession, changed: WrittenFiles, keys: tuple[str, ...], where: str) -> None:
    """Raise `MergeRefused` for a key that is null, or that more than one changed row has."""
    if not changed.footers:
        return
    for key in keys:
        if merged(changed.footers, key).nulls:
            raise MergeRefused(f"{where}: key {key} is null in some rows", hint="filter them, or give them a key")
    if changed.rows == 1:
        return
    columns = [F.col(quoted(key)) for key in keys]
    rows = read_snapshot(session, changed.as_content(), columns=keys)
    twice = rows.groupBy(*columns).agg(F.count(F.lit(1)).alias("_n")).where("_n > 1").head(1)
    if twice:
        shown = ", ".join(f"{key}={twice[0][key]!r}" for key in keys)
        raise MergeRefused(
            f"{where} changes the row {shown} more than once in one Run",
            hint="keep the last change of each key, for example with dropDuplicates or a window",
        )
