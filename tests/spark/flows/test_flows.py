"""Flows on the real engine: constants, tees, panics and stops, decided by the ledger and computed by Spark."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

from pondage.define.job.flow import FlowRefused
from pondage.engine.attempt.log import AttemptHandler
from pondage.ledger.act import flow_constants
from pondage.spark.files.segments import packed
from pondage.spark.session.driver import SparkDriver
from pondage.views.jobs.flows import FlowDetail
from tests.spark.flows.flow_world import FlowWorld, node_states, rows, tree

pytestmark = pytest.mark.spark

PROGRAMS = '''
from pondage.define.job.component import component
from pondage.define.types.port import Port


@component("boom", vars={"R": "row"}, inputs={"input": "Table<R>"}, outputs={"main": "Table<R>"}, exposed=True)
def boom(input, *, params, run):
    """Always fail."""
    raise ValueError("it broke")


@component("handle", inputs={"input": Port("Table<Panic>", multi=True)}, outputs={"main": "Table<Panic>"}, exposed=True)
def handle(input, *, params, run):
    """Hand on why something failed."""
    first, *others = input
    for one in others:
        first = first.unionByName(one)
    return first


@component("size", inputs={"input": "Bytes<text/plain>", "factor": "Value<bigint>"},
           outputs={"main": "Value<{size: bigint}>", "twice": "Bytes<text/plain>"}, exposed=True)
def size(input, factor, *, params, run):
    """Say how long some bytes are."""
    return {"main": {"size": len(input) * factor}, "twice": input * 2}


@component("login", outputs={"main": "Table<{n: int}>"}, exposed=True, params={
    "type": "object", "properties": {"password": {"type": "string", "format": "secret"}, "fails": {"type": "boolean"}},
    "additionalProperties": False,
})
def login(*, params, run):
    """Use a secret by its name."""
    password = run.secret(params.get("password", "PASSWORD"))
    run.log.info("connecting with %s", password)
    if params.get("fails"):
        raise RuntimeError(f"cannot log in with {password}")
    return run.spark.createDataFrame([(len(password),)], "n int")


@component("measure", inputs={"size": "Value<{size: bigint}>"}, outputs={"main": "Table<{n: bigint}>"}, exposed=True)
def measure(size, *, params, run):
    """Make a table of a value."""
    return run.spark.createDataFrame([(size["size"],)], "n bigint")
'''
PEOPLE = "Table<{id: bigint not null, name: string, born: date, score: decimal(7,2), tags: array<string>}>"


@pytest.fixture(scope="module")
def world(driver: SparkDriver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlowWorld]:
    root = tmp_path_factory.mktemp("flows") / "project"
    made = FlowWorld(root, driver, PROGRAMS, '[secrets.login]\nPASSWORD = "env:SHOP_PASSWORD"\n')
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _inside(world: FlowWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world.root)


def lines(world: FlowWorld, view: FlowDetail, name: str) -> list[dict[str, Any]]:
    """Fetch an extract and answer its rows in an order of their own."""
    data = world.extracted(view.flow.run.id, name)
    return sorted((json.loads(line) for line in data.splitlines()), key=json.dumps)


def test_a_constant_becomes_rows_of_its_type_and_a_second_reader_gets_them_too(world: FlowWorld) -> None:
    person = {"id": 1, "name": "Ada", "born": "1815-12-10", "score": "10.50", "tags": ["x", None]}
    view = world.flow(
        tree(
            {
                "people": rows(PEOPLE, person, {"id": 2}),
                "named": {"prog": "filter", "params": {"where": "id < 2"}},
                "all": {"prog": "select", "params": {"columns": ["id"]}},
            },
            ["people.out", "named.input"],
            ["people.out", "all.input"],
            named="named.main as ndjson",
            everybody="all.main as csv",
        )
    )
    assert view.flow.run.state == "OK", view
    assert view.flow.run.id.startswith("f")
    assert lines(world, view, "named") == [{**person, "tags": ["x", None]}]
    assert sorted(world.extracted(view.flow.run.id, "everybody").split()) == [b"1", b"2", b"id"]
    assert [(one.name, one.state) for one in view.extracts] == [("named", "ready"), ("everybody", "ready")]


def test_values_and_bytes_travel_as_python_has_them(world: FlowWorld) -> None:
    view = world.flow(
        tree(
            {
                "text": {"const": {"type": "Bytes<text/plain>", "bytes": "aGVsbG8="}},
                "three": {"const": {"type": "Value<bigint>", "value": 3}},
                "size": {"prog": "size"},
                "measure": {"prog": "measure"},
            },
            ["text.out", "size.input"],
            ["three.out", "size.factor"],
            ["size.main", "measure.size"],
            n="measure.main as ndjson",
            size="size.main as ndjson",
            twice="size.twice as bytes",
        )
    )
    assert view.flow.run.state == "OK", view.panics
    assert lines(world, view, "n") == [{"n": 15}]
    assert lines(world, view, "size") == [{"size": 15}]
    assert world.extracted(view.flow.run.id, "twice") == b"hellohello"


STORED = "Table<{id: bigint not null, at: timestamp_ntz, tags: array<string>}>"


def stored(world: FlowWorld, type_: str, data: bytes) -> dict[str, Any]:
    """A constant that a tree names by its digest."""
    return {"const": {"type": type_, "ref": flow_constants.store(world.ledger, "main", data)}}


def test_tables_and_values_that_were_stored_before_are_what_a_tree_names_by_their_digests(world: FlowWorld) -> None:
    moment = datetime(2026, 1, 31, 12)  # noqa: DTZ001 - one without a time zone
    table = packed(pa.table({"id": [1, 2], "at": pa.array([moment, None], pa.timestamp("us")), "tags": [["x"], None]}))
    view = world.flow(
        tree(
            {
                "people": stored(world, STORED, table[0]),
                "text": {"const": {"type": "Bytes<text/plain>", "bytes": "aGVsbG8="}},
                "three": stored(world, "Value<bigint>", b"3"),
                "size": {"prog": "size"},
            },
            ["text.out", "size.input"],
            ["three.out", "size.factor"],
            people="people.out as ndjson",
            size="size.main as ndjson",
            twice="size.twice as bytes",
        )
    )
    assert view.flow.run.state == "OK", view.panics
    assert lines(world, view, "people") == [
        {"id": 1, "at": "2026-01-31T12:00:00", "tags": ["x"]},
        {"id": 2, "at": None, "tags": None},
    ]
    assert lines(world, view, "size") == [{"size": 15}]


@pytest.mark.parametrize(
    ("type_", "data", "told"),
    [
        ("Value<bigint>", b"{", "no JSON"),
        ("Value<bigint>", b'"three"', "wanted Value<bigint>: wanted bigint, got 'three'"),
        ("Table<{id: bigint}>", b"id\n1\n", "no Arrow IPC stream"),
        (
            "Table<{id: bigint}>",
            packed(pa.table({"id": ["1"]}))[0],
            "wanted Table<{id: bigint}>, got Table<{id: string}>",
        ),
        ("Table<{id: bigint not null}>", packed(pa.table({"id": [None, 1]}))[0], "it may be null"),
    ],
)
def test_a_stored_constant_that_is_not_of_its_type_is_a_decode_error(
    world: FlowWorld, type_: str, data: bytes, told: str
) -> None:
    view = world.flow(tree({"c": stored(world, type_, data)}, x="c.out as ndjson"))
    assert (view.flow.run.state, view.flow.run.code) == ("ERROR", "PANIC")
    (panic,) = view.panics
    assert panic.code == "DECODE_ERROR"
    assert told in panic.message


def test_a_panic_that_nobody_handles_ends_the_flow_with_its_code(world: FlowWorld) -> None:
    view = world.flow(
        tree(
            {"a": rows("Table<{id: bigint}>", {"id": 1}), "b": {"prog": "boom"}, "c": {"prog": "boom"}},
            ["a.out", "b.input"],
            ["b.main", "c.input"],
            x="c.main",
        )
    )
    assert (view.flow.run.state, view.flow.run.code) == ("ERROR", "PANIC")
    (panic,) = view.panics
    assert (panic.node, panic.attempt, panic.code, panic.message) == ("b", 1, "ValueError", "ValueError: it broke")
    assert 'raise ValueError("it broke")' in panic.detail
    assert next(one for one in view.flow.components if one.name == "c").cause == "ABORTED(PANIC)"
    assert view.extracts[0].state == "lost"


def test_a_wired_panic_is_handled_and_its_row_says_what_happened(world: FlowWorld) -> None:
    view = world.flow(
        tree(
            {
                "a": rows("Table<{id: bigint}>", {"id": 1}),
                "b": {"prog": "boom"},
                "c": {"prog": "filter", "params": {"where": "id > 0"}},
                "h": {"prog": "handle"},
            },
            ["a.out", "b.input"],
            ["b.main", "c.input"],
            ["b.panic", "h.input"],
            x="c.main",
            why="h.main as ndjson",
        )
    )
    assert view.flow.run.state == "OK", view
    assert node_states(view) == {"a": "OK", "b": "ERROR", "c": "SKIPPED", "h": "OK"}
    (row,) = lines(world, view, "why")
    assert (row["node"], row["attempt"], row["code"], row["message"]) == ("b", 1, "ValueError", "ValueError: it broke")
    assert "Traceback" in str(row["detail"])
    assert str(row["at"]).endswith("Z")


def test_a_handler_of_what_went_well_is_skipped(world: FlowWorld) -> None:
    view = world.flow(
        tree(
            {
                "a": rows("Table<{id: bigint}>", {"id": 1}),
                "b": {"prog": "filter", "params": {"where": "id > 0"}},
                "h": {"prog": "handle"},
            },
            ["a.out", "b.input"],
            ["b.panic", "h.input"],
            x="b.main",
            why="h.main as ndjson",
        )
    )
    assert view.flow.run.state == "OK"
    assert node_states(view)["h"] == "SKIPPED"


ORDERS = rows(
    "Table<{id: bigint, amount: double}>",
    {"id": 1, "amount": 5.0},
    {"id": 2, "amount": -1.0},
    {"id": None, "amount": 3.0},
)
RULES = {"NO_ID": "id >= 0", "NEGATIVE": "amount >= 0"}


def test_results_are_made_ignored_split_logged_collected_and_asserted(
    world: FlowWorld, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "pondage.component")
    view = world.flow(
        tree(
            {
                "orders": ORDERS,
                "check": {"prog": "check_rows", "params": {"rules": RULES}},
                "good": {"prog": "ignore_errors"},
                "split": {"prog": "split_result"},
                "log": {"prog": "log_errors"},
                "all": {"prog": "collect_errors"},
                "most": {"prog": "assert", "params": {"tolerate": 2}},
            },
            ["orders.out", "check.input"],
            *(["check.main", f"{name}.input"] for name in ("good", "split", "log", "all", "most")),
            ["check.main", "all.input"],
            good="good.main as ndjson",
            ok="split.ok as csv",
            err="split.err as ndjson",
            all="all.main as ndjson",
            most="most.main as csv",
        )
    )
    assert view.flow.run.state == "OK", view.panics
    assert lines(world, view, "good") == [{"id": 1, "amount": 5.0}]
    run = view.flow.run.id
    assert world.extracted(run, "ok") == world.extracted(run, "most") == b"id,amount\n1,5.0\n"
    errors = lines(world, view, "err")
    assert [(one["code"], one["message"], json.loads(one["detail"])) for one in errors] == [
        ("NEGATIVE", "amount >= 0", {"id": 2, "amount": -1.0}),
        ("NO_ID", "id >= 0", {"amount": 3.0}),
    ]
    assert [(one["code"], one["n"]) for one in lines(world, view, "all")] == [("NEGATIVE", 2), ("NO_ID", 2)]
    assert "NEGATIVE: amount >= 0" in caplog.text
    assert "2 error(s)" in caplog.text


def test_an_error_among_results_that_are_asserted_is_a_panic(world: FlowWorld) -> None:
    nodes = {"o": ORDERS, "c": {"prog": "check_rows", "params": {"rules": RULES}}, "a": {"prog": "assert"}}
    view = world.flow(tree(nodes, ["o.out", "c.input"], ["c.main", "a.input"], x="a.main"))
    (panic,) = view.panics
    assert (panic.node, panic.code) == ("a", "ASSERTION")
    assert panic.message.startswith("2 error(s); the first: NEGATIVE: amount >= 0")
    with pytest.raises(FlowRefused, match=r"wanted Table<Result<R>>, got Table<\{id: bigint, amount: double\}>"):
        world.submit(tree({"o": ORDERS, "a": {"prog": "assert"}}, ["o.out", "a.input"], x="a.main"))


def test_the_samples_make_a_first_tree(world: FlowWorld) -> None:
    view = world.flow(
        tree(
            {
                "two": {"prog": "source", "params": {"rows": 2}},
                "names": rows("Table<{name: string, age: int}>", {"name": "Ada", "age": 36}),
                "pairs": {"prog": "unordered_cartesian_product"},
                "hello": {"prog": "greet"},
                "few": {"prog": "semi_join", "params": {"on": ["id"]}},
                "one": rows("Table<{id: bigint}>", {"id": 1}),
                "end": {"prog": "void_sink"},
            },
            ["two.main", "pairs.left"],
            ["names.out", "pairs.right"],
            ["names.out", "hello.input"],
            ["two.main", "few.left"],
            ["one.out", "few.right"],
            ["hello.main", "end.input"],
            pairs="pairs.main as ndjson",
            hello="hello.main as ndjson",
            few="few.main as ndjson",
        )
    )
    assert view.flow.run.state == "OK", view.panics
    ada = {"name": "Ada", "age": 36}
    assert lines(world, view, "pairs") == [{"left": {"id": 0}, "right": ada}, {"left": {"id": 1}, "right": ada}]
    assert lines(world, view, "hello") == [{"greeting": "Hello, Ada!"}]
    assert lines(world, view, "few") == [{"id": 1}]


SECRET = "hush-51c9e2-flow"


def test_a_secret_is_named_in_the_tree_and_its_value_is_in_no_file(
    world: FlowWorld, monkeypatch: pytest.MonkeyPatch, driver: SparkDriver
) -> None:
    handler = AttemptHandler(io.StringIO())
    monkeypatch.setattr(logging.getLogger("pondage.component"), "handlers", [handler])
    logging.getLogger("pondage.component").setLevel(logging.INFO)
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)
    named = {"prog": "login", "params": {"password": "PASSWORD"}}
    view = world.flow(tree({"a": named}, x="a.main as csv"))
    assert world.extracted(view.flow.run.id, "x") == f"n\n{len(SECRET)}\n".encode()
    failed = world.flow(tree({"a": {"prog": "login", "params": {"fails": True}}}, x="a.main"))
    (panic,) = failed.panics
    assert panic.message == "RuntimeError: cannot log in with ***"
    logs = "".join(path.read_text(encoding="utf-8") for path in world.root.rglob("*.log"))
    assert "connecting with ***" in logs
    files = [one for one in [*world.root.rglob("*"), driver.log] if one.is_file() and not one.is_symlink()]
    assert {"ledger.db", "tree.json"} <= {one.name for one in files}
    assert [str(one) for one in files if SECRET.encode() in one.read_bytes()] == []


def test_a_tree_cannot_name_places_of_secrets_or_those_of_other_programs(world: FlowWorld) -> None:
    for given in ("env:SHOP_PASSWORD", "file:/etc/passwd", "hush", "password"):
        with pytest.raises(FlowRefused, match="no secret of the program; declared are: PASSWORD") as caught:
            world.submit(tree({"a": {"prog": "login", "params": {"password": given}}}, x="a.main"))
        (problem,) = caught.value.problems
        assert problem.path == "/nodes/a/params/password"
        assert given not in problem.message
