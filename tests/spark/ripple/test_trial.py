"""Samples and schemas: the author's code on a few rows or on none, nothing written, errors as of a Ripple."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

from pondage.define.pond.definition import ReadDefinition, RippleDefinition
from pondage.define.pond.run import Run
from pondage.errors import PondageError
from pondage.plan.deploy.schemas import column_names
from pondage.spark.files.write import write_files
from pondage.spark.ripple.automatic import WITHOUT_PAST
from pondage.spark.ripple.merge import Merge
from pondage.spark.ripple.ripple import RippleWork
from pondage.spark.ripple.trial import infer_schemas, run_sample
from pondage.work.snapshot import Increment, SnapshotContent

Place = Callable[[], Path]


def a_work(
    name: str,
    function: Callable[..., object] | None,
    *parents: str,
    inputs: dict[str, SnapshotContent | None] | None = None,
    contract: str | None = None,
    sql: str | None = None,
    injects: tuple[Any, ...] = (),
    changed: tuple[str, ...] = (),
) -> RippleWork:
    reads = [ReadDefinition(parameter=each, ripple=each) for each in parents]
    reads += [ReadDefinition(parameter=each, ripple=each, pond=each, optional=True) for each in inputs or {}]
    reads += [ReadDefinition(parameter=each, ripple=each, pond=each, by_changes=True) for each in changed]
    return RippleWork(
        pond="sales",
        ripple=RippleDefinition(
            name=name, reads=tuple(reads), sql=sql, kind="function" if sql is None else "sql", injects=injects
        ),
        function=function,
        inputs=inputs or {},
        run=Run(freshness_us=0),
        destination="",
        contract=contract,
    )


@pytest.fixture
def orders(spark: SparkSession, place: Place) -> SnapshotContent:
    rows = spark.range(1000).selectExpr("id", "id % 7 AS kind")
    return write_files(rows, str(place())).as_content()


def jobs(spark: SparkSession) -> int:
    return int(spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs())


def test_ripples_are_chained_over_a_few_rows_and_nothing_is_written(
    spark: SparkSession, orders: SnapshotContent, tmp_path: Path
) -> None:
    before = sorted(tmp_path.rglob("*"))
    clean = a_work("clean", lambda orders, fx: orders.where("kind < 5"), inputs={"orders": orders, "fx": None})
    total = a_work("total", None, "clean", sql="SELECT count(*) AS n FROM clean")
    first, second = run_sample(spark, [clean, total], rows=70, limit=3)
    assert first.rows is not None
    assert first.rows.columns == ("id", "kind")
    assert (len(first.rows.rows), first.rows.truncated) == (3, True)
    assert second.rows is not None
    assert second.rows.rows == ([50],), "70 rows were read, five of seven kinds were kept"
    assert sorted(tmp_path.rglob("*")) == before
    assert not spark.sparkContext._jsc.getPersistentRDDs()


def test_an_error_has_the_authors_line_and_a_code(spark: SparkSession, orders: SnapshotContent) -> None:
    def broken(orders: DataFrame) -> DataFrame:
        return orders.select("nothing")

    with pytest.raises(PondageError, match=r"sales\.broken: .*nothing") as raised:
        run_sample(spark, [a_work("broken", broken, inputs={"orders": orders})], rows=10, limit=1)
    assert raised.value.code == "RIPPLE_FAILED"
    assert (raised.value.place or "").startswith(__file__)


def test_a_broken_contract_is_told_with_the_rows(spark: SparkSession, orders: SnapshotContent) -> None:
    work = a_work("less", lambda orders: orders.select("id"), inputs={"orders": orders}, contract=orders.schema)
    (table,) = run_sample(spark, [work], rows=10, limit=1)
    assert table.rows is not None
    assert table.breaks == ("column kind (bigint) was removed",)


def test_an_inlet_that_is_unchanged_has_no_rows(spark: SparkSession) -> None:
    work = a_work("inlet", lambda run: run.unchanged(), injects=("run",))
    (table,) = run_sample(spark, [work], rows=10, limit=1)
    assert table.rows is None


def test_schemas_are_found_through_several_ripples_without_a_job(spark: SparkSession, orders: SnapshotContent) -> None:
    def kinds(clean: DataFrame) -> DataFrame:
        return clean.groupBy("kind").count()

    works = [
        ("sales@1.clean", a_work("clean", lambda orders: orders.drop("id")), {"orders": "orders@1.orders"}),
        ("sales@1.kinds", a_work("kinds", kinds, contract=orders.schema), {"clean": "sales@1.clean"}),
        ("sales@1.sql", a_work("sql", None, sql="SELECT max(count) AS n FROM kinds"), {"kinds": "sales@1.kinds"}),
    ]
    before = jobs(spark)
    clean, counted, sql = infer_schemas(spark, works, known={"orders@1.orders": orders.schema})
    assert jobs(spark) == before
    assert '"kind"' in (clean.schema or "")
    assert '"count"' in (counted.schema or "")
    assert counted.breaks == ("column id (bigint) was removed",)
    assert '"name":"n"' in (sql.schema or "")


def test_what_cannot_be_called_on_empty_tables_is_answered_with_the_reason(
    spark: SparkSession, orders: SnapshotContent
) -> None:
    def first_row(orders: DataFrame) -> DataFrame:
        return orders.where(f"id > {orders.first().id}")  # type: ignore[union-attr]

    works = [
        ("a@1.a", a_work("a", first_row), {"orders": "orders@1.orders"}),
        ("b@1.b", a_work("b", lambda a: a), {"a": "a@1.a"}),
        ("c@1.c", a_work("c", lambda fx: spark.range(1) if fx is None else fx), {"fx": None}),
    ]
    a, b, c = infer_schemas(spark, works, known={"orders@1.orders": orders.schema})
    assert "NoneType" in (a.problem or "")
    assert a.code == "RIPPLE_FAILED"
    assert b.problem == "it reads a@1.a, whose schema is not known"
    assert c.schema is not None


def test_an_analysis_says_what_runs_of_a_table_that_is_kept_up_to_date_can_do(
    spark: SparkSession, orders: SnapshotContent
) -> None:
    def ranked(orders: DataFrame) -> DataFrame:
        return orders.withColumn("rank", F.row_number().over(Window.orderBy("id")))

    def counted(orders: DataFrame) -> DataFrame:
        return orders.where(F.lit(orders.count()) >= 0)

    functions: dict[str, Callable[..., object]] = {
        "filtered": lambda orders: orders.where("id > 1"),
        "grouped": lambda orders: orders.groupBy("kind").count(),
        "renamed": lambda orders: orders.groupBy(F.upper("kind").alias("up")).count(),
        "ranked": ranked,
        "counted": counted,
        "timed": lambda orders, run: orders.withColumn("at", F.lit(run.freshness_us)),
    }
    works = [
        (
            f"{name}@1.{name}",
            msgspec.structs.replace(
                a_work(name, function, inputs={"orders": None}, injects=("run",) if name == "timed" else ()),
                auto=WITHOUT_PAST,
            ),
            {"orders": "orders@1.orders"},
        )
        for name, function in functions.items()
    ]
    found = infer_schemas(spark, works, known={"orders@1.orders": orders.schema})
    assert {each.table.partition("@")[0]: each.upkeep for each in found} == {
        "filtered": "append; where rows of its Sources change or go: keyed by id, kind",
        "grouped": "keyed by kind",
        "renamed": "keyed by up",
        "ranked": "computes everything: Window has no partition, so every row may depend on every other",
        "counted": "computes everything: the function ran a Spark job while it was called, so its plan depends on data",
        "timed": "computes everything: the function asks for a freshness",
    }


def test_the_changes_of_a_merged_table_have_deletions_and_the_table_that_is_made_has_not(
    spark: SparkSession, orders: SnapshotContent
) -> None:
    def stock(run: Run) -> DataFrame:
        return run.changes("orders").where("NOT _deleted OR id > 0")

    def counts(stock: DataFrame, run: Run) -> DataFrame:
        assert "_deleted" not in stock.columns
        return run.changes("stock").groupBy("kind", "_deleted").agg(F.count("*").alias("n"))

    merge = Merge(keys=("kind",), base=lambda: None)
    works = [
        msgspec.structs.replace(a_work("stock", stock, injects=("run",), changed=("orders",)), merge=merge),
        msgspec.structs.replace(a_work("counts", counts, "stock", injects=("run",)), merge=merge),
    ]
    behind: list[dict[str, str | None]] = [{"orders": "orders@1.orders"}, {"stock": "sales@1.stock"}]
    found = infer_schemas(
        spark,
        [(f"sales@1.{each.ripple.name}", each, tables) for each, tables in zip(works, behind, strict=True)],
        known={"orders@1.orders": orders.schema},
        merged={"orders@1.orders": ("id",), "sales@1.stock": ("kind",)},
    )
    assert [each.problem for each in found] == [None, None]
    assert [column_names(each.schema or "") for each in found] == [("id", "kind"), ("kind", "n")]

    table = msgspec.structs.replace(orders, increment=Increment(keys=("id",)))
    given = [msgspec.structs.replace(works[0], inputs={"orders": table}), works[1]]
    first, second = run_sample(spark, given, rows=10, limit=1)
    assert first.rows is not None
    assert second.rows is not None
    assert (first.rows.columns, second.rows.columns) == (("id", "kind", "_deleted"), ("kind", "_deleted", "n"))
