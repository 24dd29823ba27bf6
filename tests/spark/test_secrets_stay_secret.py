"""A Ripple uses a secret, and one fails with it: afterwards no file of the project holds it."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pondage.cli.main import main
from pondage.engine.attempt.log import AttemptHandler, RoutedStream
from pondage.spark.session.driver import SparkDriver
from tests.spark.pipeline import Pipeline

VALUE = "hush-7f3a9c-pond"
PONDS = """
from pondage import pond
from pyspark.sql import functions as F

@pond
def used(spark, run):
    password = run.secret("db")
    run.logger.info("connecting with %s", password)
    print("printed", password)
    return spark.range(1).select(F.length(F.lit(password)).alias("n"))

@pond
def failing(spark, run):
    raise RuntimeError(f"cannot log in with {run.secret('db')}")

@pond
def refused(spark, run):
    frame = spark.range(1).select(F.raise_error(F.lit("refused " + run.secret("db"))).cast("string").alias("x"))
    return frame

@pond
def absent(run):
    return run.secret("nothing")
"""


def test_after_a_run_with_a_secret_and_one_that_fails_no_file_holds_it(
    deployed: Callable[[str], Pipeline], driver: SparkDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pipeline = deployed(PONDS)
    handler = AttemptHandler(io.StringIO())
    monkeypatch.setattr(logging.getLogger("pondage.ripple"), "handlers", [handler])
    logging.getLogger("pondage.ripple").setLevel(logging.INFO)
    monkeypatch.setattr("sys.stdout", RoutedStream(sys.stdout, "INFO"))
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{VALUE}\n"))
    assert main(["--project", str(pipeline.path), "secret", "set", "db"]) == 0
    for pond in ("used", "failing", "refused", "absent"):
        pipeline.run(pond)
    codes = [each.code for each in pipeline.failures]
    assert codes == ["RIPPLE_FAILED", "RIPPLE_FAILED", "NO_SECRET"]
    assert "cannot log in with ***" in pipeline.failures[0].message
    assert "refused ***" in pipeline.failures[1].message
    assert "pondage secret set nothing" in pipeline.failures[2].message
    assert pipeline.published("used").tables[0].content.rows == 1
    pipeline.close()
    files = [each for each in [*tmp_path.rglob("*"), driver.log] if each.is_file() and not each.is_symlink()]
    assert {"ledger.db", "attempt.log", "ponds.py"} <= {each.name for each in files}
    assert [str(each) for each in files if VALUE.encode() in each.read_bytes()] == []
    text = (pipeline.path / ".pondage" / "attempt.log").read_text()
    assert "connecting with ***" in text
    assert "printed ***" in text
