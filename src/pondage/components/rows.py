"""Components that choose, order or put together rows: filter, split, dedupe, sort, sample, union, table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pondage.components.declarations import (
    ANY_TABLE,
    EXPRESSION,
    NAMES,
    TYPES,
    choice,
    declared,
    deterministic,
    exposed,
    fields_of,
    parameters,
    require_fields,
    require_read,
    same_as_input,
    table_of,
)
from pondage.define.job.component import WrongInput, WrongParams
from pondage.define.types.checking import can_be_written
from pondage.define.types.port import Port
from pondage.define.types.types import ANY, Field, Type
from pondage.define.values.schema import shown
from pondage.errors import PondageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pondage.spark.component.spark_run import SparkRun


@deterministic(
    "filter",
    inputs={"input": ANY_TABLE},
    outputs={"main": ANY_TABLE},
    params=parameters("where", where=EXPRESSION),
    schema=same_as_input,
)
def filter_(input: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> DataFrame:  # noqa: A002 - the port
    """Keep the rows for which a condition is true: `where: "amount > 10"`."""
    return input.where(run.condition(input, params["where"]))


def _both(inputs: Mapping[str, str], params: Mapping[str, object]) -> Mapping[str, str]:
    require_read(inputs, "input", params["where"])
    return {"main": inputs["input"], "reject": inputs["input"]} if "input" in inputs else {}


@deterministic(
    "split",
    inputs={"input": ANY_TABLE},
    outputs={"main": ANY_TABLE, "reject": ANY_TABLE},
    params=parameters("where", where=EXPRESSION),
    schema=_both,
)
def split(input: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> dict[str, DataFrame]:  # noqa: A002
    """Send the rows for which a condition is true to `main`, and all others to `reject`.

    A row for which it cannot be told (a null operand, a division by zero) is rejected.
    """
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    is_kept = F.coalesce(run.condition(input, params["where"]), F.lit(False))
    return {"main": input.where(is_kept), "reject": input.where(~is_kept)}


def _keyed(inputs: Mapping[str, str], params: Mapping[str, object]) -> Mapping[str, str]:
    require_fields(inputs, "input", [*params["keys"], *params.get("order", ())])  # type: ignore[misc]
    return same_as_input(inputs, params)


@deterministic(
    "dedupe",
    inputs={"input": ANY_TABLE},
    outputs={"main": ANY_TABLE},
    params=parameters("keys", keys=NAMES, order=NAMES, keep=choice("first", "last")),
    schema=_keyed,
)
def dedupe(input: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> DataFrame:  # noqa: A002 - the port
    """Keep one row for each combination of `keys`: the first (or last) one by `order`.

    Rows that `order` cannot tell apart are told apart by their other columns, so that the result is always the same.
    """
    del run
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    from pondage.spark.component.columns import order_of_all, require_columns

    keys = require_columns(input, params["keys"])
    order = order_of_all(input, params.get("order", ()), is_descending=params.get("keep") == "last")
    number = "pondage row number"
    ranked = input.withColumn(number, F.row_number().over(Window.partitionBy(*keys).orderBy(*order)))
    return ranked.where(F.col(f"`{number}`") == 1).drop(number)


def _sorted(inputs: Mapping[str, str], params: Mapping[str, object]) -> Mapping[str, str]:
    require_fields(inputs, "input", params["by"])
    return same_as_input(inputs, params)


@deterministic(
    "sort",
    inputs={"input": ANY_TABLE},
    outputs={"main": ANY_TABLE},
    params=parameters("by", by=NAMES, descending={"type": "boolean"}),
    schema=_sorted,
)
def sort(input: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> DataFrame:  # noqa: A002 - the port
    """Order the rows by some columns; nulls come first, and last when descending."""
    del run
    from pondage.spark.component.columns import require_columns

    columns = require_columns(input, params["by"])
    return input.orderBy(*(one.desc() if params.get("descending") else one.asc() for one in columns))


@exposed(
    "sample",
    inputs={"input": ANY_TABLE},
    outputs={"main": ANY_TABLE},
    params=parameters("fraction", fraction={"type": "number", "minimum": 0, "maximum": 1}, seed={"type": "integer"}),
    schema=same_as_input,
)
def sample(input: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> DataFrame:  # noqa: A002 - the port
    """Keep about this fraction of the rows; the same `seed` keeps the same ones of the same files."""
    del run
    return input.sample(withReplacement=False, fraction=float(params["fraction"]), seed=params.get("seed", 0))


def _united(inputs: Mapping[str, str], params: Mapping[str, object]) -> Mapping[str, str]:
    """Columns meet by their names, which Spark takes without their case, and become as wide as the widest."""
    tables = [fields_of(text) for port, text in inputs.items() if port.startswith("input[")]
    if not tables or None in tables:
        return {}
    may_lack = params.get("missing") == "null"
    first, *others = ({one.name.casefold(): one for one in table or ()} for table in tables)
    for other in others:
        apart = [one.name for one in (first | other).values() if one.name.casefold() not in first.keys() & other.keys()]
        if apart and not may_lack:
            why = f"only one of the tables has a column {apart[0]!r}: say `missing: null`, or select the same of each"
            raise WrongInput("input", inputs["input[0]"], why)
        first = {name: _met(first.get(name), other.get(name)) for name in first | other}
    return {"main": table_of(first.values())}


def _met(one: Field | None, other: Field | None) -> Field:
    if one is None or other is None:
        alone = one or other
        assert alone is not None
        return Field(alone.name, alone.type)
    return Field(one.name, _widest(one.type, other.type), one.is_nullable or other.is_nullable)


_WHOLE = ("tinyint", "smallint", "int", "bigint")


def _widest(one: Type, other: Type) -> Type:
    """Answer what a column of both becomes; Any where only Spark knows."""
    heads = {one.head, other.head}
    if one == other:
        return one
    if heads <= set(_WHOLE):
        return max(one, other, key=lambda each: _WHOLE.index(each.head))
    return Type("double") if "double" in heads and heads <= {*_WHOLE, "float", "double"} else ANY


@deterministic(
    "union",
    inputs={"input": Port(ANY_TABLE, multi=True)},
    outputs={"main": ANY_TABLE},
    params=parameters(missing=choice("fail", "null")),
    schema=_united,
)
def union(input: list[DataFrame], *, params: Mapping[str, Any], run: SparkRun) -> DataFrame:  # noqa: A002 - the port
    """Put the rows of all inputs together, columns by their names; with `missing: "null"` some may lack columns."""
    del run
    if not input:
        raise PondageError("no input has given a table", hint="no iteration ended well, perhaps", code="NO_INPUT")
    first, *others = input
    for one in others:
        first = first.unionByName(one, allowMissingColumns=params.get("missing") == "null")
    return first


def _table(inputs: Mapping[str, str], params: Mapping[str, object]) -> Mapping[str, str]:
    del inputs
    columns, rows = params["columns"], params["rows"]
    assert isinstance(columns, Mapping)
    assert isinstance(rows, list | tuple)
    fields = declared(columns)
    for number, row in enumerate(rows):
        if len(row) != len(fields):
            raise WrongParams(f"rows[{number}]", f"it has {len(row)} values for {len(fields)} columns")
        for place, (field, value) in enumerate(zip(fields, row, strict=True)):
            if value is not None and not can_be_written(value, field.type):
                raise WrongParams(f"rows[{number}][{place}]", f"{shown(value)} is no {field.type} ({field.name})")
    return {"main": table_of(fields)}


@deterministic(
    "table",
    outputs={"main": ANY_TABLE},
    params=parameters("columns", "rows", columns=TYPES, rows={"type": "array", "items": {"type": "array"}}),
    schema=_table,
)
def table(*, params: Mapping[str, Any], run: SparkRun) -> DataFrame:
    """Give a small table that is written in the job file: `columns: {id: bigint}`, `rows: [[1], [2]]`."""
    from pondage.spark.component.columns import literal_table

    return literal_table(run.spark, params["columns"], params["rows"])
