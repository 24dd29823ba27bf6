"""Components that change columns: select, rename, cast, derive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pondage.components.declarations import (
    ANY_TABLE,
    EXPRESSION,
    NAME,
    NAMES,
    TYPES,
    choice,
    computed,
    declared,
    deterministic,
    fields_of,
    parameters,
    require_fields,
    require_read,
    table_of,
)
from pondage.define.types.types import Field
from pondage.expr.kinds import Shape

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pondage.spark.component.spark_run import SparkRun


def _selected(inputs: Mapping[str, str], params: Mapping[str, object]) -> Mapping[str, str]:
    names: Any = params["columns"]
    require_fields(inputs, "input", names)
    known = {field.name: field for field in fields_of(inputs.get("input")) or ()}
    return {"main": table_of(known[name] for name in names)} if known else {}


@deterministic(
    "select",
    inputs={"input": ANY_TABLE},
    outputs={"main": ANY_TABLE},
    params=parameters("columns", columns=NAMES),
    schema=_selected,
)
def select(input: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> DataFrame:  # noqa: A002 - the port
    """Keep these columns, in this order."""
    del run
    from pondage.spark.component.columns import require_columns

    return input.select(*require_columns(input, params["columns"]))


def _renamed(inputs: Mapping[str, str], params: Mapping[str, object]) -> Mapping[str, str]:
    known = fields_of(inputs.get("input"))
    names: Any = params["columns"]
    require_fields(inputs, "input", list(names))
    if known is None:
        return {}
    return {"main": table_of(Field(names.get(one.name, one.name), one.type, one.is_nullable) for one in known)}


@deterministic(
    "rename",
    inputs={"input": ANY_TABLE},
    outputs={"main": ANY_TABLE},
    params=parameters("columns", columns={"type": "object", "additionalProperties": NAME}),
    schema=_renamed,
)
def rename(input: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> DataFrame:  # noqa: A002 - the port
    """Give columns other names: `columns: {old: new}`; two may change places."""
    del run
    from pondage.spark.component.columns import require_columns

    names: Mapping[str, str] = params["columns"]
    require_columns(input, names)
    # All at once: Spark's own renaming goes one by one, and takes a new name for an old one.
    return input.toDF(*(names.get(name, name) for name in input.columns))


def _cast(inputs: Mapping[str, str], params: Mapping[str, object]) -> Mapping[str, str]:
    known = fields_of(inputs.get("input"))
    wanted = {one.name: one for one in declared(params["columns"])}  # type: ignore[arg-type]
    require_fields(inputs, "input", list(wanted))
    return {} if known is None else {"main": table_of(wanted.get(one.name, one) for one in known)}


@deterministic(
    "cast",
    inputs={"input": ANY_TABLE},
    outputs={"main": ANY_TABLE},
    params=parameters("columns", columns=TYPES, on_error=choice("fail", "null")),
    schema=_cast,
)
def cast(input: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> DataFrame:  # noqa: A002 - the port
    """Change the types of columns: `columns: {amount: "decimal(10,2)"}`.

    A value that does not fit makes the component fail, or becomes null with `on_error: "null"`.
    """
    del run
    from pondage.spark.component.columns import require_columns
    from pondage.spark.types.port_types import spark_type

    found = dict(zip(params["columns"], require_columns(input, params["columns"]), strict=True))
    is_lenient = params.get("on_error") == "null"
    types = {name: spark_type(str(kind)) for name, kind in params["columns"].items()}
    return input.withColumns(
        {name: one.try_cast(types[name]) if is_lenient else one.cast(types[name]) for name, one in found.items()}
    )


def _derived(inputs: Mapping[str, str], params: Mapping[str, object]) -> Mapping[str, str]:
    """What is computed is made of what comes in, or was computed before; it takes the place of a like-named column."""
    columns = params["columns"]
    assert isinstance(columns, Mapping)
    shapes: dict[str, Shape] = {}
    for name, text in columns.items():
        (shapes[name],) = require_read(inputs, "input", text, beside=shapes)
    known = fields_of(inputs.get("input"))
    if known is None:
        return {}
    fields = {one.name.casefold(): one for one in known}
    fields |= {name.casefold(): Field(name, computed(shape)) for name, shape in shapes.items()}
    return {"main": table_of(fields.values())}


@deterministic(
    "derive",
    inputs={"input": ANY_TABLE},
    outputs={"main": ANY_TABLE},
    params=parameters("columns", columns={"type": "object", "additionalProperties": EXPRESSION}),
    schema=_derived,
)
def derive(input: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> DataFrame:  # noqa: A002 - the port
    """Compute columns: `columns: {total: "price * quantity"}`. A later one sees those before it.

    Where a value cannot be computed (a null operand, a division by zero) the column is null.
    """
    for name, text in params["columns"].items():
        input = input.withColumn(name, run.column(input, text))  # noqa: A001 - the port
    return input
