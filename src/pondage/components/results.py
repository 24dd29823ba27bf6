"""Components around `Result<T>`, a row or the error that stands for it: make results, and take them apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pondage.components.declarations import EXPRESSION, deterministic, exposed, parameters, require_read
from pondage.define.types.port import Port
from pondage.define.types.types import ERROR

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pondage.spark.component.spark_run import SparkRun

MAX_LOGGED = 100
RESULTS = "Table<Result<R>>"
ROWS = "Table<R>"
_ROW = {"R": "row"}


def _checked(inputs: Mapping[str, str], params: Mapping[str, object]) -> Mapping[str, str]:
    rules = params["rules"]
    assert isinstance(rules, Mapping)
    require_read(inputs, "input", *rules.values())
    return {}


@deterministic(
    "check_rows",
    vars=_ROW,
    inputs={"input": ROWS},
    outputs={"main": RESULTS},
    params=parameters("rules", rules={"type": "object", "minProperties": 1, "additionalProperties": EXPRESSION}),
    schema=_checked,
)
def check_rows(input: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> DataFrame:  # noqa: A002 - the port
    """Make results of rows: `rules: {NEGATIVE: "amount >= 0"}`. A row that breaks a rule becomes an error of its code.

    The first broken rule counts; one that cannot be told (a null operand) is broken. The row is in `detail`, as JSON.
    """
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    row = F.struct(*(F.col("`" + name.replace("`", "``") + "`") for name in input.columns))
    error = None
    for code, text in reversed(params["rules"].items()):
        is_kept = F.coalesce(run.condition(input, text), F.lit(False))
        told = F.struct(F.lit(code).alias("code"), F.lit(text).alias("message"), F.to_json(row).alias("detail"))
        error = F.when(~is_kept, told) if error is None else F.when(~is_kept, told).otherwise(error)
    assert error is not None
    checked = input.select(row.alias("ok"), error.alias("err"))
    return checked.select(F.when(F.col("err").isNull(), F.col("ok")).alias("ok"), "err")


@deterministic(
    "ignore_errors",
    vars=_ROW,
    inputs={"input": RESULTS},
    outputs={"main": ROWS},
    params=parameters(),
)
def ignore_errors(input: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> DataFrame:  # noqa: A002 - the port
    """Keep the rows that went well and forget the errors."""
    del params, run
    return input.where("err IS NULL").select("ok.*")


@exposed(
    "log_errors",
    vars=_ROW,
    inputs={"input": RESULTS},
    outputs={"main": Port(ROWS, discardable=True)},
    params=parameters(rows={"type": "integer", "minimum": 0, "maximum": MAX_LOGGED}),
)
def log_errors(input: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> DataFrame:  # noqa: A002 - the port
    """Write the first `rows` errors (10) to the log, and how many there are; hand on the rows that went well."""
    errors = input.where("err IS NOT NULL").select("err.*")
    count = errors.count()
    for row in errors.orderBy("code", "message", "detail").limit(params.get("rows", 10)).collect():
        run.log.warning("%s: %s: %s", row["code"], row["message"], row["detail"])
    run.log.info("%s error(s)", count)
    return input.where("err IS NULL").select("ok.*")


@deterministic(
    "split_result",
    vars=_ROW,
    inputs={"input": RESULTS},
    outputs={"ok": ROWS, "err": f"Table<{ERROR}>"},
    params=parameters(),
)
def split_result(
    input: DataFrame,  # noqa: A002 - the port
    *,
    params: Mapping[str, Any],
    run: SparkRun,
) -> dict[str, DataFrame]:
    """Send the rows that went well to `ok` and the errors to `err`."""
    del params, run
    return {
        "ok": input.where("err IS NULL").select("ok.*"),
        "err": input.where("err IS NOT NULL").select("err.*"),
    }


@deterministic(
    "collect_errors",
    vars=_ROW,
    inputs={"input": Port(RESULTS, multi=True)},
    outputs={"main": "Table<{code: string, message: string, detail: string, n: bigint}>"},
    params=parameters(),
)
def collect_errors(
    input: list[DataFrame],  # noqa: A002 - the port
    *,
    params: Mapping[str, Any],
    run: SparkRun,
) -> DataFrame:
    """Give the errors of all inputs, each once, and how often it came."""
    del params, run
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    first, *others = (one.where("err IS NOT NULL").select("err.*") for one in input)
    for other in others:
        first = first.union(other)
    return first.groupBy("code", "message", "detail").agg(F.count(F.lit(1)).alias("n"))
