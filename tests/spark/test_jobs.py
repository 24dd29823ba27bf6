"""The example jobs on the real engine: the ledger decides, Spark computes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pondage.spark.session.driver import SparkDriver
from tests.spark.job_world import JobWorld, states

pytestmark = pytest.mark.spark
EXAMPLES = Path(__file__).parents[2] / "examples" / "jobs"
CHAIN = """
job: {name: chain}
components:
  - {name: t, type: read_json, params: {path: numbers.json}}
  - {name: d, type: derive, params: {columns: {double: id * 2}}}
  - {name: f, type: filter, params: {where: double > 2}}
  - {name: s, type: select, params: {columns: [id, double]}}
  - {name: out, type: write_json, params: {path: out/chain, mode: overwrite}}
  - {name: other, type: log, params: {message: the last one failed}}
  - {name: next, type: log, params: {message: all is well}}
connections:
  data: [t.main -> d.input, d.main -> f.input, f.main -> s.input, s.main -> out.input]
  control: [s (error) other, s (subjob_ok) next]
"""
BROKEN = {
    "t": ("numbers.json", "nowhere.json"),
    "d": ("id * 2", "id + 'x'"),
    "f": ("double > 2", "nope > 2"),
    "s": ("[id, double]", "[nope]"),
}
"""What is wrong with each member when it runs: of what a file holds nothing is known before."""


@pytest.fixture(scope="module")
def world(driver: SparkDriver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JobWorld]:
    root = tmp_path_factory.mktemp("jobs") / "project"
    shutil.copytree(EXAMPLES, root)
    namespace: dict[str, object] = {"__name__": "make_data"}
    exec(compile((root / "make_data.py").read_text(encoding="utf-8"), "make_data.py", "exec"), namespace)
    namespace["make"](root)  # type: ignore[operator]
    made = JobWorld(root, driver)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _inside(world: JobWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world.root)


def written(spark: SparkSession, world: JobWorld, name: str, form: str = "json") -> list[tuple[object, ...]]:
    frame = spark.read.format(form).load(f"file:{world.root}/out/{name}")
    return sorted((tuple(row) for row in frame.select(*sorted(frame.columns)).collect()), key=str)


def test_an_error_is_handled_by_another_way_of_reading(world: JobWorld, spark: SparkSession) -> None:
    view = world.run("jobs/handled.yaml")
    assert view.run.state == "OK"
    assert states(view)["read"] == "ERROR"
    assert states(view)["save"] == "SKIPPED"
    assert view.globals["was_bad"] is True
    assert len(written(spark, world, "handled", "parquet")) == 8
    assert len(written(spark, world, "handled_bad")) == 1


def test_a_fork_runs_its_branches_and_the_join_waits_for_both(world: JobWorld, spark: SparkSession) -> None:
    view = world.run("jobs/fork.yaml")
    assert view.run.state == "OK"
    assert set(states(view).values()) == {"OK"}
    regions = written(spark, world, "by_region")
    assert sum(row[2] for row in regions) == sum(number * (number + 0.5) for number in range(1, 9))  # type: ignore[misc]
    assert len(written(spark, world, "by_customer")) == 4


def test_joblets_in_joblets_and_a_component_of_the_project(world: JobWorld, spark: SparkSession) -> None:
    view = world.run("jobs/nested.yaml")
    assert view.run.state == "OK", states(view)
    assert [row[0] for row in written(spark, world, "report")] == ["Customer 0", "Customer 1", "Customer 2"]
    assert view.globals["count__rows"] == 2
    assert states(view)["warn"] == "OK"


def test_an_iterator_over_files_goes_on_after_the_bad_one(world: JobWorld, spark: SparkSession) -> None:
    view = world.run("jobs/files.yaml")
    assert view.run.state == "OK", states(view)
    assert (view.globals["each__NB_OK"], view.globals["each__NB_ERROR"]) == (2, 1)
    rows = written(spark, world, "files", "parquet")
    assert len(rows) == 12
    assert {str(row[1])[0] for row in rows} == {"1", "3"}


def test_a_failed_run_is_resumed_without_loading_again(world: JobWorld, spark: SparkSession) -> None:
    failed = world.run("jobs/resumed.yaml")
    assert failed.run.state == "ERROR"
    assert states(failed)["gate"] == "ERROR"
    file = world.root / "jobs" / "resumed.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("quantity < 8", "quantity <= 8"), encoding="utf-8")
    view = world.resume(failed.run.id, "jobs/resumed.yaml")
    assert view.run.state == "OK"
    assert {one.name for one in view.components if one.is_restored} == {"load", "first"}
    assert len(written(spark, world, "resumed")) == 8


def chain(world: JobWorld, broken: str = "") -> str:
    text = CHAIN.replace(*BROKEN[broken]) if broken else CHAIN
    (world.root / "chain.yaml").write_text(text, encoding="utf-8")
    (world.root / "numbers.json").write_text('{"id": 1}\n{"id": 2}\n{"id": 300}\n', encoding="utf-8")
    return "chain.yaml"


def test_the_data_is_the_same_with_and_without_fusing(world: JobWorld, spark: SparkSession) -> None:
    fused = world.run(chain(world))
    with_fusing = written(spark, world, "chain")
    apart = world.run("chain.yaml", fuses=False)
    assert states(fused) == states(apart)
    assert (fused.run.state, fused.globals) == (apart.run.state, apart.globals)
    assert with_fusing == written(spark, world, "chain") == [(4, 2), (600, 300)]
    tables = {one.name for one in fused.components if one.outputs}
    assert (tables, {one.name for one in apart.components if one.outputs}) == ({"s"}, {"t", "d", "f", "s"})


@pytest.mark.parametrize("broken", BROKEN)
def test_each_member_of_a_fused_group_fails_as_itself(world: JobWorld, broken: str) -> None:
    names = list(BROKEN)
    at = names.index(broken)
    view = world.run(chain(world, broken))
    found = states(view)
    assert [found[name] for name in names] == ["OK"] * at + ["ERROR"] + ["SKIPPED"] * (3 - at)
    causes = {one.name: one.cause for one in view.components}
    if at < 3:
        assert causes["s"].startswith("DATA_STARVED")
    assert found["other"] == ("OK" if broken == "s" else "SKIPPED")
    assert (found["out"], found["next"]) == ("SKIPPED", "OK" if broken == "s" else "SKIPPED")
    apart = world.run("chain.yaml", fuses=False)
    assert states(apart) == found
    assert apart.run.state == view.run.state


EVERY_KIND = """
job: {name: kinds}
components:
  - {name: t, type: table, params: {columns: {id: bigint, region: string}, rows: [[1, EU], [2, US], [3, EU]]}}
  - {name: groups, type: iterator, params: {mode: groups, key: region}}
  - {name: rows, type: row_count}
  - {name: set, type: set_globals, params: {values: {limit: 3}}, global_export: [limit]}
  - {name: again, type: iterator, params: {mode: while, condition: iteration <= global.limit}}
  - {name: each, type: log_globals}
  - {name: list, type: file_list, params: {location: data, glob: "*.csv"}}
  - {name: rest, type: sleep, params: {seconds: 0}}
  - {name: stop, type: fail, params: {message: there are files, when: "list__files > 0"}}
  - {name: told, type: log, params: {message: it stopped}}
connections:
  data: [t.main -> groups.input, groups.item -> rows.input, again.item -> each.input]
  control:
    - groups (iterator_complete) set
    - set (ok) again
    - again (iterator_complete) list
    - list (ok) rest
    - rest (ok) stop
    - stop (error) told
"""


def test_iterators_over_groups_and_conditions_run_with_globals_and_a_planned_failure(world: JobWorld) -> None:
    (world.root / "kinds.yaml").write_text(EVERY_KIND)
    view = world.run("kinds.yaml")
    assert view.run.state == "OK"
    assert view.globals["rows__rows"] == [2, 1], "two rows of EU, one of US"
    assert {name for name in states(view) if name.startswith("each")} == {"each[#1]", "each[#2]", "each[#3]"}
    assert {name: states(view)[name] for name in ("list", "rest", "stop", "told")} == {
        "list": "OK", "rest": "OK", "stop": "ERROR", "told": "OK",
    }  # fmt: skip
    assert "there are files" in str(view.globals["stop__ERROR_MESSAGE"])
