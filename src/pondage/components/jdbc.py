"""Components that read and write tables of databases through JDBC; a password is the name of a secret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pondage.components.declarations import ANY_TABLE, NAME, choice, parameters, shipped
from pondage.define.job.component import component

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pondage.spark.component.spark_run import SparkRun

_TABLE = {"type": "string", "pattern": r"^[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*){0,2}$"}
"""A parameter never becomes SQL: a table is a name, of at most three parts."""
_COLUMN = {"type": "string", "pattern": r"^[A-Za-z_][A-Za-z0-9_$]*$"}
_URL = {"type": "string", "pattern": "^jdbc:"}


@shipped(
    "read_jdbc",
    outputs={"main": ANY_TABLE},
    params=parameters(
        "url", "table", url=_URL, table=_TABLE, user=NAME, password=NAME, split_by=_COLUMN,
        partitions={"type": "integer", "minimum": 1, "maximum": 1000},
    ),
)  # fmt: skip
def read_jdbc(*, params: Mapping[str, Any], run: SparkRun) -> DataFrame:
    """Read a table of a database. `password` is the name of a secret (`pondage secret set`).

    `split_by` reads it in several tasks, by ranges of that column.
    """
    from pondage.connect.jdbc import jdbc

    names = ("user", "password", "split_by", "partitions")
    given = {name: params[name] for name in names if name in params}
    return jdbc(run.spark, run, params["url"], params["table"], **given)


@component(
    "write_jdbc",
    inputs={"input": ANY_TABLE},
    params=parameters(
        "url", "table", url=_URL, table=_TABLE, user=NAME, password=NAME, mode=choice("append", "overwrite")
    ),
    after=("rows",),
    globals=(),
)
def write_jdbc(input: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> None:  # noqa: A002 - the port
    """Append the rows to a table of a database, or replace all of its rows with `mode: overwrite`.

    A component that is tried again writes again: overwrite, or give the rows a column with the run's key.
    """
    from pondage.connect import jdbc

    given = {name: params[name] for name in ("user", "password", "mode") if name in params}
    jdbc.write_jdbc(input, run, params["url"], params["table"], **given)
    if "input" in run.rows:
        run.after["rows"] = run.rows["input"]
