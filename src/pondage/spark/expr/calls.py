"""The allowed functions of the expression language on Columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses
from pyspark.sql.types import ArrayType

from pondage.expr.nodes import Call, Constant, Unary
from pondage.spark.expr.operators import negative
from pondage.spark.expr.values import ExpressionType, Value, kind_of, strict

_WHOLE = r"^\s*[+-]?[0-9]+\s*$"
_REAL = r"^\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"
_EXACT = "decimal(20,0)"
MAX_DIGITS = 15


def called(node: Call, values: list[Value]) -> Value:
    """Compile a call of one of the functions; their numbers of arguments were checked by the parser."""
    if node.function in ("min", "max"):
        return _extreme(node.function, values)
    if node.function == "round" and len(values) == 2:
        return _rounded_to(values[0], node)
    return _FUNCTIONS[node.function](*values)


def _length(value: Value) -> Value:
    if value.kind == "text":
        return strict(F.char_length(value.column).cast("bigint"), "int", value)
    if value.kind == "list":
        return strict(F.when(value.column.isNotNull(), F.size(value.column).cast("bigint")), "int", value)
    raise ExpressionType(f"len takes a text or a list, not {value.kind}")


def _absolute(value: Value) -> Value:
    _require_number("abs", value)
    negated = negative(value, Unary("-", Constant(0)))
    return strict(F.when(value.column < 0, negated.column).otherwise(value.column), value.kind, value, value)


def _extreme(function: str, values: list[Value]) -> Value:
    if len(values) == 1:
        return _extreme_of_list(function, values[0])
    kinds = {value.kind for value in values}
    if len(kinds) > 1 and not all(value.is_number for value in values):
        raise ExpressionType(f"{function} takes values of one kind, not {' and '.join(sorted(kinds))}")
    kind = values[0].kind if len(kinds) == 1 else "float" if "float" in kinds else "decimal"
    if kind in ("null", "row", "list", "other"):
        raise ExpressionType(f"values of the kind {kind} have no order")
    is_there = reduce(lambda one, other: one & other, (value.column.isNotNull() for value in values))
    found = (F.least if function == "min" else F.greatest)(*(value.column for value in values))
    return strict(F.when(is_there, found), kind, *values, *values)


def _extreme_of_list(function: str, value: Value) -> Value:
    if not isinstance(value.type, ArrayType):
        raise ExpressionType(f"{function} takes several values or a list, not {value.kind}")
    found = (F.array_min if function == "min" else F.array_max)(value.column)
    kind = kind_of(value.type.elementType)
    # None has no order, but the only element of a list is compared with nothing.
    has_order = (F.size(value.column) == 1) | ~F.exists(value.column, lambda one: one.isNull())
    is_told = F.coalesce((F.size(value.column) > 0) & has_order, F.lit(False))
    column = F.when(is_told, found.cast("bigint") if kind == "int" else found)
    return Value(column, kind, fails=~is_told, may_be_null=True, weight=5 * value.weight)


def _rounded(value: Value) -> Value:
    _require_number("round", value)
    if value.kind == "int":
        return strict(value.column, "int", value)
    whole = F.rint(value.column) if value.kind == "float" else F.bround(value.column, 0)
    return strict(whole.try_cast("bigint"), "int", value)


def _rounded_to(value: Value, node: Call) -> Value:
    _require_number("round", value)
    digits = _digits(node)
    if value.kind == "int":
        if digits >= 0:
            return strict(value.column, "int", value)
        return strict(F.bround(value.column.cast(_EXACT), digits).try_cast("bigint"), "int", value)
    return strict(F.bround(value.column, digits), value.kind, value)


def _digits(node: Call) -> int:
    given = node.arguments[1]
    is_negative = isinstance(given, Unary) and given.operator == "-"
    number = given.value if isinstance(given, Unary) and is_negative else given
    if not isinstance(number, Constant) or isinstance(number.value, bool) or not isinstance(number.value, int):
        raise ExpressionType("round takes a written number of digits")
    if number.value > MAX_DIGITS:
        raise ExpressionType(f"round takes at most {MAX_DIGITS} digits")
    return -number.value if is_negative else number.value


def _whole(value: Value) -> Value:
    if value.kind == "text":
        return strict(F.when(value.column.rlike(_WHOLE), F.trim(value.column)).try_cast("bigint"), "int", value, value)
    if value.is_number or value.kind == "bool":
        return strict(value.column.try_cast("bigint"), "int", value)
    raise ExpressionType(f"int does not read {value.kind}")


def _real(value: Value) -> Value:
    if value.kind == "text":
        return strict(F.when(value.column.rlike(_REAL), F.trim(value.column)).try_cast("double"), "float", value, value)
    if value.is_number or value.kind == "bool":
        return strict(value.column.cast("double"), "float", value)
    raise ExpressionType(f"float does not read {value.kind}")


def _on_text(name: str, function: Callable[..., object], kind: str) -> Callable[..., Value]:
    def apply(*values: Value) -> Value:
        for value in values:
            if value.kind != "text":
                raise ExpressionType(f"{name} takes a text, not {value.kind}")
        return strict(function(*(value.column for value in values)), kind, *values)  # type: ignore[arg-type]

    return apply


def _require_number(name: str, value: Value) -> None:
    if not value.is_number:
        raise ExpressionType(f"{name} takes a number, not {value.kind}")


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "len": _length,
    "abs": _absolute,
    "round": _rounded,
    "int": _whole,
    "float": _real,
    "lower": _on_text("lower", F.lower, "text"),
    "upper": _on_text("upper", F.upper, "text"),
    "startswith": _on_text("startswith", F.startswith, "bool"),
    "endswith": _on_text("endswith", F.endswith, "bool"),
}
