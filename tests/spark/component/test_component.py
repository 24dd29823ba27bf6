"""Executions of components: what is called, what is written, and how failures are told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from pondage.components.registry import built_in, built_in_function
from pondage.define.job.component import component, definition_of
from pondage.define.types.port import Port
from pondage.errors import PondageError
from pondage.spark.component.call import ComponentWork
from pondage.spark.component.component import run_components
from pondage.spark.files.read import read_snapshot
from pondage.spark.session.driver import SparkDriver
from pondage.work.component import ComponentResult, ComponentTask, Given, Made, Member, Stored

pytestmark = pytest.mark.spark
TABLE: dict[str, object] = {"columns": {"id": "bigint"}, "rows": [[1], [2], [3]]}


def member(name: str, instance: str, params: Mapping[str, object] | None = None, **fields: Any) -> Member:
    return Member(instance=instance, component=name, entry=built_in()[name].entry, params=dict(params or {}), **fields)


class Worker:
    """Runs tasks as a worker does; `functions` stand in for a project's own components."""

    def __init__(self, session: Callable[[], SparkSession], root: Path) -> None:
        self.session = session
        self.root = root
        self.functions: dict[str, Callable[..., object]] = {}
        self.executions = 0

    def run(self, *members: Member, **fields: Any) -> ComponentResult:
        self.executions += 1
        number = self.executions
        task = ComponentTask(job="job", run_id="r1", attempt=1, members=members, **fields)
        return run_components(
            ComponentWork(
                task=task, session=self.session, root=self.root,
                function=lambda entry: self.functions.get(entry) or built_in_function(entry),
                place=lambda port: f"{self.root}/runs/r1/{number}/{port}/token",
            )
        )  # fmt: skip

    def own(self, function: Callable[..., object], instance: str, **fields: Any) -> Member:
        definition = definition_of(function)
        assert definition is not None
        self.functions[definition.entry] = function
        return Member(instance=instance, component=definition.name, entry=definition.entry, **fields)


@pytest.fixture
def worker(spark: SparkSession, tmp_path: Path) -> Worker:
    return Worker(lambda: spark, tmp_path)


def no_spark() -> NoReturn:
    raise AssertionError("Spark was started")


def test_what_one_writes_the_next_one_reads_with_one_job_each(
    worker: Worker, spark: SparkSession, driver: SparkDriver, token: str
) -> None:
    before = len(driver.backend.jobs(token))  # type: ignore[attr-defined]
    (first,) = worker.run(member("table", "t", TABLE, writes=("main",))).members
    stored = Stored(first.outputs["main"])
    (second,) = worker.run(
        member("split", "s", {"where": "id > 1"}, inputs={"input": (stored,)}, writes=("main", "reject"))
    ).members
    assert len(driver.backend.jobs(token)) - before == 3  # type: ignore[attr-defined]
    assert {port: content.rows for port, content in second.outputs.items()} == {"main": 2, "reject": 1}
    assert second.outputs["reject"].path == f"{worker.root}/runs/r1/2/reject/token"
    assert sorted(row.id for row in read_snapshot(spark, second.outputs["main"]).collect()) == [2, 3]
    (unread,) = worker.run(member("split", "s", {"where": "id > 1"}, inputs={"input": (stored,)})).members
    assert unread.outputs == {}


def chain(*, broken: int | None = None, action: bool = False) -> list[Member]:
    """`table -> derive -> filter -> select`, one of them made wrong."""
    ratio = "100 / (id - 2)"
    params: list[dict[str, object]] = [
        TABLE, {"columns": {"ratio": ratio}}, {"where": "ratio != None"}, {"columns": ["id", "ratio"]}
    ]  # fmt: skip
    wrong: list[dict[str, object]] = [
        {"columns": {"id": "bigint"}, "rows": [[1, 2]]}, {"columns": {"ratio": "id + 'x'"}}, {"where": "nope"},
        {"columns": ["nope"]},
    ]  # fmt: skip
    if action:
        params[2] = {"columns": {"id": "tinyint"}}
    if broken is not None:
        params[broken] = wrong[broken]
    names = ["table", "derive", "cast" if action else "filter", "select"]
    made = []
    for number, name in enumerate(names):
        source = () if number == 0 else (Made(f"m{number - 1}", "main"),)
        inputs = {"input": source} if source else {}
        writes = ("main",) if number == 3 else ()
        made.append(member(name, f"m{number}", params[number], inputs=inputs, writes=writes))
    return made


def alone(worker: Worker, members: list[Member]) -> dict[str, Any]:
    """Run the same members each in an execution of its own, as without fusing."""
    outputs: dict[str, Any] = {}
    for one in members:
        inputs = {port: (Stored(outputs[found[0].instance]),) for port, found in one.inputs.items()}  # type: ignore[union-attr]
        plain = Member(
            instance=one.instance, component=one.component, entry=one.entry, params=one.params, inputs=inputs,
            writes=("main",),
        )  # fmt: skip
        outputs[one.instance] = worker.run(plain).members[0].outputs["main"]
    return outputs


def test_a_fused_group_writes_its_last_table_alone_and_the_data_is_the_same(
    worker: Worker, spark: SparkSession, driver: SparkDriver, token: str
) -> None:
    before = len(driver.backend.jobs(token))  # type: ignore[attr-defined]
    result = worker.run(*chain())
    assert len(driver.backend.jobs(token)) - before == 1  # type: ignore[attr-defined]
    assert [list(one.outputs) for one in result.members] == [[], [], [], ["main"]]
    fused = read_snapshot(spark, result.members[-1].outputs["main"]).collect()
    apart = read_snapshot(spark, alone(worker, chain())["m3"]).collect()
    assert sorted(fused) == sorted(apart)
    assert len(fused) == 2


@pytest.mark.parametrize("broken", range(4))
def test_a_member_that_cannot_be_built_fails_itself_and_skips_the_later_ones(worker: Worker, broken: int) -> None:
    result = worker.run(*chain(broken=broken))
    states = ["skipped" if one.is_skipped else "error" if one.raises else "ok" for one in result.members]
    assert states == ["ok"] * broken + ["error"] + ["skipped"] * (3 - broken)
    assert result.members[broken].code == ["BAD_ROW", "EXPR_TYPE", "EXPR_TYPE", "NO_SUCH_COLUMN"][broken]
    assert not any(one.outputs for one in result.members)


@component("forgetful", outputs={"main": "Table<Any>", "other": "Table<Any>"})
def forgetful(*, params, run):  # type: ignore[no-untyped-def]
    """Gives nothing for the port that is read."""
    return {"other": run.spark.range(1)} if params["some"] else None


@pytest.mark.parametrize("some", [True, False])
def test_an_inner_member_that_gives_nothing_for_what_the_next_one_reads_fails_itself(
    worker: Worker, some: bool
) -> None:
    first = worker.own(forgetful, "m0", params={"some": some})
    last = member("select", "m1", {"columns": ["id"]}, inputs={"input": (Made("m0", "main"),)}, writes=("main",))
    result = worker.run(first, last)
    assert (result.members[0].code, result.members[1].is_skipped) == ("OUTPUT_NOT_CLOSED", True)


def outcomes(result: ComponentResult) -> list[str]:
    return ["skipped" if one.is_skipped else "error" if one.raises else "ok" for one in result.members]


def test_a_failed_action_is_told_by_the_member_whose_code_failed(worker: Worker) -> None:
    members = chain(action=True)
    members[0] = member("table", "m0", {"columns": {"id": "bigint"}, "rows": [[1], [100_000]]})
    result = worker.run(*members)
    assert outcomes(result) == ["ok", "ok", "error", "skipped"]
    told = result.members[2]
    assert not told.code.startswith("FUSED_ACTION")
    assert "CAST_OVERFLOW" in str(told.raises) or "out of range" in str(told.raises)
    assert told.trace is not None


def test_a_file_that_cannot_be_read_is_told_by_the_member_that_reads_it(worker: Worker, tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_text("id,price\n1,2.0\noops,3.0\n")
    given = {"path": str(tmp_path / "orders.csv"), "columns": {"id": "bigint", "price": "double"}}
    first = member("read_csv", "m0", given)
    last = member("filter", "m1", {"where": "price > 1"}, inputs={"input": (Made("m0", "main"),)}, writes=("main",))
    result = worker.run(first, last)
    assert outcomes(result) == ["error", "skipped"]
    assert "orders.csv cannot be read as declared" in str(result.members[0].raises)


@component("shout", inputs={"input": "Table<Any>"}, outputs={"main": "Table<Any>"}, deterministic=True)
def shout(input: DataFrame, *, params, run):  # type: ignore[no-untyped-def]  # noqa: A002
    """Fails in a Python worker, when its rows are computed."""

    def loud(text):  # type: ignore[no-untyped-def]
        if text > 2:
            raise ValueError("too loud")
        return str(text)

    return input.withColumn("loud", F.udf(loud, "string")("id"))


def test_a_function_that_fails_in_a_python_worker_is_blamed_on_its_member(worker: Worker) -> None:
    first = member("table", "m0", TABLE)
    middle = worker.own(shout, "m1", inputs={"input": (Made("m0", "main"),)})
    last = member("select", "m2", {"columns": ["loud"]}, inputs={"input": (Made("m1", "main"),)}, writes=("main",))
    result = worker.run(first, middle, last)
    assert outcomes(result) == ["ok", "error", "skipped"]
    assert [one.instance for one in result.members] == ["m0", "m1", "m2"]
    assert "too loud" in str(result.members[1].raises)


def test_what_no_line_of_a_member_explains_is_told_by_all_of_them(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> NoReturn:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pondage.spark.component.call.Call.written", full)
    result = worker.run(*chain())
    assert outcomes(result) == ["ok", "ok", "ok", "error"]
    assert result.members[3].code == "FUSED_ACTION(m0, m1, m2, m3)"


def test_members_that_share_a_function_are_told_apart_by_what_they_gave(worker: Worker) -> None:
    rows = member("table", "m0", {"columns": {"id": "bigint"}, "rows": [[1], [100_000]]})
    steps = [
        member("cast", f"m{n}", {"columns": {"id": kind}}, inputs={"input": (Made(f"m{n - 1}", "main"),)})
        for n, kind in ((1, "int"), (2, "tinyint"))
    ]
    last = member("select", "m3", {"columns": ["id"]}, inputs={"input": (Made("m2", "main"),)}, writes=("main",))
    result = worker.run(rows, *steps, last)
    assert outcomes(result) == ["ok", "ok", "error", "skipped"]


@component("own", inputs={"left": Port(), "many": Port(multi=True), "late": Port(required=False),
                          "part_*": Port(), "one": Port("Value<Any>")}, outputs={"main": "Table<Any>"})  # fmt: skip
def own(  # type: ignore[no-untyped-def]
    left: DataFrame, many: list[DataFrame], late: DataFrame | None, one: object, *, params, run, **parts: DataFrame
) -> DataFrame:
    """Counts what it is given."""
    run.after["given"] = [left.count(), [each.count() for each in many], late, one, sorted(parts)]
    run.globals["seen"] = run.globals["before"]
    del run.globals["before"]
    run.log.info("called with %s", params)
    return left.select(F.lit(run.context["env"]).alias("env"))


def test_a_function_gets_its_ports_and_its_run(worker: Worker) -> None:
    table = Stored(worker.run(member("table", "t", TABLE, writes=("main",))).members[0].outputs["main"])
    group = Given([{"id": 1, "x": None, "f": 1.5}, {"id": 2, "x": "y", "f": 2}])
    (result,) = worker.run(
        worker.own(
            own, "o", writes=("main",),
            inputs={"left": (group,), "many": (table, table), "one": (Given({"a": 1}),), "part_2": (table,)},
        ),
        globals={"before": 7}, context={"env": "test"},
    ).members  # fmt: skip
    assert result.raises is None
    assert result.after == {"given": [2, [3, 3], None, {"a": 1}, ["part_2"]]}
    assert (result.globals, result.deletes) == ({"seen": 7}, ("before",))
    assert result.outputs["main"].rows == 2


@component("strict", outputs={"main": "Table<Any>"}, after=("a",), globals=())
def strict(*, params: dict[str, Any], run: Any) -> object:
    """Does what its params say."""
    run.after["a"] = 1
    if "global" in params:
        run.globals["g"] = 1
    if params.get("exit"):
        raise SystemExit(3)
    if params.get("raise"):
        raise ValueError("broken")
    return params.get("return")


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"global": 1}, "UNDECLARED_WRITE"),
        ({"exit": True}, "SystemExit"),
        ({"raise": True}, "ValueError"),
        ({"return": 5}, "WRONG_RETURN"),
        ({"return": {"nope": 5}}, "WRONG_RETURN"),
        ({}, "OUTPUT_NOT_CLOSED"),
    ],
)
def test_what_a_component_does_wrong_is_its_error(worker: Worker, params: dict[str, object], code: str) -> None:
    worker.session = no_spark
    (result,) = worker.run(worker.own(strict, "s", params=params, writes=("main",))).members
    assert result.code == code
    assert result.after == {"a": 1}


def quiet(worker: Worker) -> Iterator[Member]:
    (worker.root / "one.csv").write_text("id\n1\n", encoding="utf-8")
    yield member("log", "log", {"message": "hello"})
    yield member("set_globals", "set", {"values": {"a": {1}}, "computed": {"b": "n + 1"}, "delete": ["n"]})
    yield member("log_globals", "show", {})
    yield member("sleep", "sleep", {"seconds": 0})
    yield member("fail", "fail", {"when": "n > 9"})
    yield member("iterator", "files", {"mode": "files", "location": ".", "glob": "*.csv"})


def test_components_without_data_do_not_start_spark(worker: Worker) -> None:
    worker.session = no_spark
    found = {one.instance: worker.run(one, globals={"n": 1}).members[0] for one in quiet(worker)}
    assert [one.raises for one in found.values()] == [None] * 6
    assert (found["set"].globals, found["set"].deletes) == ({"a": {"$set": [1]}, "b": 2}, ("n",))
    items = found["files"].items
    assert items is not None
    assert [one["file"] for one in items] == ["one.csv"]  # type: ignore[index]
    (failed,) = worker.run(member("fail", "f", {"message": "no more"})).members
    assert (failed.code, failed.raises) == ("FAILED", "no more")


def test_a_lost_driver_is_nobodys_failure(worker: Worker) -> None:
    from py4j.protocol import Py4JNetworkError

    def lost() -> NoReturn:
        raise Py4JNetworkError("Answer from Java side is empty")

    worker.session = lost
    with pytest.raises(PondageError) as raised:
        worker.run(member("table", "t", TABLE, writes=("main",)))
    assert raised.value.code == "SPARK_LOST"
