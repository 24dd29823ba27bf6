"""Fused Ripples on a real Spark: the same rows as written ones, in one job, with errors that name them."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from pondage.define.pond.definition import PondDefinition
from pondage.define.pond.pond import Pond
from pondage.define.pond.run import Run
from pondage.errors import PondageError
from pondage.plan.deploy.planner import checked, make_plan
from pondage.project.sql import parsed_sql
from pondage.spark.files.read import read_snapshot
from pondage.spark.query.query import run_query
from pondage.spark.ripple.ripple import RippleWork, run_ripple
from pondage.spark.session.driver import SparkDriver
from pondage.work.snapshot import SnapshotContent

pytestmark = pytest.mark.spark

Rows = list[tuple[object, ...]]


@pytest.fixture
def raw(spark: SparkSession, place: Callable[[], Path]) -> SnapshotContent:
    """Forty rows: keys that are met often, a value, a text that nobody needs."""

    def rows(spark: SparkSession) -> DataFrame:
        return spark.range(40, numPartitions=2).select(
            (F.col("id") % 7).alias("key"), F.col("id").alias("value"), F.lit("long").alias("text")
        )

    made = Pond("raw")
    made.ripple(rows)
    return run(spark, made, place, {})["rows"]


def run(
    spark: SparkSession, pond: Pond, place: Callable[[], Path], raw: Mapping[str, SnapshotContent]
) -> dict[str, SnapshotContent]:
    """Run a Pond's Ripples in order, as workers do, and answer what each wrote."""
    definition = planned(pond)
    written: dict[str, SnapshotContent] = {}
    left = list(definition.ripples)
    while left:
        ripple = next(each for each in left if all(parent in written for parent in each.parents))
        left.remove(ripple)
        content = run_ripple(
            spark,
            RippleWork(
                pond=definition.name,
                ripple=ripple,
                function=pond.ripples[ripple.name].function,
                inputs={
                    read.parameter: written[read.ripple] if read.pond is None else raw[read.ripple]
                    for read in ripple.reads
                },
                run=Run(freshness_us=1),
                destination=str(place()),
                fused={each.name: pond.ripples[each.name].function for each in ripple.members},
            ),
        )
        assert isinstance(content, SnapshotContent)
        written[ripple.name] = content
    return written


def planned(pond: Pond) -> PondDefinition:
    source = Pond("raw")
    source.ripple(lambda_named("rows"))
    texts = {name: parsed_sql(each.sql_path, place="") for name, each in pond.ripples.items() if each.sql_path}
    definitions = [pond.definition("tests:pond", sql=texts), source.definition("tests:raw")]
    plan = checked(make_plan(definitions if pond.sources else definitions[:1], [], project="tests"))
    return next(each for each in plan.ponds if each.name == pond.name)


def lambda_named(name: str) -> Callable[[], None]:
    def function() -> None:
        raise AssertionError("never called")

    function.__name__ = name
    return function


def rows_of(spark: SparkSession, content: SnapshotContent) -> Rows:
    return sorted(tuple(row) for row in read_snapshot(spark, content).collect())


def random_pond(seed: int, *, fuse: bool) -> Pond:
    """Make a Pond of random steps over `raw`, each of one to three earlier tables; equal seeds give equal Ponds."""
    chance = random.Random(seed)
    pond = Pond(f"random{seed}", fuse=fuse)
    source = pond.source("raw")
    steps: list[str] = []
    for number in range(chance.randint(3, 7)):
        chosen = chance.sample([*steps[-3:], "raw"], k=min(len(steps) + 1, chance.choice([1, 1, 2, 3])))
        arguments = {f"t{index}": each for index, each in enumerate(chosen)}
        reads = {name: source["rows"] if each == "raw" else each for name, each in arguments.items()}
        kind = chance.choice(["filter", "sum", "first", "self_join", "rename", "union"])
        steps.append(f"step{number}")
        pond.ripple(reads=reads)(_step(steps[-1], list(arguments), kind, chance.randint(2, 5)))  # type: ignore[arg-type]
    return pond


def _step(name: str, parameters: list[str], kind: str, constant: int) -> Callable[..., DataFrame]:
    def body(*frames: DataFrame) -> DataFrame:
        joined = frames[0].select("key", "value")
        for other in frames[1:]:
            joined = joined.unionByName(other.select("key", "value"))
        match kind:
            case "filter":
                return joined.where(F.col("value") % constant != 0)
            case "sum":
                return joined.groupBy("key").agg(F.sum("value").alias("value"))
            case "first":
                return joined.groupBy("key", "value").agg(F.count("*").alias("n")).select("key", "value", "n")
            case "self_join":
                most = joined.groupBy("key").agg(F.max("value").alias("most"))
                return joined.join(most, "key").select("key", (F.col("most") - F.col("value")).alias("value"))
            case "rename":
                return joined.select(((F.col("key") + constant) % 7).alias("key"), F.col("value"))
            case _:
                return joined.unionByName(joined.where(F.col("key") > constant))

    text = f"def {name}({', '.join(parameters)}):\n    return body({', '.join(parameters)})\n"
    scope: dict[str, object] = {"body": body}
    exec(text, scope)
    return scope[name]  # type: ignore[return-value]


@pytest.mark.parametrize("seed", range(int(os.environ.get("PONDAGE_FUSION_SEEDS", "4"))))
def test_fused_and_written_ponds_give_the_same_rows(
    spark: SparkSession, place: Callable[[], Path], raw: SnapshotContent, seed: int
) -> None:
    written = run(spark, random_pond(seed, fuse=False), place, {"rows": raw})
    fused = run(spark, random_pond(seed, fuse=True), place, {"rows": raw})
    assert set(fused) <= set(written)
    for name, content in fused.items():
        assert rows_of(spark, content) == rows_of(spark, written[name]), name
        assert read_snapshot(spark, content).dtypes == read_snapshot(spark, written[name]).dtypes


def test_the_random_ponds_fuse_something() -> None:
    members = [sum(len(each.members) for each in planned(random_pond(seed, fuse=True)).ripples) for seed in range(4)]
    assert sum(members) >= 4


def sql_steps(*, fuse: bool) -> Pond:
    """Make a Pond in which two SQL Ripples call different tables `rows`; their texts stand where a path would."""
    pond = Pond("shop", fuse=fuse)
    source = pond.source("raw")
    small = {"rows": source["rows"]}
    pond.sql("small", "SELECT key, value FROM rows WHERE value < 9", reads=small)
    pond.sql("joined", "SELECT s.key, s.value, r.text FROM small s JOIN rows r ON s.value = r.value", reads=small)
    pond.sql("rows", "SELECT key, sum(value) AS value FROM joined WHERE text = 'long' GROUP BY key")
    pond.sql("result", "SELECT * FROM rows WHERE key IN (SELECT key FROM rows WHERE value > 3)")
    return pond


def test_sql_ripples_are_fused_too_and_each_sees_its_own_tables(
    spark: SparkSession, place: Callable[[], Path], raw: SnapshotContent
) -> None:
    assert [each.name for each in planned(sql_steps(fuse=True)).ripples] == ["result"]
    written = run(spark, sql_steps(fuse=False), place, {"rows": raw})["result"]
    fused = run(spark, sql_steps(fuse=True), place, {"rows": raw})["result"]
    assert rows_of(spark, fused) == rows_of(spark, written)
    assert fused.rows == 5


def three_steps(*, fuse: bool) -> Pond:
    pond = Pond("shop", fuse=fuse)
    source = pond.source("raw")

    @pond.ripple(reads={"rows": source["rows"]})
    def clean(rows: DataFrame) -> DataFrame:
        return rows.where("value > 3")

    @pond.ripple
    def wide(clean: DataFrame) -> DataFrame:
        return clean.withColumn("double", F.col("value") * 2)

    @pond.ripple
    def totals(wide: DataFrame) -> DataFrame:
        return wide.select("key", "double")

    return pond


def test_a_fused_chain_is_one_job_and_reads_only_the_columns_that_are_needed(
    spark: SparkSession, driver: SparkDriver, token: str, place: Callable[[], Path], raw: SnapshotContent
) -> None:
    counted = {}
    for fuse in (False, True):
        before = driver.backend.jobs(token)  # type: ignore[attr-defined]
        run(spark, three_steps(fuse=fuse), place, {"rows": raw})
        counted[fuse] = len(driver.backend.jobs(token)) - len(before)  # type: ignore[attr-defined]
    assert counted == {False: 3, True: 1}
    assert read_schemas(spark, three_steps(fuse=True), raw) == ["key:bigint,value:bigint"]


def read_schemas(spark: SparkSession, pond: Pond, raw: SnapshotContent) -> list[str]:
    """Answer what the physical plan of the Pond's only written Ripple reads."""
    from pondage.spark.ripple.fuse import FusedPlans
    from pondage.spark.ripple.ripple import _tables, call_ripple

    (ripple,) = planned(pond).ripples
    work = RippleWork(
        pond=pond.name,
        ripple=ripple,
        function=pond.ripples[ripple.name].function,
        inputs=dict.fromkeys((read.parameter for read in ripple.reads), raw),
        run=Run(freshness_us=1),
        destination="",
        fused={each.name: pond.ripples[each.name].function for each in ripple.members},
    )
    frame = FusedPlans(spark, work, read=lambda each: _tables(spark, each), call=call_ripple).result()
    return re.findall(r"ReadSchema: struct<([^>]*)>", frame._jdf.queryExecution().executedPlan().toString())


def test_only_declared_columns_are_read(spark: SparkSession, raw: SnapshotContent) -> None:
    pond = Pond("shop", fuse=True)
    source = pond.source("raw", columns=["key", "text"])

    @pond.ripple(reads={"rows": source["rows"]})
    def clean(rows: DataFrame) -> DataFrame:
        return rows.where("key > 3")

    @pond.ripple
    def everything(clean: DataFrame) -> DataFrame:
        return clean

    assert read_schemas(spark, pond, raw) == ["key:bigint,text:string"]


def test_a_fused_ripple_that_its_consumer_uses_twice_is_evaluated_once(
    spark: SparkSession, place: Callable[[], Path], raw: SnapshotContent
) -> None:
    pond = Pond("shop")
    source = pond.source("raw")

    @pond.ripple(reads={"rows": source["rows"]}, materialize=False)
    def numbered(rows: DataFrame) -> DataFrame:
        return rows.select("value", F.rand().alias("chance"))

    @pond.ripple
    def paired(numbered: DataFrame) -> DataFrame:
        other = numbered.select("value", F.col("chance").alias("other"))
        return numbered.repartition(3).join(other, "value")

    found = read_snapshot(spark, run(spark, pond, place, {"rows": raw})["paired"]).collect()
    assert len(found) == 40
    assert all(row["chance"] == row["other"] for row in found)
    assert spark.sparkContext._jsc.getPersistentRDDs().isEmpty()


def failing(body: Callable[[DataFrame], object]) -> Pond:
    pond = Pond("shop")
    source = pond.source("raw")
    pond.ripple(reads={"rows": source["rows"]}, materialize=False)(body)  # type: ignore[arg-type]

    @pond.ripple(reads={"given": body.__name__})
    def totals(given: DataFrame) -> DataFrame:
        return given.groupBy("key").agg(F.max("x").alias("x"))

    return pond


def failure(spark: SparkSession, pond: Pond, place: Callable[[], Path], raw: SnapshotContent) -> PondageError:
    with pytest.raises(PondageError) as raised:
        run(spark, pond, place, {"rows": raw})
    return raised.value


def line_of(function: Callable[..., object], offset: int) -> str:
    return f"{__file__}:{function.__code__.co_firstlineno + offset}"


def test_errors_of_a_fused_ripple_name_it_and_its_line(
    spark: SparkSession, place: Callable[[], Path], raw: SnapshotContent
) -> None:
    def misspelt(rows: DataFrame) -> DataFrame:
        return rows.select("keey")

    def divided(rows: DataFrame) -> DataFrame:
        kept = rows.where("value >= 0")
        return kept.select("key", (F.lit(1) / F.col("value")).alias("x"))

    def inverted(rows: DataFrame) -> DataFrame:
        @F.udf("long")
        def inverse(x):  # type: ignore[no-untyped-def]
            return 1 // x

        return rows.select("key", inverse("value").alias("x"))

    def nothing(rows: DataFrame) -> None:
        return None

    def doubled(rows: DataFrame) -> DataFrame:
        return rows.select("key", "key")

    for body, offset, words in (
        (misspelt, 1, "[UNRESOLVED_COLUMN.WITH_SUGGESTION]"),
        (divided, 2, "[DIVIDE_BY_ZERO]"),
        (inverted, 3, "ZeroDivisionError"),
        (nothing, 0, "returned None"),
        (doubled, 0, "more than one column named key"),
    ):
        error = failure(spark, failing(body), place, raw)
        assert error.message.startswith(f"shop.{body.__name__} (fused into totals): "), error.message
        assert words in error.message
        assert error.place == line_of(body, offset), body.__name__


def test_a_fused_ripple_may_know_its_run_but_cannot_be_unchanged(
    spark: SparkSession, place: Callable[[], Path], raw: SnapshotContent
) -> None:
    pond = Pond("shop")
    source = pond.source("raw")

    @pond.ripple(reads={"rows": source["rows"]}, materialize=False, parameters={"least": 30})
    def clean(rows: DataFrame, run: Run) -> DataFrame:
        return rows.where(F.col("value") >= run.parameters["least"]).withColumn("at", F.lit(run.freshness))

    @pond.ripple
    def totals(clean: DataFrame) -> DataFrame:
        return clean

    content = run(spark, pond, place, {"rows": raw})["totals"]
    assert (content.rows, content.read_freshness) == (10, True)

    def same(rows: DataFrame, run: Run) -> DataFrame:
        run.unchanged()

    error = failure(spark, failing(same), place, raw)  # type: ignore[arg-type]
    assert (error.code, error.place) == ("FUSED_UNCHANGED", line_of(same, 0))


def test_a_query_of_a_fused_ripple_says_what_to_do(spark: SparkSession, raw: SnapshotContent) -> None:
    with pytest.raises(PondageError) as raised:
        run_query(spark, "SELECT * FROM shop.clean", {"shop.totals": raw}, fused={"shop.clean": "totals"})
    assert raised.value.code == "FUSED_RIPPLE"
    assert raised.value.message == "shop.clean is fused into totals, so it has no table"
    assert "--sample" in (raised.value.hint or "")
    assert "materialize=True" in (raised.value.hint or "")
