from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import msgspec
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from pondage.define.pond.contract import check_contract
from pondage.define.pond.run import Run
from pondage.errors import PondageError
from pondage.spark.files.read import read_snapshot
from pondage.spark.ripple.ripple import UNCHANGED, RippleWork, run_ripple
from pondage.spark.session.driver import SparkDriver
from pondage.work.snapshot import Batch, SnapshotContent
from tests.spark.support import work

pytestmark = pytest.mark.spark


def published(spark: SparkSession, one: RippleWork) -> SnapshotContent:
    content = run_ripple(spark, one)
    assert isinstance(content, SnapshotContent)
    return content


def numbers(spark: SparkSession) -> DataFrame:
    return spark.range(10, numPartitions=2).select(F.col("id"), (F.col("id") * 2).alias("amount"))


@pytest.fixture
def orders(spark: SparkSession, place: Callable[[], Path]) -> SnapshotContent:
    return published(spark, work(numbers, place()))


def failure(spark: SparkSession, one: RippleWork) -> PondageError:
    with pytest.raises(PondageError) as raised:
        run_ripple(spark, one)
    assert "\tat " not in raised.value.message
    assert "Py4JJavaError" not in raised.value.message
    return raised.value


def line_of(function: Callable[..., object], offset: int) -> str:
    return f"{__file__}:{function.__code__.co_firstlineno + offset}"


def test_a_plain_ripple_costs_exactly_the_job_of_its_write(
    spark: SparkSession, driver: SparkDriver, token: str, orders: SnapshotContent, place: Callable[[], Path]
) -> None:
    before = driver.backend.jobs(token)  # type: ignore[attr-defined]
    content = published(
        spark, work(lambda orders: orders.where("id > 3"), place(), inputs={"orders": orders}, injects=())
    )
    assert content.rows == 6
    assert len(driver.backend.jobs(token)) - len(before) == 1  # type: ignore[attr-defined]


def test_inputs_and_injected_values_reach_the_function(
    spark: SparkSession, orders: SnapshotContent, place: Callable[[], Path]
) -> None:
    def joined(spark: SparkSession, run: Run, orders: DataFrame, fx: DataFrame | None) -> DataFrame:
        assert fx is None
        return orders.withColumn("key", F.lit(run.idempotency_key)).crossJoin(spark.range(1).toDF("one"))

    content = published(
        spark,
        work(joined, place(), inputs={"orders": orders, "fx": None}, injects=("spark", "run"),
             run=Run(freshness_us=0, idempotency_key="k")),
    )  # fmt: skip
    assert read_snapshot(spark, content).columns == ["id", "amount", "key", "one"]
    assert content.read_freshness is False


def test_only_declared_columns_are_given(
    spark: SparkSession, orders: SnapshotContent, place: Callable[[], Path]
) -> None:
    content = published(
        spark, work(lambda orders: orders, place(), inputs={"orders": orders}, columns=("amount",), injects=())
    )
    assert read_snapshot(spark, content).columns == ["amount"]


def test_reading_the_freshness_is_recorded(spark: SparkSession, place: Callable[[], Path]) -> None:
    def dated(spark: SparkSession, run: Run) -> DataFrame:
        return spark.range(1).withColumn("at", F.lit(run.freshness))

    assert published(spark, work(dated, place(), injects=("spark", "run"))).read_freshness is True


def test_unchanged_writes_nothing(spark: SparkSession, place: Callable[[], Path]) -> None:
    destination = place()

    def probe(run: Run) -> NoReturn:
        run.unchanged()

    assert run_ripple(spark, work(probe, destination, injects=("run",))) is UNCHANGED
    assert not destination.exists()


def test_sql_reads_its_inputs_by_their_names(
    spark: SparkSession, orders: SnapshotContent, place: Callable[[], Path]
) -> None:
    sql = """
        -- 🦆 names of two parts, an alias, a common table with the name of an input
        WITH big AS (SELECT * FROM orders WHERE id > 3), orders AS (SELECT id FROM orders)
        SELECT clean.id, s.amount FROM shop.clean JOIN shop.raw AS s ON clean.id = s.id
        WHERE clean.id IN (SELECT id FROM big) AND clean.id IN (SELECT id FROM orders)
    """
    inputs = {"orders": orders, "shop.clean": orders, "shop.raw": orders}
    assert published(spark, work(None, place(), sql=sql, inputs=inputs)).rows == 6


def test_sql_of_a_table_that_never_published_says_so(spark: SparkSession, place: Callable[[], Path]) -> None:
    error = failure(spark, work(None, place(), sql="SELECT * FROM orders", inputs={"orders": None}))
    assert error.message == "sales.clean reads orders, which has never published"


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "sales.clean returned None, not a DataFrame"),
        (3, "sales.clean returned an int, not a DataFrame"),
        ([1], "sales.clean returned a list, not a DataFrame"),
        (F, "sales.clean returned a module, not a DataFrame"),
    ],
)
def test_a_wrong_return_value_is_named(
    spark: SparkSession, place: Callable[[], Path], returned: object, message: str
) -> None:
    def wrong() -> object:
        return returned

    error = failure(spark, work(wrong, place(), injects=()))
    assert (error.code, error.message, error.place) == ("WRONG_RETURN", message, line_of(wrong, 0))


def test_a_pandas_frame_is_named_as_what_it_is(spark: SparkSession, place: Callable[[], Path]) -> None:
    error = failure(spark, work(lambda spark: spark.range(1).toPandas(), place()))
    assert error.message == "sales.clean returned a pandas DataFrame, not a DataFrame"


def test_a_server_of_the_author_that_does_not_answer_is_not_taken_for_spark(
    spark: SparkSession, place: Callable[[], Path]
) -> None:
    """It would be given back for ever instead of failing, and its worker replaced each time."""

    def asks(spark: SparkSession) -> DataFrame:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            socket.create_connection(taken.getsockname(), timeout=60).close()
        return numbers(spark)

    error = failure(spark, work(asks, place()))
    assert (error.code, error.place) == ("RIPPLE_FAILED", line_of(asks, 3))
    assert "ConnectionRefusedError" in error.message


def test_a_missing_column_is_named_with_spark_s_suggestions(spark: SparkSession, place: Callable[[], Path]) -> None:
    def missing(spark: SparkSession) -> DataFrame:
        frame = numbers(spark)
        return frame.select("amont")

    error = failure(spark, work(missing, place()))
    assert error.code == "RIPPLE_FAILED"
    assert error.message == (
        "sales.clean: [UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name `amont` "
        "cannot be resolved. Did you mean one of the following? [`amount`, `id`]."
    )
    assert error.place == line_of(missing, 2)
    assert "AnalysisException" in error.trace  # type: ignore[attr-defined]


def test_an_error_of_the_author_s_own_has_its_type_words_and_place(
    spark: SparkSession, place: Callable[[], Path]
) -> None:
    def broken(spark: SparkSession) -> DataFrame:
        rates: dict[str, int] = {}
        return spark.range(rates["EUR"])

    error = failure(spark, work(broken, place()))
    assert (error.message, error.place) == ("sales.clean: KeyError: 'EUR'", line_of(broken, 2))
    assert "rates[" in error.trace  # type: ignore[attr-defined]


def test_an_exit_ends_the_ripple_and_not_the_worker(spark: SparkSession, place: Callable[[], Path]) -> None:
    def leaves(spark: SparkSession) -> NoReturn:
        raise SystemExit(3)

    error = failure(spark, work(leaves, place()))
    assert (error.message, error.place) == ("sales.clean: SystemExit: 3", line_of(leaves, 1))


def test_what_spark_finds_while_it_runs_has_its_error_class_and_the_author_s_line(
    spark: SparkSession, place: Callable[[], Path]
) -> None:
    def divided(spark: SparkSession) -> DataFrame:
        return spark.range(3).select((F.lit(1) / F.col("id")).alias("x"))

    error = failure(spark, work(divided, place()))
    assert error.message.startswith("sales.clean: [DIVIDE_BY_ZERO] Division by zero.")
    assert error.place == line_of(divided, 1)


def test_an_error_inside_a_user_defined_function_is_the_author_s(
    spark: SparkSession, place: Callable[[], Path]
) -> None:
    def with_udf(spark: SparkSession) -> DataFrame:
        @F.udf("long")
        def inverse(x):  # type: ignore[no-untyped-def]
            return 1 // x

        return spark.range(3).select(inverse("id").alias("x"))

    error = failure(spark, work(with_udf, place()))
    assert error.message == "sales.clean: ZeroDivisionError: integer division or modulo by zero"
    assert error.place == line_of(with_udf, 3)


def test_a_file_that_is_not_there_is_named(spark: SparkSession, place: Callable[[], Path]) -> None:
    error = failure(spark, work(lambda spark: spark.read.json("file:/nowhere/x.json"), place()))
    assert error.message == "sales.clean: [PATH_NOT_FOUND] Path does not exist: file:/nowhere/x.json."


def test_wrong_sql_says_where(spark: SparkSession, place: Callable[[], Path]) -> None:
    error = failure(spark, work(None, place(), sql="SELEC 1"))
    assert error.message == "sales.clean: [PARSE_SYNTAX_ERROR] Syntax error at or near 'SELEC'. (line 1, pos 0)"


def test_an_output_that_cannot_be_stored_names_the_ripple(spark: SparkSession, place: Callable[[], Path]) -> None:
    error = failure(spark, work(lambda spark: spark.sql("SELECT NULL AS note"), place()))
    assert (error.code, error.message) == (
        "BAD_OUTPUT", "sales.clean: column note has no type (void), so it cannot be stored",
    )  # fmt: skip


def test_an_output_outside_the_contract_is_refused_and_costs_no_job(
    spark: SparkSession, driver: SparkDriver, token: str, orders: SnapshotContent, place: Callable[[], Path]
) -> None:
    before = driver.backend.jobs(token)  # type: ignore[attr-defined]
    error = failure(
        spark,
        work(lambda spark: spark.range(3).selectExpr("cast(id as int) id"), place(), contract=orders.schema),
    )
    assert error.code == "CONTRACT"
    assert error.message == (
        "sales.clean breaks the contract of its major version: column id changed from bigint to int; "
        "column amount (bigint) was removed"
    )
    assert driver.backend.jobs(token) == before  # type: ignore[attr-defined]


def test_a_late_batch_of_an_older_schema_gets_nulls_and_the_types_of_now(
    spark: SparkSession, orders: SnapshotContent, place: Callable[[], Path]
) -> None:
    table = orders.schema.replace('"nullable":false', '"nullable":true')
    late = work(lambda spark: spark.range(3).selectExpr("cast(id as int) id"), place(), contract=table)
    done = published(spark, msgspec.structs.replace(late, batch=Batch(is_same_code=True)))
    assert check_contract(table, done.schema) == []
    rows = read_snapshot(spark, done).orderBy("id").collect()
    assert [(row["id"], row["amount"]) for row in rows] == [(0, None), (1, None), (2, None)]


def test_a_column_that_other_code_took_away_is_refused_with_a_hint_for_a_table_of_batches(
    spark: SparkSession, orders: SnapshotContent, place: Callable[[], Path]
) -> None:
    less = work(lambda spark: spark.range(3), place(), contract=orders.schema)
    error = failure(spark, msgspec.structs.replace(less, batch=Batch(is_same_code=False)))
    assert error.code == "CONTRACT"
    assert "column amount (bigint) was removed" in error.message
    assert "as a null where there is nothing to say" in (error.hint or "")
    fields = json.loads(orders.schema)["fields"]
    strict = json.dumps({"type": "struct", "fields": [{**each, "nullable": False} for each in fields]})
    never = work(lambda spark: spark.range(3), place(), contract=strict)
    error = failure(spark, msgspec.structs.replace(never, batch=Batch(is_same_code=True)))
    assert "give what is never null a value" in (error.hint or "")


def test_an_output_that_grew_keeps_the_contract(
    spark: SparkSession, orders: SnapshotContent, place: Callable[[], Path]
) -> None:
    grown = work(lambda spark: numbers(spark).withColumn("new", F.lit("x")), place(), contract=orders.schema)
    assert published(spark, grown).rows == 10
