"""`${…}` means nothing, wherever a text of a user meets Spark: not the environment, not Java, not the settings."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

from pondage import sources
from pondage.errors import PondageError
from pondage.spark.component.columns import literal_table
from pondage.spark.expr.columns import column_of
from pondage.spark.files.outside_files import read_parquet_files, read_text_files, write_out
from pondage.spark.files.write import write_files
from pondage.spark.jvm.settings import SparkSettings, session_conf
from pondage.spark.query.query import run_query
from pondage.spark.ripple.ripple import run_ripple
from tests.spark.support import work

pytestmark = pytest.mark.spark

MARKS = [
    "${env:HOME}",
    "${system:java.home}",
    "${spark.app.id}",
    "${sparkconf:spark.app.id}",
    "${hiveconf:spark.app.id}",
    "${env.HOME}",  # the last two are as Hadoop writes them
    "${java.home}",
]


def meanings(spark: SparkSession, mark: str) -> str:
    """Answer what Spark would put there, if it did."""
    if "HOME" in mark:
        return os.environ["HOME"]
    java = str(spark.sparkContext._jvm.java.lang.System.getProperty("java.home"))  # type: ignore[union-attr]
    return java if "java" in mark else str(spark.sparkContext.applicationId)


def asked(spark: SparkSession, mark: str, place: Path) -> list[object]:
    content = write_files(spark.range(1).withColumn("x", F.lit(mark)), f"{place}/told").as_content()
    texts = [
        f"SELECT '{mark}' AS a, \"{mark}\" AS b, 1 AS `{mark}`",
        f"SELECT x FROM told WHERE x = '{mark}' OR x LIKE '%{mark}%'",
        f"SELECT 1 /* {mark} */ AS one -- {mark}",
        f"SELECT from_json('{{}}', '`{mark}` int') AS j, from_csv('1', '`{mark}` int') AS c",
        "SELECT concat('$', '{', 'env:HOME', '}') AS built",
        f"SELECT * FROM `{mark}`",
        f"WITH `{mark}` AS (SELECT 1 AS n) SELECT * FROM `{mark}`",
    ]
    found: list[object] = []
    for text in texts:
        try:
            found.append(run_query(spark, text, {"told": content}))
        except PondageError as error:
            found.append((error.message, error.hint))
    return found


def sql_ripple(spark: SparkSession, mark: str, place: Path) -> list[object]:
    plain = run_ripple(spark, work(None, place / "plain", sql=f"SELECT '{mark}' AS a"))
    found: list[object] = [plain, *spark.read.parquet(f"{place}/plain").collect()]
    for number, column in enumerate((f"1 AS `{mark}`", f"named_struct('{mark}', 1) AS s")):
        try:
            found.append(run_ripple(spark, work(None, place / f"{number}", sql=f"SELECT {column}")))
        except PondageError as error:
            found.append(error.message)
    assert [each for each in found if "Hadoop would replace" in str(each)], "Hadoop's own substitution has no switch"
    return found


def expressions(spark: SparkSession, mark: str, place: Path) -> list[object]:
    frame = spark.range(1).withColumn("x", F.lit(mark)).withColumn(mark, F.lit(1))
    column = column_of(frame, f"x + '{mark}'")
    return [*frame.select(column.alias(mark)).collect(), frame.columns]


def names(spark: SparkSession, mark: str, place: Path) -> list[object]:
    frame = literal_table(spark, {mark: "string"}, [[mark]])
    frame.createOrReplaceTempView("`" + mark + "`")
    tables = [each.name for each in spark.catalog.listTables()]
    return [frame.columns, *frame.collect(), tables, *spark.table("`" + mark + "`").collect()]


def options(spark: SparkSession, mark: str, place: Path) -> list[object]:
    write_out(spark.createDataFrame([(mark, "2")], "a string, b string"), "csv", f"{place}/csv", mode="error",
              options={"header": True, "sep": mark})  # fmt: skip
    lines = [each.read_text() for each in (place / "csv").glob("*.csv")]
    read = read_text_files(
        spark, "csv", f"{place}/csv", {mark: "string", "b": "string"}, is_lenient=True, options={"sep": mark}
    )
    return [*lines, read.columns, *read.collect()]


def outside_sources(spark: SparkSession, mark: str, place: Path) -> list[object]:
    place.mkdir(exist_ok=True)
    (place / "in.csv").write_text(f"{mark},1\n")
    (place / "in.json").write_text(f'{{"a": "{mark}"}}\n')
    (place / "in.txt").write_text(f"{mark}\n")
    frames = [
        sources.csv(spark, f"{place}/in.csv", f"`{mark}` string, b int", header=False, options={"nullValue": mark}),
        sources.json(spark, f"{place}/in.json", "a string", options={"dateFormat": mark}),
        sources.text(spark, f"{place}/in.txt", r"(.*)", f"`{mark}` string"),
    ]
    return [each for frame in frames for each in (frame.columns, *frame.collect())]


def outside_parquet(spark: SparkSession, mark: str, place: Path) -> list[object]:
    frame = spark.range(1).withColumnRenamed("id", mark)
    place.mkdir()
    pq.write_table(pa.table({mark: [1]}), place / "in.parquet")
    found: list[object] = []
    for act in (
        lambda: write_out(frame, "parquet", f"{place}/out", mode="error", options={}),
        lambda: read_parquet_files(spark, f"{place}/in.parquet", None).collect(),
        lambda: read_parquet_files(spark, f"{place}/in.parquet", {mark: "bigint"}).collect(),
    ):
        with pytest.raises(PondageError, match="Hadoop would replace") as refused:
            act()
        found.append(refused.value.message)
    return found


PLACES = [asked, sql_ripple, expressions, names, options, outside_sources, outside_parquet]


@pytest.mark.parametrize("where", PLACES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("mark", MARKS)
def test_nothing_is_substituted_where_a_text_of_a_user_meets_spark(
    spark: SparkSession, tmp_path: Path, where: Callable[[SparkSession, str, Path], list[object]], mark: str
) -> None:
    said = repr(where(spark, mark, tmp_path / "place")).replace(str(tmp_path), "")
    assert meanings(spark, mark) not in said
    assert mark.split(":")[-1].strip("${}") in said, "the text itself came back, so Spark has looked at it"


def test_no_project_can_switch_it_on(tmp_path: Path) -> None:
    settings = SparkSettings(conf={"spark.sql.variable.substitute": "true"})
    conf = session_conf(settings, local_directory=tmp_path, warehouse=tmp_path, cache=tmp_path)
    assert conf["spark.sql.variable.substitute"] == "false"
