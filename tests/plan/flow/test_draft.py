"""A tree that is being built: what is known of it before it is whole, and what may be connected."""

from __future__ import annotations

import json

from pondage.components.registry import built_in, built_in_schemas
from pondage.define.job.flow import Tree
from pondage.plan.flow.draft import Draft, draft
from pondage.project.tree import load_tree


def tree(nodes: dict[str, object], edges: list[list[str]]) -> Tree:
    loaded = load_tree(json.dumps({"version": 1, "nodes": nodes, "edges": edges}))
    assert loaded.tree is not None, loaded.problems
    return loaded.tree


def rows(type_: str) -> dict[str, object]:
    return {"const": {"type": f"Table<{type_}>", "value": []}}


def drafted(nodes: dict[str, object], *edges: list[str], port: str = "") -> Draft:
    return draft(tree(nodes, list(edges)), built_in(), port=port, schemas=built_in_schemas())


ORDERS = rows("{id: bigint, region: string}")


def test_a_generic_output_shows_what_it_became_though_nobody_reads_it() -> None:
    found = drafted(
        {"orders": ORDERS, "big": {"prog": "split", "params": {"where": "id > 1"}}}, ["orders.out", "big.input"]
    )
    assert found.types["big.reject"] == found.types["orders.out"] == "Table<{id: bigint, region: string}>"


def test_what_lacks_an_input_gives_what_its_program_declares() -> None:
    found = drafted({"big": {"prog": "split", "params": {"where": "id > 1"}}})
    assert found.types.get("big.main", "Table<Any>") == "Table<Any>"


def test_an_input_of_another_type_is_refused_with_both_types() -> None:
    nodes = {"ids": rows("{id: bigint}"), "hello": {"prog": "greet"}, "people": rows("{name: string, age: int}")}
    refused = drafted(nodes, port="ids.out").fits["hello.input"]
    assert (refused.got, refused.want) == ("Table<{id: bigint}>", "Table<{name: string | R}>")
    assert "the column is missing" in refused.why
    assert drafted(nodes, port="people.out").fits["hello.input"].why == ""


def test_from_an_input_backwards_the_outputs_are_told() -> None:
    nodes = {"ids": rows("{id: bigint}"), "hello": {"prog": "greet"}, "people": rows("{name: string}")}
    fits = drafted(nodes, port="hello.input").fits
    assert [name for name, fit in fits.items() if not fit.why] == ["people.out"]


def test_an_input_with_a_source_is_taken_and_data_never_waits_for_itself() -> None:
    nodes = {"orders": ORDERS, "one": {"prog": "select", "params": {"columns": ["id"]}}, "all": {"prog": "union"}}
    edges = (["orders.out", "one.input"], ["one.main", "all.input"])
    fits = drafted(nodes, *edges, port="all.main").fits
    assert "takes one source" in fits["one.input"].why
    assert "wait for itself" in fits["all.input"].why
    assert fits["one.stop"].why == ""
    assert drafted(nodes, *edges, port="orders.out").fits["all.input"].why == ""


def test_a_panic_is_a_port_like_others() -> None:
    nodes = {"orders": ORDERS, "all": {"prog": "union"}, "hello": {"prog": "greet"}}
    fits = drafted(nodes, port="orders.panic").fits
    assert fits["all.input"].why == ""
    assert "name: the column is missing" in fits["hello.input"].why


def test_a_second_input_sees_what_the_first_has_made_of_a_variable() -> None:
    result = "Result<{id: bigint}>"
    nodes = {
        "checked": rows(result),
        "others": rows("Result<{name: string}>"),
        "bad": {"prog": "collect_errors"},
    }
    fits = drafted(nodes, ["checked.out", "bad.input"], port="others.out").fits
    assert "is {id: bigint} and also {name: string}" in fits["bad.input"].why
