"""Arithmetic, comparison and `in` on Columns, as Python does them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses
from pyspark.sql.types import ArrayType

from pondage.expr.nodes import Unary
from pondage.spark.expr.values import ExpressionType, Value, guarded, kind_of, moment, strict

if TYPE_CHECKING:
    from pyspark.sql import Column

_MOMENTS = ("date", "timestamp", "timestamp_ntz")
_EXACT = "decimal(20,0)"


def negative(value: Value, node: Unary) -> Value:
    """`-x` and `+x`."""
    _require_numbers(node.operator, value)
    if node.operator == "+":
        return strict(value.column, value.kind, value)
    if value.kind == "int":
        return strict(F.try_subtract(F.lit(0).cast("bigint"), value.column), "int", value)
    return strict(-value.column, value.kind, value)


def arithmetic(operator: str, left: Value, right: Value) -> Value:
    """`+ - * / // %`; null where an operand is null, a divisor zero, or the result too large."""
    if operator == "+" and left.kind == right.kind == "text":
        return strict(F.concat(left.column, right.column), "text", left, right)
    _require_numbers(operator, left, right)
    kind = (
        "float" if "float" in (left.kind, right.kind) else "decimal" if "decimal" in (left.kind, right.kind) else "int"
    )
    if operator == "/" and kind == "int":
        kind = "float"
    one, other = (_as_kind(value, kind) for value in (left, right))
    return strict(_operated(operator, one, other, kind), kind, left, right)


def _as_kind(value: Value, kind: str) -> Column:
    return value.column.cast("double") if kind == "float" and value.kind != "float" else value.column


def _operated(operator: str, left: Column, right: Column, kind: str) -> Column:
    match operator:
        case "+":
            return F.try_add(left, right)
        case "-":
            return F.try_subtract(left, right)
        case "*":
            return F.try_multiply(left, right)
        case "/":
            return F.try_divide(left, right)
        case "%":
            return _remainder(left, right)
        case _:
            return _floor(left, right, kind)


def _remainder(left: Column, right: Column) -> Column:
    """Java's remainder has the sign of the dividend, Python's that of the divisor."""
    rest = left % F.nullif(right, F.lit(0).cast("bigint"))
    return F.when((rest != 0) & ((rest < 0) != (right < 0)), rest + right).otherwise(rest)


def _floor(left: Column, right: Column, kind: str) -> Column:
    rest = _remainder(left, right)
    if kind == "float":
        return F.rint(F.try_divide(left - rest, right))
    if kind == "decimal":
        return F.try_divide(left - rest, right)
    # In decimals: a double would lose digits, and 64 bits overflow on the way.
    whole = F.try_divide(left.cast(_EXACT) - rest.cast(_EXACT), right.cast(_EXACT))
    return whole.try_cast("bigint")


def _require_numbers(operator: str, *values: Value) -> None:
    for value in values:
        if not value.is_number:
            raise ExpressionType(f"`{operator}` takes numbers, not {value.kind}")


def compared(operator: str, left: Value, right: Value) -> Value:
    """`== != < <= > >=`; None equals None and nothing else, and has no order."""
    left, right = _alike(left, right)
    if operator in ("==", "!="):
        if left.may_be_null or right.may_be_null:
            is_same = left.column.eqNullSafe(right.column)
            return guarded(is_same if operator == "==" else ~is_same, "bool", left, right)
        column = left.column == right.column if operator == "==" else left.column != right.column
        return strict(column, "bool", left, right)
    if "null" in (left.kind, right.kind) or left.kind in ("row", "list", "other"):
        raise ExpressionType(f"{left.kind} and {right.kind} have no order")
    columns = left.column, right.column
    found = {"<": columns[0] < columns[1], "<=": columns[0] <= columns[1],
             ">": columns[0] > columns[1], ">=": columns[0] >= columns[1]}  # fmt: skip
    return strict(found[operator], "bool", left, right)


def _alike(left: Value, right: Value) -> tuple[Value, Value]:
    """Bring two values to one kind, or raise ExpressionType; a text beside a time is read as one."""
    if left.kind == right.kind or "null" in (left.kind, right.kind) or (left.is_number and right.is_number):
        return left, right
    if left.kind in _MOMENTS and right.kind == "text":
        return left, _read(right, left.kind)
    if right.kind in _MOMENTS and left.kind == "text":
        return _read(left, right.kind), right
    raise ExpressionType(f"{left.kind} cannot be compared with {right.kind}", hint="convert one: int(x), float(x)")


def _read(text: Value, kind: str) -> Value:
    if text.literal is None:
        raise ExpressionType(f"only a written text can be compared with a {kind}")
    return Value(moment(text.literal, kind), kind)


def contained(left: Value, right: Value) -> Value:
    """`x in y` for a text in a text, and a value in a column of lists."""
    if right.kind == "text":
        if left.kind != "text":
            raise ExpressionType(f"in a text only a text can be, not {left.kind}")
        return strict(F.contains(right.column, left.column), "bool", left, right)
    if isinstance(right.type, ArrayType):
        inner = kind_of(right.type.elementType)
        if inner != left.kind and left.kind != "null" and not (left.is_number and inner in ("int", "float", "decimal")):
            raise ExpressionType(f"{left.kind} cannot be in a list of {inner}")
        found = F.exists(right.column, lambda one: one.eqNullSafe(left.column))
        fails = right.column.isNull() if left.fails is None else right.column.isNull() | left.fails
        return Value(F.when(~fails, found), "bool", fails=fails, weight=3 * (left.weight + right.weight))
    raise ExpressionType(f"{right.kind} contains nothing")


def among(value: Value, others: list[Value]) -> Value:
    """`x in [a, b]`: every element is computed first, so one that fails makes it fail."""
    found = F.lit(False)
    for one in others:
        left, right = _alike(value, one)
        found = found | left.column.eqNullSafe(right.column)
    return guarded(found, "bool", value, *others)
