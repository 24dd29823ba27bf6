"""The key of a slice as a Column over the rows of a table: computed there again, with the same result."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

from pondage.plan.incremental.algebra import Expression, NotUnderstood
from pondage.spark.types.names import quoted

_FUNCTIONS: Mapping[str, Callable[..., Column]] = {
    "Year": F.year,
    "Month": F.month,
    "DayOfMonth": F.dayofmonth,
    "Upper": F.upper,
    "Lower": F.lower,
    "StringTrim": F.trim,
    "Coalesce": F.coalesce,
    "Concat": F.concat,
}


def printed(expression: Expression, names: Mapping[int, str]) -> Column:
    """Answer the expression over a table whose columns have these names; raises `NotUnderstood`.

    A cast that fails gives null here: the rows on which it fails in the author's plan fail there.
    """
    parts = expression.children
    if expression.is_attribute and expression.id is not None and expression.id in names:
        return F.col(quoted(names[expression.id]))
    match expression.kind:
        case "Literal":
            return F.lit(_value(expression)).cast(expression.type)
        case "Cast":
            return printed(parts[0], names).try_cast(expression.type)
        case "TruncDate":
            return F.trunc(printed(parts[0], names), str(_value(parts[1])))
        case "TruncTimestamp":
            return F.date_trunc(str(_value(parts[0])), printed(parts[1], names))
        case "Substring":
            return F.substring(printed(parts[0], names), int(str(_value(parts[1]))), int(str(_value(parts[2]))))
        case kind if kind in _FUNCTIONS:
            return _FUNCTIONS[kind](*(printed(each, names) for each in parts))
    raise NotUnderstood(f"{expression.kind} cannot be computed again on a table")


def _value(literal: Expression) -> object:
    return msgspec.json.decode(dict(literal.detail)["value"])
