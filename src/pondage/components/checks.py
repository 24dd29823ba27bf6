"""Components that look at data: assert, log, row_count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pondage.components.declaring import ANY_TABLE, COUNT, EXPRESSION, TEXT, parameters, same_as_input
from pondage.define.component import component
from pondage.define.port import Port
from pondage.errors import PondageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pondage.spark.component_run import SparkRun

MAX_SHOWN = 100


class AssertionBroken(PondageError):
    """Rows break an assertion."""

    code = "ASSERTION"


@component(
    "assert",
    inputs={"input": ANY_TABLE},
    outputs={"main": ANY_TABLE},
    params=parameters("that", that=EXPRESSION, tolerate=COUNT),
    after=("broken",),
    globals=(),
    schema=same_as_input,
    exposed=True,
)
def assert_(input: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> DataFrame:  # noqa: A002 - the port
    """Fail unless a condition is true for every row (or all but `tolerate` of them); the rows pass through.

    Its after-variable `broken` is how many rows break it.
    """
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    is_kept = F.coalesce(run.condition(input, params["that"]), F.lit(False))
    broken = input.where(~is_kept).count()
    run.after["broken"] = broken
    if broken > params.get("tolerate", 0):
        raise AssertionBroken(f"{broken} rows break {params['that']!r}")
    return input


@component(
    "row_count",
    inputs={"input": ANY_TABLE},
    after=("rows",),
    globals=(),
    params=parameters(),
    exposed=True,
)
def row_count(input: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> None:  # noqa: A002 - the port
    """Put the number of rows into the after-variable `rows`, for an `if` edge: `count (if1): "rows > 0" load`.

    What an earlier component wrote is known already; only the element of an iterator is counted.
    """
    del params
    run.after["rows"] = run.rows["input"] if "input" in run.rows else input.count()


@component(
    "void_sink", inputs={"input": Port("Any", multi=True)}, params=parameters(), after=(), globals=(), exposed=True
)
def void_sink(input: list[object], *, params: Mapping[str, Any], run: SparkRun) -> None:  # noqa: A002 - the port
    """Take anything and do nothing with it: a flow must say so when nobody reads an output."""
    del input, params, run


@component(
    "log",
    inputs={"input": Port(ANY_TABLE, required=False)},
    after=(),
    globals=(),
    params=parameters(message=TEXT, rows={"type": "integer", "minimum": 0, "maximum": MAX_SHOWN}),
)
def log(input: DataFrame | None = None, *, params: Mapping[str, Any], run: SparkRun) -> None:  # noqa: A002 - the port
    """Write a message to the log, and the first `rows` rows (10) of the input where there is one."""
    if "message" in params:
        run.log.info("%s", params["message"])
    if input is not None:
        for row in input.limit(params.get("rows", 10)).collect():
            run.log.info("%s", row.asDict(recursive=True))
