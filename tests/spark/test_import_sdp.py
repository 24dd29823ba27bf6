"""Pipelines as Spark's documentation writes them, unmodified, become Ponds that give the same rows."""

from __future__ import annotations

import ast
import os
import shutil
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

from pondage.cli.main import main
from pondage.connect.sdp import Pipeline
from pondage.connect.sdp.graph import Imported, pond_names
from pondage.connect.sdp.inspect import imported
from pondage.connect.sdp.registry import statements
from pondage.connect.sdp.writing import ponds_text, project_text
from pondage.define.pond.run import Run, Unchanged
from pondage.errors import PondageError

PIPELINES = Path(__file__).parent.parent / "data" / "pipelines"


def found(name: str, spark: SparkSession) -> Imported:
    return imported(PIPELINES / name / "spark-pipeline.yml", spark)


def pipeline(name: str) -> Pipeline:
    return Pipeline(str(PIPELINES / name / "pondage.py"), "spark-pipeline.yml")


def test_python_and_sql_datasets_read_each_other(spark: SparkSession) -> None:
    answer = found("starter", spark)
    assert {each.name: each.reads for each in answer.datasets} == {"numbers": (), "even_numbers": ("numbers",)}
    assert answer.left == ()


def test_a_pipeline_gives_the_rows_that_spark_would(spark: SparkSession) -> None:
    numbers = pipeline("starter").frame("numbers", spark)
    even = pipeline("starter").frame("even_numbers", spark, {"numbers": numbers})
    assert [row.id for row in even.orderBy("id").collect()] == [0, 2, 4, 6, 8]


def test_names_views_schemas_and_what_is_left_out(spark: SparkSession) -> None:
    answer = found("shop", spark)
    assert {each.pond: each.reads for each in answer.datasets} == {
        "orders": (),
        "customers": (),
        "sales_by_country": ("orders", "shop.customers"),
        "best_customers": ("shop.customers", "orders"),
    }, "temporary views are no Ponds: their readers read what they read"
    places = {each.name: each.place for each in answer.datasets}
    assert places["orders"] == "ingestion/files.py:8"
    assert places["best_customers"] == "reporting/reports.sql:11"
    assert {each.what for each in answer.left} == {"warehouse_copy", "orders"}
    assert "partition_cols" in next(each.why for each in answer.left if each.what == "orders")

    shop = pipeline("shop")
    orders, customers = shop.frame("orders", spark), shop.frame("shop.customers", spark)
    assert [field.dataType.simpleString() for field in customers.schema] == ["bigint", "string", "string"]
    given = {"orders": orders, "shop.customers": customers}
    sales = shop.frame("sales_by_country", spark, given).orderBy("country").collect()
    assert [tuple(row) for row in sales] == [("uk", 3.5), ("us", 4.0)]
    assert {row.name for row in shop.frame("best_customers", spark, given).collect()} == {"Ada", "Grace"}


def test_the_project_is_readable_python_with_one_pond_for_each_dataset(spark: SparkSession) -> None:
    answer = found("shop", spark)
    text = ponds_text(answer, "../pipeline/spark-pipeline.yml")
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    assert {each.name: [argument.arg for argument in each.args.args] for each in functions} == {
        "orders": ["spark"],
        "customers": ["spark"],
        "sales_by_country": ["spark", "orders", "customers"],
        "best_customers": ["spark", "customers", "orders"],
    }
    project = tomllib.loads(project_text(answer))
    assert project["project"]["name"] == "daily_shop"
    assert project["spark"]["conf"] == {"spark.sql.ansi.enabled": "true"}


def test_streams_are_what_is_new_in_a_table_or_a_directory(spark: SparkSession) -> None:
    answer = found("events", spark)
    read = {each.name: (each.reads, each.follows, each.watches) for each in answer.datasets}
    assert read == {
        "clicks": ((), (), (f"json:{PIPELINES / 'events' / 'landing' / 'clicks'}",)),
        "pages_seen": ((), ("clicks",), ()),
        "everything": ((), ("clicks", "pages_seen"), ()),
        "visits": ((), ("pages_seen",), ()),
        "busiest": (("visits",), (), ()),
    }
    assert [(each.what, each.why) for each in answer.left] == [
        ("outside", "a stream of format rate is not carried over"),
    ]
    text = ponds_text(answer, "spark-pipeline.yml")
    assert 'return pipeline.frame("clicks", spark, run=run)' in text
    assert 'changes={"clicks": run.changes("clicks"), "pages_seen": run.changes("pages_seen")}' in text
    assert text.count('mode="append"') == 4


class Kept:
    """Positions as the ledger keeps them: what a Run decides counts when it is published."""

    def __init__(self) -> None:
        self.published: dict[str, str] = {}
        self.now: dict[str, str] = {}

    def position(self, name: str) -> str | None:
        return self.published.get(name)

    def decided(self, name: str) -> str | None:
        return self.now.get(name)

    def decide(self, name: str, value: str) -> str:
        return self.now.setdefault(name, value)

    def publish(self) -> None:
        self.published |= self.now
        self.now = {}


def test_each_run_reads_the_files_that_no_published_run_has_read(spark: SparkSession, tmp_path: Path) -> None:
    shutil.copytree(PIPELINES / "events", tmp_path / "events")
    events = Pipeline(str(tmp_path / "events" / "x.py"), "spark-pipeline.yml")
    kept = Kept()

    def users() -> list[str]:
        run = Run(freshness_us=0, positions=kept)
        return sorted(row.user for row in events.frame("clicks", spark, run=run).collect())

    assert users() == ["ada", "bob"]
    new = tmp_path / "events" / "landing" / "clicks" / "two.json"
    new.write_text('{"user": "cay", "page": "/", "at": "2024-05-02T10:00:00Z"}\n')
    assert users() == ["ada", "bob"], "the Run is tried again, and reads the same"
    kept.publish()
    assert users() == ["cay"]
    kept.publish()
    with pytest.raises(Unchanged):
        users()


def test_a_dataset_that_is_not_given_says_what_to_do(spark: SparkSession) -> None:
    with pytest.raises(PondageError, match="reads numbers, which this project does not give it"):
        pipeline("starter").frame("even_numbers", spark)


def test_the_digest_covers_every_file(tmp_path: Path) -> None:
    for file in (PIPELINES / "starter").rglob("*.*"):
        copy = tmp_path / file.relative_to(PIPELINES / "starter")
        copy.parent.mkdir(exist_ok=True, parents=True)
        copy.write_text(file.read_text())
    first = Pipeline(str(tmp_path / "x.py"), "spark-pipeline.yml").digest
    assert first == Pipeline(str(PIPELINES / "starter" / "x.py"), "spark-pipeline.yml").digest
    (tmp_path / "transformations" / "even_numbers.sql").write_text("CREATE MATERIALIZED VIEW even_numbers AS SELECT 1")
    assert Pipeline(str(tmp_path / "x.py"), "spark-pipeline.yml").digest != first


def test_statements_are_split_where_spark_splits_them() -> None:
    text = "SELECT ';' AS a; -- one; two\n\nSELECT 2;\n"
    assert statements(text) == [("SELECT ';' AS a", 1), ("SELECT 2", 3)]


def test_names_of_several_parts_become_names_of_ponds() -> None:
    assert pond_names(["a.t", "b.t", "T-1", "1x"]) == {"a.t": "t", "b.t": "b_t", "T-1": "t_1", "1x": "t_1x"}


def test_the_command_makes_a_project_that_can_be_planned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    place = tmp_path / "project"
    assert main(["import-sdp", str(PIPELINES / "shop"), "--to", str(place)]) == 0
    assert "a sink is not carried over" in capsys.readouterr().out
    unmodified = (place / "pipeline" / "reporting" / "reports.sql").read_text()
    assert unmodified == (PIPELINES / "shop" / "reporting" / "reports.sql").read_text()
    monkeypatch.chdir(place)
    assert main(["plan", "--json"]) == 0
    plan = msgspec.json.decode(capsys.readouterr().out)
    assert len(plan["ponds"]) == 4

    assert main(["import-sdp", str(PIPELINES / "shop"), "--to", str(place)]) == 1
    assert "is a project already" in capsys.readouterr().err
