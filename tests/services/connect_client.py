"""What a client of a Connect server does in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from pondage.errors import PondageError
from pondage.spark.files.read import read_snapshot
from pondage.spark.files.write import write_files
from pondage.spark.jvm.settings import SparkSettings
from pondage.spark.query.query import run_query
from pondage.spark.session.driver import SparkDriver


def ask_for_a_plan(remote: str, state: Path) -> None:
    driver = SparkDriver.start(SparkSettings(remote=remote), state)
    with driver.attempt("a-query", "a query") as session, pytest.raises(PondageError, match="shows no plan") as told:
        run_query(session, "select 1", {}, limit=1)
    assert told.value.code == "NO_CONNECT"
    driver.stop()


def write_far_away(remote: str, behind: Path, state: Path) -> None:
    driver = SparkDriver.start(SparkSettings(remote=remote), state)
    with driver.attempt("far-files", "far files") as session:
        frame = session.range(0, 100, 1, 3).where("id <> 7")
        content = write_files(frame, "viewfs://far/data/snapshot").as_content()
        assert (content.rows, sum(file.rows for file in content.files), len(content.files)) == (99, 99, 3)
        assert content.bytes == sum(each.stat().st_size for each in behind.glob("*.parquet"))
        assert sorted(row.id for row in read_snapshot(session, content).collect()) == [*range(7), *range(8, 100)]
    driver.stop()
