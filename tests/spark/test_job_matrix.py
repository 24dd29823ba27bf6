"""Every row of the rulebook's two test matrices (sections 9 and 15) on the real engine: ledger, executor, Spark.

| row | test |
|---|---|
| 9 ok/error exclusivity | test_of_ok_and_error_exactly_one_edge_fires |
| 9 parallel join waits | test_a_join_starts_no_earlier_than_its_latest_branch_ended |
| 9 global conflict resolution | test_of_two_concurrent_writes_the_higher_logical_clock_wins_whoever_ran_last |
| 9 checkpoint resume | test_a_resumed_run_executes_only_the_sub_jobs_from_the_failure_on |
| 9 cascade-skip | test_everything_behind_a_failure_is_skipped_along_control_and_data |
| 15 wild-card port expansion | test_wild_card_ports_become_concrete_ones_in_their_natural_order |
| 15 joblet nested globals | test_a_global_of_a_nested_joblet_is_observed_downstream |
| 15 iterator empty input | test_an_iterator_over_no_rows_completes_without_an_iteration |
| 15 resume after iteration 3 fail of 10 | test_after_iteration_3_of_10_failed_the_second_run_executes_3_to_10_only |
| 15 STARTABLE with no inbound control | test_a_component_without_inbound_control_is_ready_at_the_beginning |
| 15 back-pressure | test_streams.py: test_a_writer_whose_reader_is_behind_waits_at_the_limit_of_its_edge |
| example A | test_data_alone_starts_nothing_and_control_alone_neither |
| example B | test_the_error_of_a_joblet_reaches_its_caller |
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from pondage.spark.session.driver import SparkDriver
from pondage.views.jobs.jobs import ComponentView, JobRunDetail
from tests.spark.job_world import JobWorld, states

pytestmark = pytest.mark.spark

PARTS = '''
from pathlib import Path

from pondage import component
from pondage.define.types.port import Port

NUMBERS = {"type": "object", "properties": {"counts": {"type": "array"}}}


@component("step", inputs={"input": Port("Any", required=False)}, outputs={"main": "Table<Any>"}, after=("seen",))
def step(input=None, *, params, run):
    """Note that it ran, write the globals that are asked for, and fail unless the file `repaired` is there."""
    marks = Path(run.context["marks"])
    with (marks / "ran").open("a") as file:
        file.write(f"{params.get('as', '')}{input.get('id', '') if isinstance(input, dict) else ''}\\n")
    run.after["seen"] = 1
    run.globals.update(params.get("writes", {}))
    if params.get("fails_at", "") == (input.get("id") if isinstance(input, dict) else "always"):
        if not (marks / "repaired").exists():
            raise ValueError("it went wrong")


@component("fanned", outputs={"output_*": "Table<Any>"}, params=NUMBERS)
def fanned(*, params, run):
    return {f"output_{count}": run.spark.range(count) for count in params["counts"]}


@component("counted", inputs={"input_*": "Table<Any>"}, after=("counts",))
def counted(*, params, run, **inputs):
    run.after["counts"] = {name: frame.count() for name, frame in inputs.items()}
'''


@pytest.fixture(scope="module")
def world(driver: SparkDriver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JobWorld]:
    root = tmp_path_factory.mktemp("matrix") / "project"
    (root / "parts").mkdir(parents=True)
    (root / "parts" / "matrix_steps.py").write_text(PARTS)
    (root / "pondage.toml").write_text('[project]\nname = "matrix"\nmodules = ["parts/matrix_steps.py"]\n')
    made = JobWorld(root, driver)
    yield made
    made.close()


class Bench:
    """One job of a test, with the marks that its components leave."""

    def __init__(self, world: JobWorld, marks: Path) -> None:
        self.world = world
        self.marks = marks

    def run(self, text: str) -> JobRunDetail:
        # Not in the project: another archive of its code would be another process's.
        (self.marks / "job.yaml").write_text(text)
        return self.world.run(str(self.marks / "job.yaml"), marks=str(self.marks))

    def joblet(self, name: str, text: str) -> None:
        (self.marks / f"{name}.yaml").write_text(text)

    def ran(self) -> list[str]:
        """What ran since the last question, in order."""
        file = self.marks / "ran"
        found = file.read_text().split() if file.exists() else []
        file.unlink(missing_ok=True)
        return found

    def repair(self) -> None:
        (self.marks / "repaired").touch()

    def fired(self, view: JobRunDetail) -> list[str]:
        """Every edge that fired, as `source -kind-> target`, from the audit trail."""
        with self.world.ledger.reading() as tx:
            rows = tx.rows(
                """SELECT a.effects AS effects FROM advancements a JOIN job_runs r ON r.actor = a.actor
                   WHERE r.public_id = :run ORDER BY a.id""",
                run=view.run.id,
            )
        effects = [one for row in rows for one in msgspec.json.decode(str(row["effects"]))]
        return [f"{one['source']} -{one['label']}-> {one['target']}" for one in effects if one["effect"] == "edgefired"]


@pytest.fixture
def bench(world: JobWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.chdir(world.root)
    return Bench(world, tmp_path)


def component(view: JobRunDetail, name: str) -> ComponentView:
    return next(one for one in view.components if one.name == name)


@pytest.mark.parametrize("fails", [False, True])
def test_of_ok_and_error_exactly_one_edge_fires(bench: Bench, fails: bool) -> None:
    view = bench.run(
        f"""
components:
  - {{name: a, type: step, params: {{as: a, fails_at: {"always" if fails else "never"}}}}}
  - {{name: good, type: step, params: {{as: good}}}}
  - {{name: bad, type: step, params: {{as: bad}}}}
connections:
  control: [a (ok) good, a (error) bad]
"""
    )
    assert bench.fired(view) == ["a -error-> bad" if fails else "a -ok-> good"]
    assert bench.ran() == ["a", "bad" if fails else "good"]
    assert view.run.state == "OK"


FORK = """
components:
  - {name: f, type: step, params: {as: f}}
  - {name: a, type: step, params: {as: a, writes: {k: A}}}
  - {name: b, type: step, params: {as: b, writes: {k: B}}}
  - {name: b2, type: sleep, params: {seconds: 0.05}}
  - {name: j, type: step, params: {as: j}}
connections:
  control: [f (parallelise) "a, b", b (ok) b2, "a, b (synchronise) j"]
""".replace('f (parallelise) "a, b"', '"f (parallelise) a, b"')


def test_a_join_starts_no_earlier_than_its_latest_branch_ended(bench: Bench) -> None:
    view = bench.run(FORK)
    assert set(states(view).values()) == {"OK"}
    ended = [component(view, name).ended_at for name in ("a", "b", "b2")]
    started = component(view, "j").started_at
    assert started is not None
    assert all(end is not None and end <= started for end in ended)
    assert bench.ran()[-1] == "j"


def test_of_two_concurrent_writes_the_higher_logical_clock_wins_whoever_ran_last(bench: Bench) -> None:
    # b's sub-job has the greater number, so its clock is higher: with one worker a runs first, with the names turned b.
    assert bench.run(FORK).globals["k"] == "B"
    turned = FORK.replace("as: a, writes: {k: A}", "as: a, writes: {k: B}").replace(
        "as: b, writes: {k: B}", "as: b, writes: {k: A}"
    )
    assert bench.run(turned).globals["k"] == "A"


def test_a_resumed_run_executes_only_the_sub_jobs_from_the_failure_on(bench: Bench) -> None:
    view = bench.run(
        """
components:
  - {name: s1, type: step, params: {as: s1, writes: {k: 1}}}
  - {name: s2, type: step, params: {as: s2, fails_at: always}}
  - {name: s3, type: step, params: {as: s3}}
connections:
  control: [s1 (subjob_ok) s2, s2 (subjob_ok) s3]
"""
    )
    assert states(view) == {"s1": "OK", "s2": "ERROR", "s3": "SKIPPED"}
    assert bench.ran() == ["s1", "s2"]
    bench.repair()
    resumed = bench.world.resume(view.run.id)
    assert bench.ran() == ["s2", "s3"]
    assert resumed.run.state == "OK"
    assert resumed.globals["k"] == 1
    assert [one.name for one in resumed.components if one.is_restored] == ["s1"]


def test_everything_behind_a_failure_is_skipped_along_control_and_data(bench: Bench) -> None:
    view = bench.run(
        """
components:
  - {name: a, type: step, params: {as: a, fails_at: always}}
  - {name: b, type: table, params: {columns: {id: bigint}, rows: [[1]]}}
  - {name: c, type: filter, params: {where: id > 0}}
  - {name: d, type: void_sink}
  - {name: e, type: step, params: {as: e}}
connections:
  data: [b.main -> c.input, c.main -> d.input]
  control: [a (ok) b, d (ok) e]
"""
    )
    assert states(view) == {"a": "ERROR", "b": "SKIPPED", "c": "SKIPPED", "d": "SKIPPED", "e": "SKIPPED"}
    assert all(one.cause for one in view.components if one.state == "SKIPPED")
    assert view.run.state == "ERROR"
    assert bench.ran() == ["a"]


def test_wild_card_ports_become_concrete_ones_in_their_natural_order(bench: Bench) -> None:
    view = bench.run(
        """
components:
  - {name: fan, type: fanned, params: {counts: [1, 2, 10]}}
  - {name: all, type: counted}
connections:
  data:
    - fan.output_10 -> all.input_orders10
    - fan.output_2 -> all.input_orders2
    - fan.output_1 -> all.input_inventory
"""
    )
    assert view.run.state == "OK"
    assert [output.port for output in component(view, "fan").outputs] == ["output_1", "output_2", "output_10"]
    assert view.globals["all__counts"] == {"input_inventory": 1, "input_orders2": 2, "input_orders10": 10}


def test_a_global_of_a_nested_joblet_is_observed_downstream(bench: Bench) -> None:
    bench.joblet("outer", "components:\n  - {name: mid, type: '@innermost'}\n")
    bench.joblet("innermost", "components:\n  - {name: inner, type: step, params: {as: inner, writes: {G: 5}}}\n")
    view = bench.run(
        """
components:
  - {name: caller, type: "@outer"}
  - {name: after, type: step, params: {as: after}}
  - {name: seen, type: step, params: {as: seen}}
connections:
  control:
    - caller (ok) after
    - 'after (if1): "global[''caller.__mid.__inner__G''] == 5" seen'
"""
    )
    assert view.globals["caller.__mid.__inner__G"] == 5
    assert bench.ran() == ["inner", "after", "seen"]


def test_an_iterator_over_no_rows_completes_without_an_iteration(bench: Bench) -> None:
    view = bench.run(
        """
components:
  - {name: none, type: table, params: {columns: {id: bigint}, rows: []}}
  - {name: it, type: iterator}
  - {name: body, type: step, params: {as: body}}
  - {name: each, type: step, params: {as: each}}
  - {name: done, type: step, params: {as: done}}
connections:
  data: [none.main -> it.input, it.item -> body.input]
  control: [it (iteration_ok) each, it (iterator_complete) done]
"""
    )
    assert view.run.state == "OK"
    assert bench.ran() == ["done"]
    assert bench.fired(view) == ["it -iterator_complete-> done"]
    assert (view.globals["it__NB_OK"], view.globals["it__NB_ERROR"]) == (0, 0)


def test_after_iteration_3_of_10_failed_the_second_run_executes_3_to_10_only(bench: Bench) -> None:
    rows = ", ".join(f"[{number}]" for number in range(1, 11))
    view = bench.run(
        f"""
components:
  - {{name: src, type: table, params: {{columns: {{id: bigint}}, rows: [{rows}]}}}}
  - {{name: it, type: iterator}}
  - {{name: body, type: step, params: {{as: body, fails_at: 3}}}}
connections:
  data: [src.main -> it.input, it.item -> body.input]
"""
    )
    assert view.run.state == "ERROR"
    assert bench.ran() == ["body1", "body2", "body3"]
    bench.repair()
    resumed = bench.world.resume(view.run.id)
    assert resumed.run.state == "OK"
    assert bench.ran() == [f"body{number}" for number in range(3, 11)]
    assert (resumed.globals["it__NB_OK"], resumed.globals["it__NB_ERROR"]) == (10, 0)


def test_a_component_without_inbound_control_is_ready_at_the_beginning(bench: Bench) -> None:
    view = bench.run(
        """
components:
  - {name: a, type: step, params: {as: a}}
  - {name: b, type: table, params: {columns: {id: bigint}, rows: [[1]]}}
  - {name: t, type: filter, params: {where: id > 0}}
  - {name: out, type: void_sink}
connections:
  data: [b.main -> t.input, t.main -> out.input]
"""
    )
    assert set(states(view).values()) == {"OK"}
    with bench.world.ledger.reading() as tx:
        first = tx.row(
            """SELECT a.effects AS effects FROM advancements a JOIN job_runs r ON r.actor = a.actor
               WHERE r.public_id = :run ORDER BY a.id LIMIT 1""",
            run=view.run.id,
        )
    assert first is not None
    begun = re.findall(r'"effect":"run".*?"instance":"(\w+)"|"instance":"(\w+)","component"', str(first["effects"]))
    assert "a" in {name for found in begun for name in found}


def test_data_alone_starts_nothing_and_control_alone_neither(bench: Bench) -> None:
    view = bench.run(
        """
components:
  - {name: extract, type: table, params: {columns: {id: bigint}, rows: [[1], [2]]}}
  - {name: gate, type: step, params: {as: gate}}
  - {name: transform, type: filter, params: {where: id > 1}}
  - {name: out, type: row_count}
connections:
  data: [extract.main -> transform.input, transform.main -> out.input]
  control: [extract (ok) gate, gate (ok) transform]
"""
    )
    assert view.run.state == "OK"
    gate, transform = component(view, "gate"), component(view, "transform")
    assert gate.ended_at is not None
    assert transform.started_at is not None
    # Its data was there before; it still waited for the edge that permits it.
    assert transform.started_at >= gate.ended_at
    assert component(view, "extract").ended_at < gate.ended_at  # type: ignore[operator]


def test_the_error_of_a_joblet_reaches_its_caller(bench: Bench) -> None:
    bench.joblet(
        "address_cleaner",
        """
components:
  - {name: inner_map, type: step, params: {as: inner_map, writes: {ROW_ERR: 7}, fails_at: always}}
  - {name: inner_alert, type: step, params: {as: inner_alert, fails_at: always}}
connections:
  control: [inner_map (error) inner_alert]
""",
    )
    view = bench.run(
        """
components:
  - {name: cleaner, type: "@address_cleaner"}
  - {name: told, type: step, params: {as: told}}
connections:
  control: [cleaner (subjob_error) told]
"""
    )
    assert bench.ran() == ["inner_map", "inner_alert", "told"]
    assert view.globals["cleaner.__inner_map__ROW_ERR"] == 7
    assert "cleaner.__proxy_out -subjob_error-> told" in bench.fired(view)
