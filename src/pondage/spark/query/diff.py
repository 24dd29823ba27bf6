"""How two states of a table differ: columns, and rows by their key."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

import msgspec
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    MapType,
    NumericType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from pondage.errors import PondageError
from pondage.spark.files.read import read_snapshot
from pondage.spark.query.query import answer_of
from pondage.spark.types.names import quoted
from pondage.work.diff import ColumnDifference, TableDifference
from pondage.work.snapshot import SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SIDE = "_pondage_row"
_COUNT = "_pondage_count"
_CHANGE = "_change"
_NESTED = (ArrayType, MapType, StructType, VariantType)
FLOATING = (DoubleType, FloatType)
_COMPARED = (NumericType, (DateType, TimestampType, TimestampNTZType))
"""Kinds of types that Spark compares with one another by their values."""


def compare(
    session: SparkSession,
    ripple: str,
    before: SnapshotContent | None,
    after: SnapshotContent | None,
    *,
    keys: Sequence[str],
    limit: int,
    tolerance: float = 0.0,
) -> TableDifference:
    """Answer how the rows and the columns of a table differ; a state that is not there has no rows.

    Floating numbers that differ by no more than `tolerance`, of the larger or of 1, are the same. Rows without a key
    are compared by their numbers rounded to as many digits.

    It costs one pass over both for the numbers and one for the sample; two states of the same files cost nothing.
    Raises `PondageError` (BAD_KEY) when a key is no column of both, or not unique.
    """
    plain = TableDifference(
        ripple=ripple,
        keys=tuple(keys),
        before_rows=None if before is None else before.rows,
        after_rows=None if after is None else after.rows,
        schema=_schema(_types(before), _types(after)),
    )
    if before is None or after is None:
        return msgspec.structs.replace(
            plain, added=0 if after is None else after.rows, removed=0 if before is None else before.rows
        )
    if before.paths == after.paths:
        return plain
    old, new = read_snapshot(session, before), read_snapshot(session, after)
    shared = [name for name in old.columns if name in new.columns]
    old, new = _alike(old, new, shared), _alike(new, old, shared)
    if not keys:
        old, new = _rounded(old.select(*_cols(shared)), tolerance), _rounded(new.select(*_cols(shared)), tolerance)
        return _whole(plain, old, new, limit)
    missing = [key for key in keys if key not in shared]
    if missing:
        raise _bad_key(f"{ripple}: {', '.join(missing)} is no column of both states", shared)
    return _by_key(plain, old, new, [name for name in shared if name not in keys], limit, tolerance)


def _by_key(
    plain: TableDifference, old: DataFrame, new: DataFrame, columns: list[str], limit: int, tolerance: float
) -> TableDifference:
    keys = list(plain.keys)
    left, right = _sided(old, keys, columns, "before"), _sided(new, keys, columns, "after")
    is_same_key = [F.col(f"before.{quoted(key)}").eqNullSafe(F.col(f"after.{quoted(key)}")) for key in keys]
    joined = left.alias("before").join(right.alias("after"), is_same_key, "full_outer")
    was, is_ = F.col(f"before.{_COUNT}").isNotNull(), F.col(f"after.{_COUNT}").isNotNull()
    differs = {
        name: ~_is_same(
            F.col(f"before.{_SIDE}.{quoted(name)}"),
            F.col(f"after.{_SIDE}.{quoted(name)}"),
            tolerance if _are_floating(old, new, name) else 0.0,
        )
        for name in columns
    }
    any_differs = reduce(or_, differs.values(), F.lit(False))
    change = F.when(~was, F.lit("added")).when(~is_, F.lit("removed")).when(any_differs, F.lit("changed"))
    both = was & is_
    totals = joined.agg(
        *(F.count(F.when(change == word, F.lit(1))).alias(word) for word in ("added", "removed", "changed")),
        F.count(F.when((F.col(f"before.{_COUNT}") > 1) | (F.col(f"after.{_COUNT}") > 1), F.lit(1))).alias("doubled"),
        *(F.count(F.when(both & each, F.lit(1))).alias(f"c{n}") for n, each in enumerate(differs.values())),
    ).head()
    assert totals is not None, "an aggregate has one row"
    if totals["doubled"]:
        raise _bad_key(
            f"{plain.ripple}: {', '.join(keys)} is not unique: {totals['doubled']:,} keys are there twice", []
        )
    pairs = [
        F.when(
            both & each,
            F.struct(
                F.lit(name).alias("column"),
                _text(F.col(f"before.{_SIDE}.{quoted(name)}"), old.schema[name].dataType).alias("before"),
                _text(F.col(f"after.{_SIDE}.{quoted(name)}"), new.schema[name].dataType).alias("after"),
            ),
        )
        for name, each in differs.items()
    ]
    sample = joined.where(change.isNotNull()).select(
        change.alias(_CHANGE),
        *(F.coalesce(F.col(f"before.{quoted(key)}"), F.col(f"after.{quoted(key)}")).alias(key) for key in keys),
        *([F.filter(F.array(*pairs), lambda each: each.isNotNull()).alias("_columns")] if pairs else []),
    )
    is_any = totals["added"] or totals["removed"] or totals["changed"]
    return msgspec.structs.replace(
        plain,
        added=totals["added"],
        removed=totals["removed"],
        changed=totals["changed"],
        columns={name: totals[f"c{n}"] for n, name in enumerate(differs) if totals[f"c{n}"]},
        sample=answer_of(sample, limit) if is_any and limit else None,
    )


def _whole(plain: TableDifference, old: DataFrame, new: DataFrame, limit: int) -> TableDifference:
    """Compare rows as a whole, as many as there are of each."""
    columns = [_comparable(old, name).alias(name) for name in old.columns]
    newer = [_comparable(new, name).alias(name) for name in new.columns]
    sides = old.select(*columns, F.lit(-1).alias(_COUNT)).unionByName(new.select(*newer, F.lit(1).alias(_COUNT)))
    groups = sides.groupBy(*_cols(old.columns)).agg(F.sum(_COUNT).alias(_COUNT)).where(F.col(_COUNT) != 0)
    totals = groups.agg(
        F.sum(F.when(F.col(_COUNT) > 0, F.col(_COUNT))).alias("added"),
        F.sum(F.when(F.col(_COUNT) < 0, -F.col(_COUNT))).alias("removed"),
    ).head()
    assert totals is not None, "an aggregate has one row"
    change = F.when(F.col(_COUNT) > 0, F.lit("added")).otherwise(F.lit("removed"))
    sample = groups.select(change.alias(_CHANGE), *_cols(old.columns))
    is_any = bool(totals["added"] or totals["removed"])
    return msgspec.structs.replace(
        plain,
        added=totals["added"] or 0,
        removed=totals["removed"] or 0,
        sample=answer_of(sample, limit) if is_any and limit else None,
    )


def _are_floating(old: DataFrame, new: DataFrame, name: str) -> bool:
    kinds = (old.schema[name].dataType, new.schema[name].dataType)
    return all(isinstance(each, NumericType) for each in kinds) and any(isinstance(each, FLOATING) for each in kinds)


def _is_same(left: Column, right: Column, tolerance: float) -> Column:
    same = left.eqNullSafe(right)
    if not tolerance:
        return same
    a, b = left.cast("double"), right.cast("double")
    larger = F.greatest(F.lit(1.0), F.abs(a), F.abs(b))
    # NaN is the largest number of Spark: neither it nor an infinite one is near to anything.
    is_near = (larger < F.lit(float("inf"))) & (F.abs(a - b) <= F.lit(tolerance) * larger)
    return same | F.coalesce(is_near, F.lit(False))


def _rounded(frame: DataFrame, tolerance: float) -> DataFrame:
    """Answer a state with floating numbers of so many digits, in front of the point and behind it."""
    if not tolerance:
        return frame
    digits = max(0, math.floor(-math.log10(tolerance)))
    floating = [field.name for field in frame.schema.fields if isinstance(field.dataType, FLOATING)]
    return frame.withColumns(
        {
            name: F.format_string(f"%.{max(0, digits - 1)}e", F.round(F.col(quoted(name)).cast("double"), digits))
            .cast("double")
            .alias(name)
            for name in floating
        }
    )


def _sided(frame: DataFrame, keys: list[str], columns: list[str], side: str) -> DataFrame:
    """Answer one row for each key, and how many there are of it: only a unique one can be compared."""
    row = F.struct(*(_comparable(frame, name).alias(name) for name in columns)) if columns else F.lit(side)
    return frame.groupBy(*_cols(keys)).agg(F.count(F.lit(1)).alias(_COUNT), F.any_value(row).alias(_SIDE))


def _alike(frame: DataFrame, other: DataFrame, names: Sequence[str]) -> DataFrame:
    """Answer a state with texts where the other one's values are of a type that these cannot be compared with."""
    types = {name: (frame.schema[name].dataType, other.schema[name].dataType) for name in names}
    return frame.withColumns(
        {
            name: F.to_json(F.col(quoted(name))) if isinstance(own, _NESTED) else F.col(quoted(name)).cast("string")
            for name, (own, its) in types.items()
            if own != its and not any(isinstance(own, kind) and isinstance(its, kind) for kind in _COMPARED)
        }
    )


def _comparable(frame: DataFrame, name: str) -> Column:
    """Answer a column that can be compared: Spark compares no maps."""
    kind = frame.schema[name].dataType.simpleString()
    column = F.col(quoted(name))
    return F.to_json(column) if "map<" in kind or "variant" in kind else column


def _text(column: Column, type_: DataType) -> Column:
    return F.to_json(column) if isinstance(type_, (ArrayType, StructType)) else column.cast("string")


def _cols(names: Sequence[str]) -> list[Column]:
    return [F.col(quoted(name)) for name in names]


def _types(content: SnapshotContent | None) -> dict[str, DataType]:
    if content is None:
        return {}
    return {field.name: field.dataType for field in StructType.fromJson(json.loads(content.schema)).fields}


def _schema(before: dict[str, DataType], after: dict[str, DataType]) -> tuple[ColumnDifference, ...]:
    if not before or not after:
        return ()
    return tuple(
        ColumnDifference(
            column=name,
            before=before[name].simpleString() if name in before else None,
            after=after[name].simpleString() if name in after else None,
        )
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    )


def _bad_key(message: str, columns: Sequence[str]) -> PondageError:
    known = f"; its columns are {', '.join(columns)}" if columns else ""
    return PondageError(message, code="BAD_KEY", hint=f"name others with --key{known}")
