"""`pondage test`: the tests of a project, with real tables on a real Spark."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from pondage.project.starter import create_project
from tests.cli.conftest import Call

MORE = """
import pytest
from pondage import PondageError, Pond, Run
from ponds.visits import popular, visits


def test_a_table_of_a_file(table):
    given = table(csv="pages.csv", schema="visit long, page string")
    assert [tuple(row) for row in given.collect()] == [(1, "home"), (2, None)]
    assert table([{"a": 1}]).columns == ["a"]


def test_what_is_wrong_is_said(table, run_ripple):
    given = table(csv="pages.csv")
    with pytest.raises(PondageError, match="was not given visits"):
        run_ripple(popular)
    with pytest.raises(PondageError, match="reads no pages and was not given visits"):
        run_ripple(popular, pages=given)
    with pytest.raises(PondageError, match="page null"):
        run_ripple(popular, visits=given, expectations=True)
    assert run_ripple(visits).count() == 1_000


trips = Pond("trips", mode="append")
trips.source("trips_raw")


@trips.ripple(changes=["trips_raw"])
def fares(run: Run):
    return run.changes("trips_raw").where("fare > 0")


def test_what_is_followed_has_the_name_of_its_declaration(table, run_ripple):
    raw = table([(1, 5), (2, 0)], "id int, fare int")
    assert [row.id for row in run_ripple(trips, trips_raw=raw).collect()] == [1]
    assert run_ripple(trips, **{"trips_raw.trips_raw": raw}).count() == 1
    with pytest.raises(PondageError, match="was not given trips_raw$"):
        run_ripple(trips)


def test_that_fails():
    assert False, "as it should"
"""


def test_the_tests_of_a_project_run_with_its_fixtures(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_project(tmp_path / "shop")
    (tmp_path / "shop" / "tests" / "test_more.py").write_text(MORE)
    (tmp_path / "shop" / "tests" / "pages.csv").write_text("visit,page\n1,home\n2,\n")
    monkeypatch.chdir(tmp_path / "shop" / "ponds")
    said = call("test", "--json")
    assert {each["test"]: each["outcome"] for each in said.json["tests"]} == {  # type: ignore[index,union-attr,attr-defined]
        "tests.test_visits.test_pages_are_counted": "passed",
        "tests.test_more.test_a_table_of_a_file": "passed",
        "tests.test_more.test_what_is_wrong_is_said": "passed",
        "tests.test_more.test_what_is_followed_has_the_name_of_its_declaration": "passed",
        "tests.test_more.test_that_fails": "failed",
    }
    assert (said.code, said.json["passed"], said.json["failed"]) == (1, 4, 1)
    said = call("test", "-k", "nothing_is_called_so", "-q")
    assert said.code == 1
    assert "no tests were found" in said.err


def test_without_pytest_it_says_what_to_install(project: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    said = call("test")
    assert said.code == 1
    assert "pip install pytest" in said.err
