"""How each rule will be answered, decided from the schema before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Literal

import msgspec
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    UserDefinedType,
    VariantType,
)

from pondage.define.pond.definition import ExpectationDefinition, Scalar
from pondage.errors import PondageError
from pondage.spark.types.names import quoted

_WHOLE_NUMBERS = (ByteType, ShortType, IntegerType, LongType)
_NESTED = (StructType, ArrayType, MapType, VariantType, UserDefinedType)

Check = Callable[[], Column]


class BadExpectation(PondageError):
    """A rule that cannot be asked of this result: a column that does not exist, a bound of another type."""

    code = "BAD_EXPECTATION"


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """How one rule will be answered.

    `how`: from the footers; by an aggregate (a `count` of rows, the `newest` moment) on the way to the files; from the
    ledger's `past`; or `late`, by reading the written files. `broken` is the condition of a row that breaks it.
    """

    rule: ExpectationDefinition
    how: Literal["footer", "count", "newest", "past", "late"]
    column: str = ""
    minimum: int | float | Decimal | date | None = None
    maximum: int | float | Decimal | date | None = None
    broken: Column | None = None
    asked: Column | None = None


def question(
    rule: ExpectationDefinition, schema: StructType, checks: Mapping[str, Check], *, is_whole: bool
) -> Question:
    """Decide how a rule is answered; raises `BadExpectation`. Footers speak only when the rule judges all rows."""
    match rule.kind:
        case "rows":
            return Question(rule=rule, how="footer")
        case "volume":
            return Question(rule=rule, how="past")
        case "check":
            return Question(rule=rule, how="count", broken=~F.coalesce(_checked_column(rule, checks), F.lit(False)))
        case "unique":
            for each in rule.columns:
                found(rule, schema, each)
            return Question(rule=rule, how="late")
    name, column, type_ = found(rule, schema, rule.column or "")
    is_flat = is_whole and name is not None and not isinstance(type_, _NESTED)
    match rule.kind:
        case "bad_rows":
            return Question(rule=rule, how="footer", column=name or "")
        case "not_null":
            # The footer of a nested column counts the nulls of its leaves, which is another question.
            how: Literal["footer", "count"] = "footer" if is_flat else "count"
            return Question(rule=rule, how=how, column=name or "", broken=column.isNull())
        case "in_set":
            return Question(rule=rule, how="count", broken=column.isNotNull() & ~column.isin(*rule.values))
        case "matches":
            if not isinstance(type_, StringType):
                raise _wrong_type(rule, type_, "matches() is for texts; write a check() for something else")
            return Question(rule=rule, how="count", broken=column.isNotNull() & ~column.rlike(_whole(rule.pattern)))
        case "foreign_key":
            return Question(rule=rule, how="late", asked=column)
        case "fresh":
            return _fresh(rule, column, type_, name if is_flat else None)
    if is_flat and not rule.quarantine and isinstance(type_, (*_WHOLE_NUMBERS, DateType, DecimalType)):
        return Question(
            rule=rule, how="footer", column=name or "",
            minimum=_bound(rule, rule.minimum, type_), maximum=_bound(rule, rule.maximum, type_),
        )  # fmt: skip
    # Texts have cut bounds, timestamps may be stored without any, and a footer is silent where there is a NaN.
    return Question(rule=rule, how="count", broken=column.isNotNull() & _outside(rule, column, type_))


def _fresh(rule: ExpectationDefinition, column: Column, type_: DataType, name: str | None) -> Question:
    if isinstance(type_, DateType) and name is not None:
        return Question(rule=rule, how="footer", column=name)
    if not isinstance(type_, (DateType, TimestampType, TimestampNTZType)):
        raise _wrong_type(rule, type_, "fresh() asks for a timestamp or a date")
    return Question(rule=rule, how="newest", asked=F.unix_micros(column.cast("timestamp")))


def _whole(pattern: str) -> str:
    return rf"\A(?:{pattern})\z"


def _wrong_type(rule: ExpectationDefinition, type_: DataType, hint: str) -> BadExpectation:
    return BadExpectation(f"expectation {rule.name}: {rule.column} is of type {type_.simpleString()}", hint=hint)


def _outside(rule: ExpectationDefinition, column: Column, type_: DataType) -> Column:
    conditions = [F.isnan(column)] if isinstance(type_, (FloatType, DoubleType)) else []
    if rule.minimum is not None:
        conditions.append(column < F.lit(rule.minimum))
    if rule.maximum is not None:
        conditions.append(column > F.lit(rule.maximum))
    outside = conditions[0]
    for condition in conditions[1:]:
        outside = outside | condition
    return outside


def _checked_column(rule: ExpectationDefinition, checks: Mapping[str, Check]) -> Column:
    if rule.name not in checks:
        raise BadExpectation(f"the code has no check named {rule.name}", hint="deploy the project again")
    column: object = checks[rule.name]()
    if not isinstance(column, Column):
        raise BadExpectation(
            f"check {rule.name} returned {type(column).__name__}, not a Column",
            hint=f'write it like check("{rule.name}", lambda: F.col("amount") > 0)',
        )
    return column


def found(rule: ExpectationDefinition, schema: StructType, wanted: str) -> tuple[str | None, Column, DataType]:
    """Answer a column of a rule: its name when it is one of the table's own, else None for a field inside a struct."""
    name = _spelled(schema, wanted)
    if name is not None:
        return name, F.col(quoted(name)), schema[name].dataType
    inside: DataType = schema
    path: list[str] = []
    for part in wanted.split("."):
        step = _spelled(inside, part) if isinstance(inside, StructType) else None
        if step is None or not isinstance(inside, StructType):
            raise BadExpectation(
                f"expectation {rule.name}: the result has no column {wanted}; it has {', '.join(schema.names)}",
                hint="correct the expectation, or the name in the result",
            )
        path.append(step)
        inside = inside[step].dataType
    return None, F.col(".".join(quoted(part) for part in path)), inside


def _spelled(schema: StructType, name: str) -> str | None:
    """Answer the column's own spelling: upper and lower case are the same to Spark."""
    if name in schema.names:
        return name
    return next((each for each in schema.names if each.casefold() == name.casefold()), None)


def _bound(rule: ExpectationDefinition, bound: Scalar, type_: DataType) -> int | float | Decimal | date | None:
    if bound is None:
        return None
    try:
        if isinstance(type_, DateType):
            return date.fromisoformat(str(bound))
        return bound if isinstance(bound, (int, float)) else Decimal(bound)
    except (ValueError, InvalidOperation):
        raise BadExpectation(
            f"expectation {rule.name}: {bound!r} cannot be compared with {type_.simpleString()} values",
            hint="write a number for numbers and 2026-01-31 for dates",
        ) from None
