"""Components that look at data: assert, log, row_count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pondage.components.declarations import (
    ANY_TABLE,
    COUNT,
    EXPRESSION,
    TEXT,
    exposed,
    parameters,
    same_as_input,
    shipped,
)
from pondage.define.job.component import WrongInput
from pondage.define.types.port import Port
from pondage.define.types.types import parse_type
from pondage.errors import PondageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pondage.spark.component.spark_run import SparkRun

MAX_SHOWN = 100


class AssertionBroken(PondageError):
    """Rows break an assertion."""

    code = "ASSERTION"


def _asserted(inputs: Mapping[str, str], params: Mapping[str, object]) -> Mapping[str, str]:
    """Rows pass as they are; results, which need no condition, as the rows that went well."""
    if "that" in params or "input" not in inputs:
        return same_as_input(inputs, params)
    found = parse_type(inputs["input"])
    row = found.arguments[0] if found.arguments else found
    if row.head == "Any":
        return {}
    if row.head != "Result":
        raise WrongInput("input", "Table<Result<R>>", "without `that` only results can be asserted")
    return {"main": f"Table<{row.arguments[0]}>"}


@exposed(
    "assert",
    inputs={"input": ANY_TABLE},
    outputs={"main": ANY_TABLE},
    params=parameters(that=EXPRESSION, tolerate=COUNT),
    after=("broken",),
    schema=_asserted,
)
def assert_(input: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> DataFrame:  # noqa: A002 - the port
    """Fail unless a condition is true for every row (or all but `tolerate` of them); the rows pass through.

    Without `that` the rows are results (`Result<T>`): an error among them fails, and the rows that went well pass. Its
    after-variable `broken` is how many rows break it.
    """
    if "that" not in params:
        return _all_went_well(input, params.get("tolerate", 0), run)
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    is_kept = F.coalesce(run.condition(input, params["that"]), F.lit(False))
    broken = input.where(~is_kept).count()
    run.after["broken"] = broken
    if broken > params.get("tolerate", 0):
        what = "1 row breaks" if broken == 1 else f"{broken} rows break"
        raise AssertionBroken(f"{what} {params['that']!r}")
    return input


def _all_went_well(results: DataFrame, tolerated: int, run: SparkRun) -> DataFrame:
    if results.columns != ["ok", "err"]:
        raise PondageError("without `that` only results can be asserted", code="PARAMS_SCHEMA")
    errors = results.where("err IS NOT NULL").select("err.*")
    run.after["broken"] = broken = errors.count()
    if broken > tolerated:
        first = errors.orderBy("code", "message", "detail").first()
        assert first is not None
        told = f"{first['code']}: {first['message']} ({first['detail']})"
        raise AssertionBroken(f"{broken} error(s); the first: {told}")
    return results.where("err IS NULL").select("ok.*")


@exposed(
    "row_count",
    inputs={"input": ANY_TABLE},
    after=("rows",),
    params=parameters(),
)
def row_count(input: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> None:  # noqa: A002 - the port
    """Put the number of rows into the after-variable `rows`, for an `if` edge: `count (if1): "rows > 0" load`.

    What an earlier component wrote is known already; only the element of an iterator is counted.
    """
    del params
    run.after["rows"] = run.rows["input"] if "input" in run.rows else input.count()


@exposed("void_sink", inputs={"input": Port("Any", multi=True)}, params=parameters())
def void_sink(input: list[object], *, params: Mapping[str, Any], run: SparkRun) -> None:  # noqa: A002 - the port
    """Take anything and do nothing with it: a flow must say so when nobody reads an output."""
    del input, params, run


@shipped(
    "log",
    inputs={"input": Port(ANY_TABLE, required=False)},
    params=parameters(message=TEXT, rows={"type": "integer", "minimum": 0, "maximum": MAX_SHOWN}),
)
def log(input: DataFrame | None = None, *, params: Mapping[str, Any], run: SparkRun) -> None:  # noqa: A002 - the port
    """Write a message to the log, and the first `rows` rows (10) of the input where there is one."""
    if "message" in params:
        run.log.info("%s", params["message"])
    if input is not None:
        for row in input.limit(params.get("rows", 10)).collect():
            run.log.info("%s", row.asDict(recursive=True))
