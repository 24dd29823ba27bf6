"""The values of a compiled expression: a Column, its kind, and where it has failed.

A Column is null in the rows where the evaluator of `expr/` would raise an error. `fails` is true in exactly those
rows, None when there can be none; it is what tells a failure from a null that the data itself holds.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses
from pyspark.sql import types as T  # noqa: N812 - the name that everybody uses

from pondage.errors import PondageError

if TYPE_CHECKING:
    from pyspark.sql import Column

MAX_WEIGHT = 5_000
NUMBERS = ("int", "decimal", "float")
_PLAIN: tuple[tuple[str, tuple[type[T.DataType], ...]], ...] = (
    ("bool", (T.BooleanType,)),
    ("text", (T.StringType, T.VarcharType, T.CharType)),
    ("int", (T.ByteType, T.ShortType, T.IntegerType, T.LongType)),
    ("float", (T.FloatType, T.DoubleType)),
    ("decimal", (T.DecimalType,)),
    ("date", (T.DateType,)),
    ("timestamp", (T.TimestampType,)),
    ("timestamp_ntz", (T.TimestampNTZType,)),
    ("null", (T.NullType,)),
    ("list", (T.ArrayType,)),
    ("row", (T.StructType,)),
)


class ExpressionType(PondageError):
    """An expression puts together what does not belong together; the message shows the part that does."""

    code = "EXPR_TYPE"


class Value:
    """A part of an expression, compiled."""

    __slots__ = ("column", "fails", "kind", "literal", "may_be_null", "type", "weight")

    def __init__(
        self,
        column: Column,
        kind: str,
        *,
        data_type: T.DataType | None = None,
        fails: Column | None = None,
        may_be_null: bool = False,
        weight: int = 1,
        literal: str | None = None,
    ) -> None:
        if weight > MAX_WEIGHT:
            raise ExpressionType("the expression becomes too large a plan", hint="compute it in several steps")
        self.column = column
        self.kind = kind
        self.type = data_type
        self.fails = fails
        self.may_be_null = may_be_null
        """Can it be null in a row where it has not failed?"""
        self.weight = weight
        self.literal = literal

    @property
    def is_number(self) -> bool:
        """Is it a number?"""
        return self.kind in NUMBERS


def of_type(column: Column, data_type: T.DataType, *, fails: Column | None = None, weight: int = 1) -> Value:
    """Give a column of the data, with whole numbers as 64 bits and binary fractions as doubles."""
    kind = kind_of(data_type)
    if kind == "int" and not isinstance(data_type, T.LongType):
        column = column.cast("bigint")
    if isinstance(data_type, T.FloatType):
        column = column.cast("double")
    return Value(column, kind, data_type=data_type, fails=fails, may_be_null=True, weight=weight)


def kind_of(data_type: T.DataType) -> str:
    """Name the kind of a type; what has none is `other`, and can only be compared with None."""
    return next((name for name, types in _PLAIN if isinstance(data_type, types)), "other")


def constant(value: object) -> Value:
    """Give a literal, or a value from outside (a global, the context)."""
    match value:
        case None:
            return Value(F.lit(None), "null", may_be_null=True)
        case bool():
            return Value(F.lit(value), "bool")
        case int():
            if not -(2**63) <= value < 2**63:
                raise ExpressionType(f"{value} does not fit into 64 bits")
            return Value(F.lit(value).cast("bigint"), "int")
        case float():
            return Value(F.lit(value), "float")
        case str():
            return Value(F.lit(value), "text", literal=value)
        case _:
            raise ExpressionType(f"a {type(value).__name__} cannot be compared with columns")


def moment(value: str, kind: str) -> Column:
    """Read a text that is compared with a date or a time."""
    try:
        if kind == "date":
            return F.lit(datetime.date.fromisoformat(value))
        read = datetime.datetime.fromisoformat(value)
    except ValueError:
        raise ExpressionType(f"{value!r} is no {kind}", hint="write 2026-01-31 or 2026-01-31T12:00:00") from None
    if kind == "timestamp" and read.tzinfo is None:
        read = read.replace(tzinfo=datetime.UTC)
    return F.lit(read).cast(kind)


def strict(column: Column, kind: str, *operands: Value) -> Value:
    """Give an operation that is null, and then has failed, when an operand is null or the operation impossible."""
    weight = 1 + sum(one.weight for one in operands)
    return Value(column, kind, fails=column.isNull(), weight=weight)


def failing(*operands: Value) -> Column | None:
    """Say where one of them has failed."""
    found: Column | None = None
    for one in operands:
        if one.fails is not None:
            found = one.fails if found is None else found | one.fails
    return found


def guarded(column: Column, kind: str, *operands: Value, may_be_null: bool = False) -> Value:
    """Give a column that is never null by itself, made null where an operand has failed."""
    fails = failing(*operands)
    weight = 1 + sum(one.weight * (2 if one.fails is not None else 1) for one in operands)
    if fails is not None:
        column = F.when(~fails, column)
    return Value(column, kind, fails=fails, may_be_null=may_be_null, weight=weight)


def truth(value: Value) -> Column:
    """Say whether a value counts as true; null does not."""
    column = value.column
    match value.kind:
        case "bool":
            held = column
        case "text":
            held = column != F.lit("")
        case "list":
            held = F.size(column) > 0
        case "null":
            return F.lit(False)
        case kind if kind in NUMBERS:
            held = column != F.lit(0)
        case _:
            held = column.isNotNull()
    return F.coalesce(held, F.lit(False))
