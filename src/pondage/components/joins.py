"""Components that bring tables together: join, lookup."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pondage.components.declarations import (
    ANY_TABLE,
    NAMES,
    choice,
    deterministic,
    fields_of,
    parameters,
    require_fields,
    require_unknown,
    table_of,
)
from pondage.define.types.types import Field

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pondage.spark.component.spark_run import SparkRun


def _joined(inputs: Mapping[str, str], params: Mapping[str, object]) -> Mapping[str, str]:
    for port in ("left", "right"):
        require_fields(inputs, port, params["on"])
    left, right = fields_of(inputs.get("left")), fields_of(inputs.get("right"))
    if left is None or right is None:
        return {}
    how = params.get("how", "inner")
    if how in ("semi", "anti"):
        return {"main": table_of(left)}
    keys: Any = params["on"]
    added = [one for one in right if one.name not in keys]
    require_unknown(inputs, "right", added, beside=left)
    sure = {one.name for one in right if one.name in keys and not one.is_nullable}
    kept = _absent(left, sure) if how in ("right", "full") else left
    return {"main": table_of([*kept, *(_absent(added) if how in ("left", "full") else added)])}


def _absent(fields: Iterable[Field], sure: Container[str] = ()) -> list[Field]:
    """Give columns of a side that need not have a row: null is possible, but for keys the other side is sure of."""
    return [one if one.name in sure else Field(one.name, one.type) for one in fields]


@deterministic(
    "join",
    inputs={"left": ANY_TABLE, "right": ANY_TABLE},
    outputs={"main": ANY_TABLE},
    params=parameters("on", on=NAMES, how=choice("inner", "left", "right", "full", "semi", "anti")),
    schema=_joined,
)
def join(left: DataFrame, right: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> DataFrame:
    """Join two tables by columns that both have: `on: [id]`, `how: inner|left|right|full|semi|anti`.

    The columns are those of `left`, then those of `right` without the keys; other columns of one name are refused.
    """
    del run
    from pondage.spark.component.columns import joined

    return joined(left, right, params["on"], params.get("how", "inner"))


def _kept_by(inputs: Mapping[str, str], params: Mapping[str, object]) -> Mapping[str, str]:
    for port in ("left", "right"):
        require_fields(inputs, port, params["on"])
    return {"main": inputs["left"]} if "left" in inputs else {}


@deterministic(
    "semi_join",
    inputs={"left": ANY_TABLE, "right": ANY_TABLE},
    outputs={"main": ANY_TABLE},
    params=parameters("on", on=NAMES),
    schema=_kept_by,
)
def semi_join(left: DataFrame, right: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> DataFrame:
    """Keep the rows of `left` whose columns `on` are found in `right`."""
    del run
    from pondage.spark.component.columns import joined

    return joined(left, right, params["on"], "semi")


def _looked_up(inputs: Mapping[str, str], params: Mapping[str, object]) -> Mapping[str, str]:
    keys: Any = params["on"]
    named: Any = params.get("columns", ())
    require_fields(inputs, "input", keys)
    require_fields(inputs, "table", [*keys, *named])
    known, table = fields_of(inputs.get("input")), fields_of(inputs.get("table"))
    if known is None or table is None:
        return {}
    by_name = {one.name: one for one in table}
    added = [by_name[name] for name in named or by_name if name not in keys]
    require_unknown(inputs, "table", added, beside=known)
    return {"main": table_of([*known, *added]), "reject": table_of(known)}


@deterministic(
    "lookup",
    inputs={"input": ANY_TABLE, "table": ANY_TABLE},
    outputs={"main": ANY_TABLE, "reject": ANY_TABLE},
    params=parameters("on", on=NAMES, columns=NAMES),
    schema=_looked_up,
)
def lookup(
    input: DataFrame,  # noqa: A002 - the port
    table: DataFrame,
    *,
    params: Mapping[str, Any],
    run: SparkRun,
) -> dict[str, DataFrame]:
    """Add columns of a small table by its key; rows whose key it does not have go to `reject`, as they came.

    When the table has a key twice, the row with the least other values is taken, so no row is ever doubled.
    """
    del run
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    from pondage.spark.component.columns import joined, order_of_all, require_columns

    keys = list(params["on"])
    wanted = list(params.get("columns") or [name for name in table.columns if name not in keys])
    small = table.select(*require_columns(table, [*keys, *wanted]))
    number = "pondage row number"
    window = Window.partitionBy(*require_columns(small, keys)).orderBy(*order_of_all(small, (), is_descending=False))
    small = small.withColumn(number, F.row_number().over(window)).where(F.col(f"`{number}`") == 1).drop(number)
    return {
        "main": joined(input, F.broadcast(small), keys, "inner"),
        "reject": joined(input, F.broadcast(small), keys, "anti"),
    }
