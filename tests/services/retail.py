"""The retail demo for tests: with other settings, with a place where a task can be stopped, and with its answer."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from pondage.engine.process.config import config_of
from pondage.engine.process.places import table_directory
from pondage.engine.services.cluster_doctor import cluster_findings
from pondage.ledger.ledger import Ledger
from pondage.project.project import Project, load_project
from tests.chaos.fault import ROOT, Dev
from tests.engine.projects import deploy_project, write_project
from tests.services.clusters import gate

SETTINGS = """
[project]
name = "retail"
modules = ["ponds"]
[worker]
workers = 1
slots = 2
[durability]
heartbeat_s = 1
reap_after_s = 30
poll_s = 0.2
drain_s = 10
"""
_PLAIN = '.dropDuplicates(["order_id"])'
_GATE = '''
from pyspark.sql.types import StringType

@F.udf(StringType())
def gate(order_id: str) -> str:
    """A Spark task, in which a test may stop."""
    import os

    if os.environ.get("PONDAGE_CHAOS_MARK"):
        import checkpoints

        checkpoints.reached()
    return order_id
'''


def retail_project(root: Path, spark: str, *, has_gate: bool = False) -> Project:
    """Write the demo with a `[spark]` table of the test, deploy it and answer it."""
    shutil.copytree(ROOT / "examples" / "retail", root, ignore=shutil.ignore_patterns("__pycache__", "tests"))
    (root / "pondage.toml").write_text(SETTINGS + spark)
    if has_gate:
        sales = root / "ponds" / "sales.py"
        text = sales.read_text()
        assert text.count(_PLAIN) == 1, "the demo has changed"
        gated = _PLAIN + '.withColumn("order_id", gate("order_id"))'
        sales.write_text(text.replace(_PLAIN, gated) + _GATE)
    project = load_project(root)
    deploy_project(project)
    return project


@contextmanager
def running(project: Project, *, point: str | None = None) -> Iterator[Dev]:
    """Run `pondage dev`, whose first task at the gate stops there when a point is given; nothing of it is left."""
    dev = Dev(project, point=point)
    try:
        yield dev
    finally:
        if dev.process.poll() is None:
            dev.kill_group()


def with_gate_on_executors(root: Path) -> str:
    """Answer the settings by which tasks on executors find the checkpoint of a project in `root`."""
    return "".join(f'"spark.executorEnv.{name}" = "{place}"\n' for name, place in gate(root).items())


def is_published(ledger: Ledger) -> bool:
    """Answer whether the report is there and nothing is left to do."""
    with ledger.reading() as tx:
        return bool(
            tx.rows(
                "SELECT 1 FROM runs r JOIN ponds p ON p.id = r.pond WHERE p.name = 'reports' AND r.state = 'completed'"
            )
        ) and not tx.rows(
            "SELECT 1 FROM runs WHERE ended_at IS NULL UNION ALL SELECT 1 FROM outbox WHERE done_at IS NULL"
        )


def wrong_rows(project: Project) -> list[tuple[object, ...]]:
    """Compute the report anew from the published orders, without Spark, and answer where the published one differs."""

    def table(pond: str, ripple: str) -> str:
        place = table_directory(Path(project.warehouse), environment="main", pond=pond, major=1, ripple=ripple)
        return f"read_parquet('{place}/current/*.parquet')"

    expected = f"""
        WITH clean AS (SELECT DISTINCT ON (order_id) order_id, country, product_id FROM {table("orders", "orders")}
                       WHERE product_id IS NOT NULL AND quantity > 0),
             amounts AS (SELECT order_id, amount FROM {table("sales", "enriched")})
        SELECT country, category, count(*) AS orders, round(sum(amount), 2) AS amount
        FROM clean JOIN {table("products", "products")} USING (product_id) LEFT JOIN amounts USING (order_id)
        GROUP BY ALL"""
    found = f"SELECT country, category, orders, round(amount, 2) AS amount FROM {table('reports', 'reports')}"
    rows = duckdb.sql(f"({found}) EXCEPT ALL ({expected})").fetchall()
    return rows + duckdb.sql(f"({expected}) EXCEPT ALL ({found})").fetchall()


def look_around(root: Path, spark: str) -> None:
    """Let the doctor look at a cluster on which everything is well."""
    project = write_project(root, "", '[project]\nname = "doctor"\n' + spark)
    findings = {each.check: each for each in cluster_findings(config_of(project))}
    assert list(findings) == ["master", "executors", "packages", "clocks", "shared"]
    assert all(each.ok for each in findings.values()), findings
    assert platform.python_version() in findings["executors"].detail
    assert list(Path(project.warehouse, "data").iterdir()) == [], "it leaves nothing behind"
