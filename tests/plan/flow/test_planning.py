"""What a tree becomes: the shape of its plan, the types on its edges, and how the control machine plays it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from pondage.define.job.flow import FlowRefused
from pondage.define.types.port import Port
from pondage.define.types.type_registry import BUILT_IN, TypeEntry
from pondage.kernel.control.effects import Run
from pondage.kernel.control.events import Start
from pondage.kernel.control.shape import EdgeKind, JobPlan
from pondage.kernel.control.state import JobState, State
from pondage.plan.flow.planner import plan_flow
from pondage.project.tree import load_tree, tree_schema
from pondage.simulate.control_drive import Ending, Play, play
from pondage.simulate.control_virtual import VirtualControlHost
from tests.plan.flow.programs import LOCATIONS, PROGRAMS, planned

ROWS = {"prog": "rows", "params": {"columns": {"id": "bigint", "name": "string"}}}


def tree(nodes: dict[str, Any], *edges: list[Any], **extract: str) -> dict[str, Any]:
    taken = {title: {"from": end, "format": "arrow"} for title, end in extract.items()}
    return {"version": 1, "nodes": nodes, "edges": list(edges), "extract": taken}


def named(plan: JobPlan, number: int) -> str:
    return plan.components[number].name


def refused(document: object) -> list[tuple[str, str | None]]:
    with pytest.raises(FlowRefused) as caught:
        planned(document)
    return [(problem.code, problem.path) for problem in caught.value.problems]


def test_a_flow_is_a_job_that_ends_with_the_first_panic_and_lets_every_node_start() -> None:
    document = tree({"a": ROWS, "b": {"prog": "keep"}}, ["a.out", "b.in"], x="b.out")
    document["limits"] = {"timeout_s": 60, "max_in_flight_rows": 5}
    plan = planned(document).plan
    assert plan.config.on_component_error == "abort"
    assert (plan.config.timeout_s, plan.config.max_in_flight_rows) == (60, 5)
    assert all(one.startable and one.die_on_error for one in plan.components)
    assert plan.control == ()
    assert plan.outputs == {"x": ("b", "out")}


def test_a_second_reader_is_a_tee() -> None:
    plan = planned(
        tree({"a": ROWS, "b": {"prog": "keep"}, "c": {"prog": "keep"}}, ["a.out", "b.in"], ["a.out", "c.in"],
             x="b.out", y="c.out", z="a.out")
    ).plan  # fmt: skip
    assert [(named(plan, data.source), named(plan, data.target)) for data in plan.data] == [("a", "b"), ("a", "c")]


def test_a_constant_is_a_component_with_its_value() -> None:
    const = {"type": "Table<{a: int}>", "value": [{"a": 1}]}
    plan = planned(tree({"c": {"const": const}}, x="c.out")).plan
    found = plan.components[0]
    assert (found.type, {key: found.params[key] for key in const}) == ("const", const)


def test_only_stream_to_stream_is_a_stream_edge_and_an_edge_has_its_limits() -> None:
    flow = planned(
        tree({"t": {"prog": "ticks"}, "s": {"prog": "scan"}, "k": {"prog": "keep"}, "again": {"prog": "scan"}},
             ["t.out", "s.in", {"max_in_flight_rows": 9}], ["s.out", "k.in"], ["k.out", "again.in"], x="again.out")
    )  # fmt: skip
    assert [edge.is_stream for edge in flow.edges] == [True, False, False]
    assert [edge.type.partition("<")[0] for edge in flow.edges] == ["Stream", "Stream", "Table"]
    assert [data.max_in_flight_rows for data in flow.plan.data] == [9, None, None]


def test_an_edge_from_panic_is_an_error_edge_with_a_row() -> None:
    flow = planned(tree({"a": ROWS, "h": {"prog": "handle"}}, ["a.panic", "h.in"], x="a.out"))
    plan = flow.plan
    assert [(edge.kind, named(plan, edge.source), named(plan, edge.target)) for edge in plan.control] == [
        (EdgeKind.ERROR, "a", "h")
    ]
    assert [data.is_panic for data in plan.data] == [True]
    assert flow.edges[0].type.startswith("Table<{node: string, attempt: int, code: string")


def test_an_edge_into_stop_is_outside_of_the_graph_so_that_a_consumer_may_stop_its_source() -> None:
    plan = planned(
        tree({"t": {"prog": "ticks"}, "s": {"prog": "scan"}}, ["t.out", "s.in"], ["s.out", "t.stop"])
    ).plan  # fmt: skip
    assert [(named(plan, data.source), named(plan, data.target), data.target_port) for data in plan.stops] == [
        ("s", "t", "stop")
    ]
    assert len(plan.data) == 1


@pytest.mark.parametrize(
    ("more", "extract"),
    [
        ([["b.panic", "h.in"]], {}),
        ([["c.out", "b.stop"]], {}),
        ([["b.out", "a.stop"]], {}),
        ([], {"y": "b.out"}),
    ],
)
def test_whoever_is_wired_to_panic_or_stop_or_extracted_is_no_inner_member_of_a_group(
    more: list[list[str]], extract: dict[str, str]
) -> None:
    nodes = {"a": ROWS, "b": {"prog": "keep"}, "c": {"prog": "keep"}}
    edges = [["a.out", "b.in"], ["b.out", "c.in"]]
    assert [len(group) for group in planned(tree(nodes, *edges, x="c.out")).plan.groups] == [3]
    handler = {"h": {"prog": "handle"}} if more and more[0][1] == "h.in" else {}
    plan = planned(tree({**nodes, **handler}, *edges, *more, x="c.out", **extract)).plan
    inner = {named(plan, at) for group in plan.groups for at in group[:-1]}
    assert "b" not in inner


def test_ports_of_a_wild_card_are_made_of_the_edges_and_stand_in_natural_order() -> None:
    nodes = {"a": ROWS, "g": {"prog": "gather"}}
    flow = planned(tree(nodes, ["a.out", "g.part_10"], ["a.out", "g.part_2"], x="g.out"))
    gather = next(one for one in flow.plan.components if one.name == "g")
    assert [port.name for port in gather.ports] == ["part_2", "part_10"]
    assert refused(tree({"a": ROWS, "g": {"prog": "gather"}}, x="g.out", y="a.out")) == [("INPUT_SOURCES", "/nodes/g")]


def test_a_location_becomes_what_it_stands_for_and_the_file_stays_below_it() -> None:
    reader = {"prog": "reader", "params": {"location": "landing", "file": "2026/a.csv"}}
    plan = planned(tree({"r": reader}, x="r.out")).plan
    assert plan.components[0].params == {"location": LOCATIONS["landing"], "file": "2026/a.csv"}


def test_what_only_spark_can_tell_is_unresolved_and_no_error() -> None:
    nodes = {"a": ROWS, "g": {"prog": "guess"}, "d": {"prog": "dedupe"}}
    flow = planned(tree(nodes, ["a.out", "g.in"], ["g.out", "d.in"], x="d.out"))
    assert flow.unresolved == ("g.out", "d.out")
    assert flow.edges[1].type == "infer"


def test_a_named_type_is_met_by_its_name_and_seen_through_by_generic_programs() -> None:
    order = TypeEntry(name="Order", version="2.1.0", definition="{id: bigint, who: string}")
    document = tree(
        {"c": {"const": {"type": "Table<Order@2>", "value": [{"id": 1}]}}, "d": {"prog": "dedupe"},
         "k": {"prog": "keep"}},
        ["c.out", "d.in"], ["c.out", "k.in"], x="d.out", y="k.out",
    )  # fmt: skip
    found = load_tree(json.dumps(document)).tree
    assert found is not None
    flow = plan_flow(found, PROGRAMS, types={**BUILT_IN, order.key: order})
    assert flow.extract_types == {"x": "Table<{id: bigint, who: string}>", "y": "Table<Order@2>"}


def test_what_an_external_program_must_give_is_in_the_plan_with_every_name_and_variable_put_in() -> None:
    order = TypeEntry(name="Order", version="2.1.0", definition="{id: bigint, who: string}")
    outputs = {"out": Port("Stream<{id: bigint | R}>"), "more": Port("Table<{order: Order@2, n: int}>")}
    outside = msgspec.structs.replace(PROGRAMS["external"], command=("true",), outputs=outputs)
    document = tree(
        {"c": {"const": {"type": "Table<Order@2>", "value": []}}, "e": {"prog": "external"}, "k": {"prog": "keep"}},
        ["c.out", "e.in"], ["e.out", "k.in"], x="e.more", y="k.out",
    )  # fmt: skip
    found = load_tree(json.dumps(document)).tree
    assert found is not None
    plan = plan_flow(found, {**PROGRAMS, "external": outside}, types={**BUILT_IN, order.key: order}).plan
    (gives,) = [one.gives for one in plan.components if one.gives]
    assert gives == {
        "more": "Table<{order: {id: bigint, who: string}, n: int}>",
        "out": "Stream<{id: bigint, who: string}>",
    }
    (read_whole,) = [data.type for data in plan.data if data.type]
    assert read_whole == gives["out"], "also without any segment its columns are known"


def test_equal_trees_have_equal_hashes_and_any_change_another() -> None:
    nodes = {"a": ROWS, "b": {"prog": "keep"}}
    one = planned(tree(nodes, ["a.out", "b.in"], x="b.out")).plan.hash
    assert planned(tree(nodes, ["a.out", "b.in"], x="b.out")).plan.hash == one
    assert planned(tree(nodes, ["a.out", "b.in"], y="b.out")).plan.hash != one
    assert planned(tree(nodes, ["a.out", "b.in"], ["b.out", "a.stop"], x="b.out")).plan.hash != one
    assert planned(tree({"a": ROWS, "c": {"prog": "keep"}}, ["a.out", "c.in"], x="c.out")).plan.hash != one


def test_everything_that_is_wrong_is_said_at_once_in_the_order_of_pointers() -> None:
    found = refused(
        tree(
            {"a": {"prog": "rows"}, "b": {"prog": "secret"}, "c": {"prog": "lines"}, "d": ROWS},
            ["d.out", "c.in"], ["ghost.out", "c.nowhere"], x="c.out", y="a.out",
        )
    )  # fmt: skip
    assert found == [
        ("TYPE_MISMATCH", "/edges/0"),
        ("UNKNOWN_COMPONENT", "/edges/1/0"),
        ("UNKNOWN_PORT", "/edges/1/1"),
        ("PARAMS_SCHEMA", "/nodes/a/params"),
        ("NOT_EXPOSED", "/nodes/b/prog"),
    ]


def test_a_clash_shows_both_types_and_every_difference() -> None:
    document = tree({"a": ROWS, "s": {"prog": "strict"}}, ["a.out", "s.in"])
    document["extract"] = {"x": {"from": "s.out", "format": "ndjson"}}
    with pytest.raises(FlowRefused) as caught:
        planned(document)
    clash = caught.value.problems[0].clash
    assert clash is not None
    assert (clash.edge, clash.want, clash.got, clash.diff) == (
        "a.out -> s.in",
        "Table<{id: bigint not null, name: string}>",
        "Table<{id: bigint, name: string}>",
        ("id: it may be null, and is wanted not null",),
    )


def test_the_limits_of_the_published_schema_are_those_of_the_loader() -> None:
    properties = tree_schema()["properties"]
    assert properties["nodes"]["maxProperties"] == 500
    assert properties["edges"]["maxItems"] == 2_000


def played(document: object, fails: set[str], *, is_fused: bool = True) -> tuple[Play, dict[str, State]]:
    host = VirtualControlHost()
    plan = planned(document, fuses=is_fused).plan

    def behave(instance: str, _attempt: int) -> Ending:
        return Ending(raises="broken", code="BROKEN") if instance in fails else Ending()

    return play(host, plan, behave, start=Start(second=1)), dict(host.states())


HANDLED = tree(
    {"a": ROWS, "b": {"prog": "keep"}, "h": {"prog": "handle"}, "i": {"prog": "handle"}},
    ["a.out", "b.in"], ["a.panic", "h.in"], ["b.panic", "h.in"], ["h.out", "i.in"], x="b.out",
)  # fmt: skip


@pytest.mark.parametrize("is_fused", [True, False])
def test_a_panic_that_is_wired_is_handled_and_its_row_is_the_handlers_input(is_fused: bool) -> None:
    run, states = played(HANDLED, {"b"}, is_fused=is_fused)
    assert run.state is JobState.OK
    assert states == {"a": State.OK, "b": State.ERROR, "h": State.OK, "i": State.OK}
    started = next(effect for _, effect in run.effects if isinstance(effect, Run) and effect.instance == "h")
    assert [(source.instance, source.port) for source in started.inputs["in"]] == [("b", "panic")]


def test_a_handler_is_skipped_when_nothing_fails() -> None:
    run, states = played(HANDLED, set())
    assert run.state is JobState.OK
    assert states == {"a": State.OK, "b": State.OK, "h": State.SKIPPED, "i": State.SKIPPED}


def test_a_handler_that_fails_handles_nothing_and_a_panic_that_nobody_handles_ends_the_flow() -> None:
    run, _ = played(HANDLED, {"b", "h"})
    assert (run.state, run.code) == (JobState.ERROR, "PANIC")
    run, states = played(tree({"a": ROWS, "b": {"prog": "keep"}}, ["a.out", "b.in"], x="b.out"), {"a"}, is_fused=False)
    assert (run.state, run.code) == (JobState.ERROR, "PANIC")
    assert states["b"] is State.SKIPPED


def test_a_stop_edge_delays_no_start() -> None:
    document = tree({"t": {"prog": "ticks"}, "s": {"prog": "scan"}}, ["t.out", "s.in"], ["s.out", "t.stop"])
    run, states = played(document, set())
    assert run.state is JobState.OK
    assert states == {"t": State.OK, "s": State.OK}


def test_a_format_is_looked_at_also_in_a_list_whose_elements_differ() -> None:
    pair = {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string", "format": "path"}]}
    reads = msgspec.structs.replace(
        PROGRAMS["rows"], name="pairs", params={"type": "object", "properties": {"pair": pair}}
    )
    document = tree({"a": {"prog": "pairs", "params": {"pair": [1, "/etc/passwd"]}}}, x="a.out")
    loaded = load_tree(json.dumps(document).encode())
    assert loaded.tree is not None
    with pytest.raises(FlowRefused) as caught:
        plan_flow(loaded.tree, {**PROGRAMS, "pairs": reads}, locations=LOCATIONS)
    assert ("PARAMS_SCHEMA", "/nodes/a/params/pair/1") in [(one.code, one.path) for one in caught.value.problems]
