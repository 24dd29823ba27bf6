"""The component that sums up groups of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pondage.components.declarations import (
    ANY_TABLE,
    NAME,
    NAMES,
    choice,
    deterministic,
    fields_of,
    parameters,
    require_fields,
    table_of,
)
from pondage.define.types.types import Field, Type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pondage.spark.component.spark_run import SparkRun

FUNCTIONS = ("count", "count_distinct", "sum", "avg", "min", "max", "collect_set")
_VALUE: dict[str, object] = {
    "type": "object",
    "properties": {"function": choice(*FUNCTIONS), "column": NAME},
    "required": ["function"],
    "additionalProperties": False,
}


_SUMS = {"tinyint": "bigint", "smallint": "bigint", "int": "bigint", "bigint": "bigint", "float": "double",
         "double": "double"}  # fmt: skip


def _aggregated(inputs: Mapping[str, str], params: Mapping[str, object]) -> Mapping[str, str]:
    keys: Any = params.get("by", ())
    values: Any = params["values"]
    require_fields(inputs, "input", [*keys, *(value["column"] for value in values.values() if "column" in value)])
    known = {one.name: one for one in fields_of(inputs.get("input")) or ()}
    found = [known.get(name) for name in keys]
    found += [_value(name, value, known) for name, value in values.items()]
    fields = [one for one in found if one is not None]
    return {"main": table_of(fields)} if known and len(fields) == len(found) else {}


def _value(name: str, value: Mapping[str, str], known: Mapping[str, Field]) -> Field | None:
    """Give the column of a value; None where only Spark knows its type."""
    function, column = value["function"], known.get(value.get("column", ""))
    if function in ("count", "count_distinct"):
        return Field(name, Type("bigint"))
    if column is None:
        return None
    if function in ("min", "max"):
        return Field(name, column.type)
    if function == "collect_set":
        return Field(name, Type("array", arguments=(column.type,)))
    if function == "avg" and column.type.head in _SUMS:
        return Field(name, Type("double"))
    if function == "sum" and column.type.head in _SUMS:
        return Field(name, Type(_SUMS[column.type.head]))
    return None


@deterministic(
    "aggregate",
    inputs={"input": ANY_TABLE},
    outputs={"main": ANY_TABLE},
    params=parameters("values", by=NAMES, values={"type": "object", "additionalProperties": _VALUE}),
    schema=_aggregated,
)
def aggregate(input: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> DataFrame:  # noqa: A002 - the port
    """Sum up the rows of each group: `by: [region]`, `values: {total: {function: sum, column: amount}}`.

    Without `by` all rows are one group. `count` without a column counts rows, with one its values that are not null.
    `collect_set` gives the different values in their order.
    """
    del run
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    from pondage.errors import PondageError
    from pondage.spark.component.columns import require_columns

    columns = []
    for name, value in params["values"].items():
        function = value["function"]
        if "column" not in value:
            if function != "count":
                raise PondageError(f"{function} of {name} needs a column", code="PARAMS_SCHEMA")
            columns.append(F.count(F.lit(1)).alias(name))
            continue
        (column,) = require_columns(input, [value["column"]])
        found = F.sort_array(F.collect_set(column)) if function == "collect_set" else getattr(F, function)(column)
        columns.append(found.alias(name))
    return input.groupBy(*require_columns(input, params.get("by", ()))).agg(*columns)
