"""Databases through JDBC. A password is named by its secret: it reaches Spark's connection and nothing else."""

from __future__ import annotations

import re
from decimal import Decimal
from math import floor
from typing import TYPE_CHECKING, Literal, Protocol

from pondage.errors import PondageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

_PASSWORD_IN_URL = re.compile(r"(?i)(password|passwd|pwd|secret|token)\s*=|//[^/?]*:[^/?@]*@")
_PASSWORD_OPTION = re.compile(r"(?i)password|passwd|secret|token|^user$")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*){0,2}")
_DRIVERS = {
    "jdbc:postgresql:": ("org.postgresql.Driver", "org.postgresql:postgresql:42.7.8"),
    "jdbc:sqlite:": ("org.sqlite.JDBC", "org.xerial:sqlite-jdbc:3.50.3.0"),
}
FETCH_ROWS = 10_000
"""PostgreSQL's driver otherwise takes a whole result into memory."""


class HasSecrets(Protocol):
    """The run of a Ripple or of a component, as far as a connection needs it."""

    def secret(self, name: str, /) -> str:
        """Answer a secret by its name."""


class BadJdbc(PondageError):
    """A database that cannot be reached as it was written down."""

    code = "BAD_JDBC"


def jdbc(
    spark: SparkSession,
    run: HasSecrets,
    url: str,
    table: str,
    *,
    user: str | None = None,
    password: str | None = None,
    split_by: str | None = None,
    partitions: int | None = None,
    options: dict[str, str] | None = None,
) -> DataFrame:
    """Read a table, or a query in parentheses: `(select …) as recent`. `password` is the name of a secret.

    `split_by` reads in several tasks by ranges of a column (a number, a date or a time), found by asking for its
    smallest and largest value; each task is a connection and a transaction of its own. `options` are those of Spark's
    JDBC source. Raises `BadJdbc` when the driver's package is missing or a password stands where others could read it.
    """
    reader = _reader(spark, run, url, user, password, options)
    if split_by is None:
        return reader.option("dbtable", table).load()
    bounds = reader.option("query", _bounds(table, split_by)).load().first()
    reader = _reader(spark, run, url, user, password, options).option("dbtable", table)
    if bounds is None or bounds[0] is None:
        return reader.load()
    count = partitions or spark.sparkContext.defaultParallelism
    return (
        reader.option("partitionColumn", split_by)
        .option("lowerBound", _bound(bounds[0]))
        .option("upperBound", _bound(bounds[1]))
        .option("numPartitions", count)
        .load()
    )


def write_jdbc(
    frame: DataFrame,
    run: HasSecrets,
    url: str,
    table: str,
    *,
    user: str | None = None,
    password: str | None = None,
    mode: Literal["append", "overwrite"] = "append",
    options: dict[str, str] | None = None,
) -> None:
    """Write rows into a table of another database. `overwrite` empties the table first and keeps its definition.

    This happens while the Ripple runs, so a Ripple that is tried again writes again: append rows with a column for
    `run.idempotency_key`, or overwrite. Raises `BadJdbc`.
    """
    spark = frame.sparkSession
    given = _options(spark, run, url, user, password, options)
    if url.startswith("jdbc:sqlite:"):
        # SQLite has one writer.
        frame = frame.coalesce(1)
    writer = frame.write.format("jdbc").options(**given).option("dbtable", table).option("truncate", "true")
    writer.mode(mode).save()


def _reader(
    spark: SparkSession,
    run: HasSecrets,
    url: str,
    user: str | None,
    password: str | None,
    options: dict[str, str] | None,
) -> DataFrameReader:
    return spark.read.format("jdbc").options(**_options(spark, run, url, user, password, options))


def _options(
    spark: SparkSession,
    run: HasSecrets,
    url: str,
    user: str | None,
    password: str | None,
    options: dict[str, str] | None,
) -> dict[str, str]:
    given = dict(options or {})
    exposed = [name for name in given if _PASSWORD_OPTION.search(name)]
    if exposed or _PASSWORD_IN_URL.search(url):
        raise BadJdbc(
            f"{'option ' + exposed[0] if exposed else 'the URL'} of a JDBC source holds a password or a user",
            hint='store it with `pondage secret set NAME`, and write user="…", password="NAME"',
        )
    made = {"url": url, "fetchsize": str(FETCH_ROWS), **given}
    driver = next((each for scheme, each in _DRIVERS.items() if url.startswith(scheme)), None)
    if driver is not None and "driver" not in made:
        _require(spark, *driver)
        made["driver"] = driver[0]
    if user is not None:
        made["user"] = user
    if password is not None:
        made["password"] = run.secret(password)
    return made


def _require(spark: SparkSession, driver: str, package: str) -> None:
    """Say which package is missing; Spark's own error names a class and no cure."""
    from py4j.protocol import Py4JJavaError

    jvm = getattr(spark, "_jvm", None)
    if jvm is None:
        return
    try:
        jvm.java.lang.Class.forName(driver, True, jvm.java.lang.Thread.currentThread().getContextClassLoader())
    except Py4JJavaError:
        raise BadJdbc(
            f"the driver {driver} is not there",
            hint=f'add it to pondage.toml: [spark] packages = ["{package}"]',
        ) from None


def _bound(value: object) -> str:
    """Answer a bound as Spark reads it: of numbers only whole ones, which need not be exact."""
    return str(floor(value)) if isinstance(value, (int, float, Decimal)) else str(value)


def _bounds(table: str, column: str) -> str:
    """Answer the question for the range of a column. Both texts are the author's; a column can only be a name."""
    if not _NAME.fullmatch(column) or not (table.startswith("(") or _NAME.fullmatch(table)):
        raise BadJdbc(
            f"{table!r} split by {column!r} is not a table or a query in parentheses, and a column of it",
            hint='write "orders" or "(select … from …) as recent", and the plain name of a column',
        )
    # No row rather than one of nulls: SQLite's driver cannot hand a null of no type to Spark.
    return f"SELECT min({column}) AS low, max({column}) AS high FROM {table} HAVING count({column}) > 0"  # noqa: S608
