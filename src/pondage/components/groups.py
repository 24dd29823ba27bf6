"""The component that sums up groups of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pondage.components.declaring import ANY_TABLE, NAME, NAMES, choice, parameters
from pondage.define.component import component

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pondage.spark.component_run import SparkRun

FUNCTIONS = ("count", "count_distinct", "sum", "avg", "min", "max", "collect_set")
_VALUE = {
    "type": "object",
    "properties": {"function": choice(*FUNCTIONS), "column": NAME},
    "required": ["function"],
    "additionalProperties": False,
}


@component(
    "aggregate",
    inputs={"input": ANY_TABLE},
    outputs={"main": ANY_TABLE},
    params=parameters("values", by=NAMES, values={"type": "object", "additionalProperties": _VALUE}),
    after=(),
    globals=(),
    deterministic=True,
)
def aggregate(input: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> DataFrame:  # noqa: A002 - the port
    """Sum up the rows of each group: `by: [region]`, `values: {total: {function: sum, column: amount}}`.

    Without `by` all rows are one group. `count` without a column counts rows, with one its values that are not null.
    `collect_set` gives the different values in their order.
    """
    del run
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    from pondage.errors import PondageError
    from pondage.spark.columns import require_columns

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
