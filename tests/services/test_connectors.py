"""Databases through JDBC, and Delta through its connector."""

from __future__ import annotations

import io
import sqlite3
from pathlib import Path

import psycopg
import pytest
from pyspark.sql import SparkSession

from pondage import sources
from pondage.cli.main import main
from pondage.define.pond.run import Run
from pondage.errors import PondageError
from pondage.spark.session.driver import SparkDriver
from tests.services.postgres import PostgresServer
from tests.spark.job_world import JobWorld, states

PASSWORD = "quiet-water-51c"


@pytest.fixture
def run() -> Run:
    return Run(freshness_us=0, secrets={"db": PASSWORD})


@pytest.fixture(params=["postgresql", "sqlite"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    if request.param == "sqlite":
        with sqlite3.connect(tmp_path / "shop.db") as connection:
            connection.execute("CREATE TABLE orders (id INTEGER, name TEXT)")
            # Spark has no dialect of SQLite, and cannot tell that a table is not there.
            connection.execute("CREATE TABLE copied (id INTEGER)")
            connection.executemany("INSERT INTO orders VALUES (?, ?)", [(n, f"n{n}") for n in range(100)])
        connection.close()
        return {"url": f"jdbc:sqlite:{tmp_path / 'shop.db'}"}
    server: PostgresServer = request.getfixturevalue("postgres")
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS orders, copied")
        connection.execute("DROP ROLE IF EXISTS reader")
        connection.execute(f"CREATE ROLE reader LOGIN SUPERUSER PASSWORD '{PASSWORD}'")
        connection.execute("CREATE TABLE orders AS SELECT n AS id, 'n' || n AS name FROM generate_series(0, 99) AS n")
    place = server.url.partition("@")[2]
    return {"url": f"jdbc:postgresql://{place}", "user": "reader", "password": "db"}


def test_a_table_is_read_in_parts_and_rows_are_written_back(
    spark: SparkSession, run: Run, database: dict[str, str]
) -> None:
    orders = sources.jdbc(spark, run, table="orders", split_by="id", partitions=4, **database)
    assert orders.rdd.getNumPartitions() == 4
    assert orders.count() == 100
    recent = sources.jdbc(spark, run, table="(select id from orders where id >= 90) as recent", **database)
    for mode, rows in (("append", 10), ("append", 20), ("overwrite", 10)):
        sources.write_jdbc(recent, run, table="copied", mode=mode, **database)  # type: ignore[arg-type]
        assert sources.jdbc(spark, run, table="copied", **database).count() == rows
    nothing = sources.jdbc(spark, run, table="(select id from orders where id < 0) as x", split_by="id", **database)
    assert nothing.count() == 0


def test_a_password_is_in_no_plan_message_or_log(
    spark: SparkSession, run: Run, database: dict[str, str], driver: SparkDriver, capsys: pytest.CaptureFixture[str]
) -> None:
    sources.jdbc(spark, run, table="orders", **database).explain("extended")
    with pytest.raises(Exception) as raised:  # noqa: PT011 - whatever the driver raises
        sources.jdbc(spark, run, table="not_there", **database).count()
    assert PASSWORD not in capsys.readouterr().out + str(raised.value) + driver.log.read_text()


def test_a_password_that_stands_in_the_code_is_refused(spark: SparkSession, run: Run) -> None:
    wrong: list[dict[str, object]] = [
        {"url": "jdbc:postgresql://db/shop?user=a&password=b"},
        {"url": "jdbc:postgresql://a:b@db/shop"},
        {"url": "jdbc:postgresql://db/shop", "options": {"Password": "b"}},
        {"url": "jdbc:postgresql://db/shop", "split_by": "id) from orders; --"},
    ]
    for given in wrong:
        with pytest.raises(PondageError):
            sources.jdbc(spark, run, table="orders", **given)  # type: ignore[arg-type]


def test_delta_is_written_overwritten_merged_and_read_as_of_through_its_connector(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = f"file:{tmp_path / 'delta'}"
    spark.range(3).write.format("delta").save(place)
    spark.range(5).write.format("delta").mode("overwrite").save(place)
    spark.range(4, 7).createOrReplaceTempView("news")
    spark.sql(
        f"""MERGE INTO delta.`{place}` t USING news s ON t.id = s.id
            WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *"""
    )
    counts = [spark.read.format("delta").option("versionAsOf", each).load(place).count() for each in range(3)]
    assert counts == [3, 5, 6]
    assert spark.conf.get("spark.databricks.delta.snapshotPartitions") == "2"


def test_a_missing_driver_is_named_with_its_package(
    spark: SparkSession, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sources.jdbc.__globals__["_DRIVERS"], "jdbc:sqlite:", ("org.no.Driver", "org.no:driver:1"))
    with pytest.raises(PondageError, match=r"org\.no\.Driver") as raised:
        sources.jdbc(spark, run, "jdbc:sqlite:x.db", "orders")
    assert "org.no:driver:1" in str(raised.value.hint)


JOB = """
job: {{name: copy}}
components:
  - {{name: read, type: read_jdbc, params: {{url: "{url}", table: orders, split_by: id, partitions: 2{login}}}}}
  - {{name: recent, type: filter, params: {{where: id >= 90}}}}
  - {{name: write, type: write_jdbc, params: {{url: "{url}", table: copied, mode: overwrite{login}}}}}
  - {{name: wrong, type: read_jdbc, params: {{url: "{url}", table: not_there{login}}}}}
  - {{name: told, type: log, params: {{message: there is no such table}}}}
connections:
  data: [read.main -> recent.input, recent.main -> write.input]
  control: [write (ok) wrong, wrong (error) told]
"""


def test_a_job_reads_and_writes_tables_of_a_database_with_a_stored_password(
    driver: SparkDriver, spark: SparkSession, run: Run, database: dict[str, str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    root = tmp_path / "project"
    root.mkdir()
    (root / "pondage.toml").write_text('ledger = "ledger.db"\n[project]\nname = "shop"\n')
    login = f", user: {database['user']}, password: {database['password']}" if "user" in database else ""
    (root / "copy.yaml").write_text(JOB.format(url=database["url"], login=login))
    monkeypatch.chdir(root)
    monkeypatch.setattr("sys.stdin", io.StringIO(PASSWORD + "\n"))
    assert main(["secret", "set", "db"]) == 0
    world = JobWorld(root, driver)
    view = world.run("copy.yaml")
    world.close()
    assert (view.run.state, states(view)["write"], states(view)["wrong"]) == ("OK", "OK", "ERROR")
    assert view.globals["write__rows"] == 10
    copied = sources.jdbc(spark, run, table="copied", **database)
    assert sorted(row["id"] for row in copied.select("id").collect()) == list(range(90, 100))
    assert "not_there" in str(view.globals["wrong__ERROR_MESSAGE"])
    kept = [each for each in root.rglob("*") if each.is_file() and PASSWORD.encode() in each.read_bytes()]
    assert kept == [], "no log, message or row has the password"
