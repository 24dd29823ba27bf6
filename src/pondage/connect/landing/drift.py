"""When a file has other columns than its table: what is done, decided from the two schemas before anything is read."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from pyspark.sql.types import (
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)  # fmt: skip

from pondage.connect.landing.asked import Drift

_WIDER: dict[type[DataType], tuple[type[DataType], ...]] = {
    ByteType: (ShortType, IntegerType, LongType, FloatType, DoubleType),
    ShortType: (IntegerType, LongType, FloatType, DoubleType),
    IntegerType: (LongType, DoubleType),
    LongType: (DoubleType,),
    FloatType: (DoubleType,),
    DateType: (TimestampType, TimestampNTZType),
}
_DIGITS: dict[type[DataType], int] = {ByteType: 3, ShortType: 5, IntegerType: 10, LongType: 20}


class Unfit(msgspec.Struct, frozen=True):
    """Why a file cannot be read as its table, in words that name the column and both types."""

    why: str


def reconciled(
    table: StructType, file: StructType, drift: Drift, *, folders: Sequence[str] = (), is_typed: bool = True
) -> StructType | Unfit:
    """Answer the table with what a file adds to it, or why it does not fit.

    `folders` are columns that come from the file's path. Without `is_typed` the file holds texts (or JSON), which are
    read as the types of the table; what cannot be is a bad row, and no matter of the file.
    """
    own = {field.name.casefold(): field for field in file.fields}
    from_path = {name.casefold() for name in folders}
    for field in table.fields:
        found = own.get(field.name.casefold())
        if found is None:
            if field.name.casefold() not in from_path and (drift == "fail" or not field.nullable):
                return Unfit(f"the column {field.name} ({field.dataType.simpleString()}) is missing")
        elif is_typed and not fits(found.dataType, field.dataType, drift):
            return Unfit(
                f"the column {field.name} is {found.dataType.simpleString()}, "
                f"and the table has {field.dataType.simpleString()}"
            )
    known = {field.name.casefold() for field in table.fields}
    new = [field for field in file.fields if field.name.casefold() not in known | from_path]
    if new and drift == "fail":
        return Unfit(f"the column {new[0].name} ({new[0].dataType.simpleString()}) is not one of the table")
    if drift == "ignore":
        return table
    return StructType([*table.fields, *(StructField(each.name, each.dataType) for each in new)])


def fits(given: DataType, wanted: DataType, drift: Drift) -> bool:
    """Answer whether values of a file can stand in a column: of its type or, when asked to cast, a narrower one."""
    if _same(given, wanted):
        return True
    if drift != "cast":
        return False
    if isinstance(wanted, StringType):
        return not isinstance(given, StructType)
    if isinstance(wanted, DecimalType):
        digits = wanted.precision - wanted.scale
        if isinstance(given, DecimalType):
            return given.scale <= wanted.scale and given.precision - given.scale <= digits
        return _DIGITS.get(type(given), 99) <= digits
    return type(wanted) in _WIDER.get(type(given), ())


def _same(given: DataType, wanted: DataType) -> bool:
    # Spark's own word for it: whether a value may be null is no part of a type here.
    return given.simpleString().casefold() == wanted.simpleString().casefold()
