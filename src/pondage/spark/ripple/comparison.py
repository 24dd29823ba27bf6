"""Comparing two computations of one table: as bags, floats to rounding, and by keys alone where rows may be chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses
from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, StructType

from pondage.spark.types.names import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MOST = 10
TOLERANCE = 1e-9
"""By so much of themselves floats may differ: the order in which they are added is nobody's promise."""


def differences(one: DataFrame, other: DataFrame, exact: Sequence[str] | None = None) -> tuple[str, ...]:
    """Answer the first keys for which the tables differ, in words; nothing when they are the same. One Spark job.

    `exact` are the columns with one right answer; None: all are. Of the others nothing is compared but how many rows
    there are.
    """
    fields = one.schema.fields if exact is None else [each for each in one.schema.fields if each.name in exact]
    plain = [each.name for each in fields if not _has_float(each.dataType)]
    floats = [each.name for each in fields if isinstance(each.dataType, FloatType | DoubleType)]
    both = _signed(one, plain, floats, 1).unionByName(_signed(other, plain, floats, -1))
    keys = [*(f"k{at}" for at in range(len(plain))), *(f"c{at}" for at in range(len(floats)))]
    sums = [F.sum("n").alias("n")]
    for at in range(len(floats)):
        sums += [F.sum(F.col(f"f{at}") * F.col("n")).alias(f"f{at}"), F.sum(F.abs(f"f{at}")).alias(f"a{at}")]
    differs = F.col("n") != 0
    for at in range(len(floats)):
        differs = differs | (F.abs(f"f{at}") > F.col(f"a{at}") * TOLERANCE)
    found = both.groupBy(*keys).agg(*sums).where(differs).select(*keys, "n").head(MOST)
    return tuple(_words(row, plain, floats) for row in found)


def _signed(frame: DataFrame, plain: Sequence[str], floats: Sequence[str], sign: int) -> DataFrame:
    columns: list[Column] = [F.lit(sign).alias("n")]
    columns += [F.col(quoted(name)).alias(f"k{at}") for at, name in enumerate(plain)]
    for at, name in enumerate(floats):
        value = F.col(quoted(name)).cast("double")
        is_number = value.isNotNull() & ~F.isnan(value) & (F.abs(value) != float("inf"))
        # What cannot be subtracted is compared as it is written.
        columns += [
            F.when(is_number, "number").otherwise(value.cast("string")).alias(f"c{at}"),
            F.when(is_number, value).otherwise(0.0).alias(f"f{at}"),
        ]
    return frame.select(*columns)


def _words(row: Sequence[object], plain: Sequence[str], floats: Sequence[str]) -> str:
    said = [f"{name}={value!r}" for name, value in zip(plain, row, strict=False)][:6]
    count = row[-1]
    assert isinstance(count, int)
    what = "another value" if count == 0 else f"{count:+} rows" if abs(count) > 1 else f"{count:+} row"
    return f"{', '.join(said) or ', '.join(floats) or 'the whole'}: {what}"


def _has_float(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return any(_has_float(field.dataType) for field in kind.fields)
    if isinstance(kind, ArrayType):
        return _has_float(kind.elementType)
    return isinstance(kind, FloatType | DoubleType)
