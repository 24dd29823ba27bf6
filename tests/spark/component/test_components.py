"""The starter library on Spark: what each component makes of small tables."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from pondage.components.registry import built_in, built_in_function, built_in_schemas
from pondage.define.job.component import Schema
from pondage.define.values.schema import violations
from pondage.errors import PondageError
from pondage.spark.component.columns import literal_table
from pondage.spark.component.spark_run import SparkRun
from pondage.spark.session.errors import explained
from pondage.work.component import ComponentTask, Member

pytestmark = pytest.mark.spark
COLUMNS = {"id": "bigint", "region": "string", "amount": "double"}
ORDERS: list[list[object]] = [[1, "EU", 10.0], [2, "EU", 20.0], [3, "US", 5.0], [4, None, None]]


class Bench:
    """Calls components as a worker would, and gives their rows as tuples."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark = spark
        self.root = root
        self.run = self.fresh()

    def fresh(self, **task: Any) -> SparkRun:
        given = ComponentTask(job="job", run_id="r1", attempt=1, members=(), **task)
        member = Member(instance="one", component="one", entry="one")
        self.run = SparkRun(given, member, session=lambda: self.spark, root=self.root)
        return self.run

    def call(self, name: str, params: dict[str, object] | None = None, **inputs: object) -> Any:
        definition = built_in()[name]
        assert list(violations(definition.params, params or {}, "params")) == []
        given = {port: inputs.get(port) for port in definition.inputs}
        return built_in_function(definition.entry)(**given, params=params or {}, run=self.run)

    def rows(self, name: str, params: dict[str, object] | None = None, **inputs: object) -> list[tuple[object, ...]]:
        returned = self.call(name, params, **inputs)
        return rows(returned["main"] if isinstance(returned, dict) else returned)


def rows(frame: DataFrame) -> list[tuple[object, ...]]:
    return [tuple(row) for row in frame.collect()]


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> Bench:
    return Bench(spark, tmp_path)


@pytest.fixture
def orders(spark: SparkSession) -> DataFrame:
    return literal_table(spark, COLUMNS, ORDERS)


def test_columns_are_selected_renamed_cast_and_derived(bench: Bench, orders: DataFrame) -> None:
    assert bench.rows("select", {"columns": ["region", "id"]}, input=orders)[0] == ("EU", 1)
    assert bench.call("rename", {"columns": {"id": "order"}}, input=orders).columns == ["order", "region", "amount"]
    exchanged: dict[str, object] = {"columns": {"id": "amount", "amount": "id"}}
    assert bench.call("rename", exchanged, input=orders).columns == ["amount", "region", "id"]
    assert bench.rows("rename", exchanged, input=orders)[0] == (1, "EU", 10.0)
    cast = bench.call("cast", {"columns": {"id": "string", "amount": "decimal(8,2)"}}, input=orders)
    assert dict(cast.dtypes) == {"id": "string", "region": "string", "amount": "decimal(8,2)"}
    bench.fresh(globals={"rate": 2})
    derived: dict[str, object] = {"twice": "amount * global.rate", "more": "twice + 1"}
    assert [row[3:] for row in bench.rows("derive", {"columns": derived}, input=orders)] == [
        (20.0, 21.0), (40.0, 41.0), (10.0, 11.0), (None, None)
    ]  # fmt: skip


def test_a_lenient_cast_gives_null_and_a_strict_one_fails(bench: Bench, orders: DataFrame) -> None:
    lenient: dict[str, object] = {"columns": {"region": "bigint"}, "on_error": "null"}
    assert bench.rows("cast", lenient, input=orders)[0] == (1, None, 10.0)
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        bench.rows("cast", {"columns": {"region": "bigint"}}, input=orders)


def test_rows_are_filtered_and_split_without_losing_one(bench: Bench, orders: DataFrame) -> None:
    assert [row[0] for row in bench.rows("filter", {"where": "amount >= 10"}, input=orders)] == [1, 2]
    parts = bench.call("split", {"where": "amount >= 10"}, input=orders)
    assert [row[0] for row in rows(parts["main"])] == [1, 2]
    assert [row[0] for row in rows(parts["reject"])] == [3, 4]


def test_one_row_is_kept_for_each_key_and_it_is_always_the_same(bench: Bench, orders: DataFrame) -> None:
    first = bench.rows("dedupe", {"keys": ["region"]}, input=orders.where("region = 'EU'"))
    last = bench.rows("dedupe", {"keys": ["region"], "order": ["amount"], "keep": "last"}, input=orders)
    assert first == [(1, "EU", 10.0)]
    assert sorted(row[0] for row in last if isinstance(row[0], int)) == [2, 3, 4]


def test_rows_are_sorted_sampled_and_united(bench: Bench, orders: DataFrame) -> None:
    down = bench.rows("sort", {"by": ["amount", "id"], "descending": True}, input=orders)
    assert [row[0] for row in down] == [2, 1, 3, 4]
    assert bench.rows("sample", {"fraction": 0}, input=orders) == []
    short = orders.select("id")
    assert len(bench.rows("union", {"missing": "null"}, input=[orders, short])) == 8
    with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
        bench.call("union", {}, input=[orders, short])


def test_tables_are_joined_and_looked_up(bench: Bench, orders: DataFrame) -> None:
    names = {"region": "string", "name": "string"}
    regions = literal_table(bench.spark, names, [["EU", "Europe"], ["EU", "Alt"], ["CN", "China"]])
    both = bench.call("join", {"on": ["region"]}, left=orders, right=regions)
    assert (both.columns, both.count()) == (["id", "region", "amount", "name"], 4)
    with pytest.raises(PondageError, match="both tables have a column region"):
        bench.call("join", {"on": ["id"]}, left=orders, right=orders)
    anti = bench.rows("join", {"on": ["region"], "how": "anti"}, left=orders, right=regions)
    assert [row[0] for row in anti] == [3, 4]
    found = bench.call("lookup", {"on": ["region"], "columns": ["name"]}, input=orders, table=regions)
    assert sorted(row["name"] for row in found["main"].collect()) == ["Alt", "Alt"]
    assert sorted(row["id"] for row in found["reject"].collect()) == [3, 4]


def test_groups_are_summed_up(bench: Bench, orders: DataFrame) -> None:
    values = {
        "rows": {"function": "count"}, "known": {"function": "count", "column": "amount"},
        "total": {"function": "sum", "column": "amount"}, "ids": {"function": "collect_set", "column": "id"},
    }  # fmt: skip
    found = bench.rows("aggregate", {"by": ["region"], "values": values}, input=orders)
    assert set(map(str, found)) == set(
        map(str, [("EU", 2, 2, 30.0, [1, 2]), ("US", 1, 1, 5.0, [3]), (None, 1, 0, None, [4])])
    )
    with pytest.raises(PondageError, match="needs a column"):
        bench.call("aggregate", {"values": {"x": {"function": "sum"}}}, input=orders)


def test_an_assertion_counts_the_rows_that_break_it(bench: Bench, orders: DataFrame) -> None:
    with pytest.raises(PondageError, match=r"^1 row breaks"):
        bench.call("assert", {"that": "id < 4"}, input=orders)
    with pytest.raises(PondageError, match="2 rows break"):
        bench.call("assert", {"that": "amount > 5"}, input=orders)
    assert bench.run.after == {"broken": 2}
    assert len(bench.rows("assert", {"that": "amount > 5", "tolerate": 2}, input=orders)) == 4


def test_rows_are_counted_and_logged(bench: Bench, orders: DataFrame, caplog: pytest.LogCaptureFixture) -> None:
    bench.call("row_count", {}, input=orders)
    assert bench.run.after == {"rows": 4}
    with caplog.at_level(logging.INFO):
        bench.call("log", {"message": "look", "rows": 1}, input=orders)
    assert [record.message for record in caplog.records] == ["look", "{'id': 1, 'region': 'EU', 'amount': 10.0}"]


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_what_was_written_is_read_again(bench: Bench, orders: DataFrame, form: str) -> None:
    bench.call(f"write_{form}", {"path": "out"}, input=orders)
    back = bench.rows(f"read_{form}", {"path": "out", "columns": COLUMNS})
    assert sorted(back, key=str) == sorted((tuple(row) for row in ORDERS), key=str)
    with pytest.raises(Exception, match="PATH_ALREADY_EXISTS"):
        bench.call(f"write_{form}", {"path": "out"}, input=orders)
    with pytest.raises(PondageError, match="no file"):
        bench.call(f"read_{form}", {"path": "nowhere"})


def test_a_file_below_a_location_is_written_and_read_again(bench: Bench, orders: DataFrame) -> None:
    below = {"location": "lake", "file": "2026/orders"}
    bench.call("write_parquet", below, input=orders)
    assert bench.rows("read_parquet", below) == bench.rows("read_parquet", {"path": "lake/2026/orders"})


def test_a_bad_line_fails_or_gives_nulls(bench: Bench) -> None:
    (bench.root / "bad.csv").write_text("id,region\n1,EU\nx,US\n", encoding="utf-8")
    columns = {"id": "bigint", "region": "string"}
    element = {"location": ".", "file": "bad.csv"}
    with pytest.raises(Py4JJavaError, match="MALFORMED_RECORD_IN_PARSING") as raised:
        bench.call("write_parquet", {"path": "out"}, input=bench.call("read_csv", {"columns": columns}, input=element))
    told = explained(raised.value, where="read")
    file = bench.root / "bad.csv"
    assert told.message == f'read: a record of {file} cannot be read as declared: [null,US] (For input string: "x")'
    assert 'on_error: "null"' in (told.hint or "")
    lenient = bench.rows("read_csv", {"columns": columns, "on_error": "null"}, input=element)
    assert lenient == [(1, "EU"), (None, "US")]
    with pytest.raises(Py4JJavaError, match="CSV header does not conform to the schema") as raised:
        bench.rows("read_csv", {"columns": {"region": "string", "id": "string"}}, input=element)
    message = explained(raised.value, where="read").message
    assert message.startswith(f"read: {file} has other columns than declared: Header: id, region, Schema: region, id")


def test_an_iterator_gives_rows_groups_or_files_within_its_limit(bench: Bench, orders: DataFrame) -> None:
    assert bench.call("iterator", {}, input=orders)[0] == {"id": 1, "region": "EU", "amount": 10.0}
    groups = bench.call("iterator", {"mode": "groups", "key": "region"}, input=orders)
    assert [[row["id"] for row in group] for group in groups] == [[4], [1, 2], [3]]
    with pytest.raises(PondageError, match="more than 3 rows") as raised:
        bench.call("iterator", {"max_iterations": 3}, input=orders)
    assert raised.value.code == "FANOUT_LIMIT"
    assert bench.call("iterator", {"mode": "while", "condition": "iteration < 3"}) is None
    for name in ("f10.csv", "f2.csv", "x.txt", ".f1.csv"):
        (bench.root / name).write_text("1", encoding="utf-8")
    listed = bench.rows("file_list", {"location": ".", "glob": "*.csv"})
    assert [row[1] for row in listed] == ["f2.csv", "f10.csv"]
    assert bench.run.after == {"files": 2}


def test_a_table_stands_in_the_job_file(bench: Bench) -> None:
    columns = {"day": "date", "price": "decimal(6,2)"}
    assert str(bench.rows("table", {"columns": columns, "rows": [["2026-01-31", "1.50"], [None, 2]]})) == (
        "[(datetime.date(2026, 1, 31), Decimal('1.50')), (None, Decimal('2.00'))]"
    )
    with pytest.raises(PondageError, match="row 1 has 1 values"):
        bench.call("table", {"columns": columns, "rows": [[1]]})


@pytest.mark.parametrize("name", ["select", "dedupe", "sort", "join"])
def test_a_column_that_is_not_there_is_named(bench: Bench, orders: DataFrame, name: str) -> None:
    params: dict[str, dict[str, object]] = {
        "select": {"columns": ["no.such`thing"]}, "dedupe": {"keys": ["no.such`thing"]},
        "sort": {"by": ["no.such`thing"]}, "join": {"on": ["no.such`thing"]},
    }  # fmt: skip
    with pytest.raises(PondageError, match=r"no column no\.such`thing"):
        bench.call(name, params[name], input=orders, left=orders, right=orders)


CASES: dict[str, dict[str, object]] = {
    "select": {"columns": ["id"]}, "rename": {"columns": {"id": "n"}}, "cast": {"columns": {"id": "string"}},
    "filter": {"where": "id > 1"}, "split": {"where": "id > 1"}, "dedupe": {"keys": ["id"]}, "sort": {"by": ["id"]},
    "sample": {"fraction": 0.5}, "assert": {"that": "id > 0"}, "join": {"on": ["id"]},
    "table": {"columns": {"a": "int"}, "rows": [[1]]}, "lookup": {"on": ["id"]},
    "aggregate": {"by": ["region"], "values": {
        "n": {"function": "count"}, "d": {"function": "count_distinct", "column": "id"},
        "s": {"function": "sum", "column": "id"}, "a": {"function": "avg", "column": "amount"},
        "m": {"function": "max", "column": "region"}, "c": {"function": "collect_set", "column": "id"}}},
    "derive": {"columns": {
        "n": "len(region) + 1", "half": "id / 2", "Amount": "amount * 2", "name": "upper(region)", "is_big": "n > 3"}},
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_types_told_without_spark_are_those_of_spark(bench: Bench, orders: DataFrame, name: str) -> None:
    from pondage.components.declarations import declared, fields_of, table_of

    schema: Schema = built_in_schemas()[name]
    known = table_of(declared(COLUMNS))
    other = orders.select("id", orders.amount.alias("other"))
    right = table_of(declared({"id": "bigint", "other": "double"}))
    told = schema({"input": known, "left": known, "right": right, "table": right}, CASES[name])
    returned = bench.call(name, CASES[name], input=orders, left=orders, right=other, table=other)
    frames = returned if isinstance(returned, dict) else {"main": returned}
    assert {port: [(one.name, str(one.type)) for one in fields_of(told[port]) or ()] for port in frames} == {
        port: frame.dtypes for port, frame in frames.items()
    }


def test_a_union_gives_the_types_that_are_told_without_spark(bench: Bench, spark: SparkSession) -> None:
    from pondage.components.declarations import fields_of

    schema = built_in_schemas()["union"]
    kinds = ("tinyint", "smallint", "int", "bigint", "float", "double", "string", "date")
    told_of = 0
    for one in kinds:
        for other in kinds:
            texts = [f"Table<{{a: {one}, only: string}}>", f"Table<{{A: {other}}}>"]
            told = schema({f"input[{at}]": text for at, text in enumerate(texts)}, {"missing": "null"})
            (first, _) = fields_of(told["main"]) or ()
            if first.type.head == "Any":
                continue
            frames = [spark.createDataFrame([], f"a {one}, only string"), spark.createDataFrame([], f"A {other}")]
            returned = bench.call("union", {"missing": "null"}, input=frames)
            assert isinstance(returned, DataFrame)
            assert returned.dtypes == [("a", str(first.type)), ("only", "string")], (one, other)
            told_of += 1
    assert told_of > 20
