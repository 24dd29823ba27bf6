"""One thing made wrong in a tree that was right, and the problems that must be reported for it: code and pointer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.plan.flow.random_trees import RandomTree

Found = set[tuple[str, str]]
SINGLE = {"keep": "in", "dedupe": "in", "scan": "in", "external": "in", "unwrap": "in", "lines": "in", "cond": "in"}


def _prog(tree: RandomTree, name: str) -> str:
    return str(tree.nodes[name].get("prog", "")).partition("@")[0]


def _some(tree: RandomTree, fits: Callable[[str], bool]) -> str | None:
    found = [name for name in tree.nodes if fits(name)]
    return tree.dice.choice(found) if found else None


def _readers(tree: RandomTree, end: str) -> int:
    return sum(edge[0] == end for edge in tree.edges) + sum(one["from"] == end for one in tree.extract.values())


def _unused(tree: RandomTree, end: str) -> Found:
    """What is reported for an output when one of its readers goes."""
    one = next(output for output in tree.outputs if output.end == end)
    is_free = one.is_discardable or ".part_" in end or _readers(tree, end) > 1
    return set() if is_free else {("OUTPUT_UNUSED", f"/nodes/{end.partition('.')[0]}")}


def _extracted(tree: RandomTree, node: str, prog: dict[str, Any], port: str = "out") -> None:
    tree.nodes[node] = prog
    tree.extract[f"x_{node}"] = {"from": f"{node}.{port}", "format": "ndjson"}


def unknown_program(tree: RandomTree) -> Found | None:
    name = _some(tree, lambda name: "prog" in tree.nodes[name])
    if name is None:
        return None
    tree.nodes[name]["prog"] = tree.dice.choice(["nonesuch", "rows@2", "dedupe@1.3", "os"])
    return {("UNKNOWN_PROG", f"/nodes/{name}/prog")}


def not_exposed(tree: RandomTree) -> Found | None:
    tree.nodes["hidden"] = {"prog": tree.dice.choice(["secret", "loop"])}
    return {("NOT_EXPOSED", "/nodes/hidden/prog")}


def lost_edge(tree: RandomTree) -> Found | None:
    fitting = [
        edge for edge in tree.edges if SINGLE.get(_prog(tree, edge[1].partition(".")[0])) and edge[1].endswith(".in")
    ]
    if not fitting:
        return None
    edge = tree.dice.choice(fitting)
    found = {("INPUT_SOURCES", f"/nodes/{edge[1].partition('.')[0]}"), *_unused(tree, edge[0])}
    tree.edges.remove(edge)
    return found


def doubled_edge(tree: RandomTree) -> Found | None:
    fitting = [
        edge for edge in tree.edges if SINGLE.get(_prog(tree, edge[1].partition(".")[0])) and edge[1].endswith(".in")
    ]
    if not fitting:
        return None
    tree.edges.append(list(tree.dice.choice(fitting)))
    return {("INPUT_SOURCES", f"/edges/{len(tree.edges) - 1}/1")}


def lost_extract(tree: RandomTree) -> Found | None:
    if not tree.extract:
        return None
    title = tree.dice.choice(list(tree.extract))
    found = _unused(tree, tree.extract[title]["from"])
    del tree.extract[title]
    return found or None


def unknown_port(tree: RandomTree) -> Found | None:
    fitting = [number for number, edge in enumerate(tree.edges) if not edge[0].endswith(".panic")]
    if not fitting:
        return None
    number = tree.dice.choice(fitting)
    edge = tree.edges[number]
    found = {("UNKNOWN_PORT", f"/edges/{number}/0"), *_unused(tree, edge[0])}
    edge[0] = f"{edge[0].partition('.')[0]}.nowhere"
    return found


def unknown_node(tree: RandomTree) -> Found | None:
    tree.edges.append([tree.outputs[0].end, "ghost.in"])
    return {("UNKNOWN_COMPONENT", f"/edges/{len(tree.edges) - 1}/1")}


def wrong_kind(tree: RandomTree) -> Found | None:
    one = tree.one("Table", "Stream", "Value")
    if one is None:
        return None
    _extracted(tree, "parse", {"prog": "lines"})
    tree.edges.append([one.end, "parse.in"])
    return {("TYPE_MISMATCH", f"/edges/{len(tree.edges) - 1}")}


def wrong_rows(tree: RandomTree) -> Found | None:
    tree.nodes["first"] = {"const": {"type": "Table<{a: int}>", "value": []}}
    tree.nodes["second"] = {"const": {"type": "Table<{a: string}>", "value": []}}
    _extracted(tree, "both", {"prog": "pair"})
    tree.edges += [["first.out", "both.left"], ["second.out", "both.right"]]
    return {("TYPE_MISMATCH", f"/edges/{len(tree.edges) - 1}")}


def maybe_null(tree: RandomTree) -> Found | None:
    tree.nodes["nulls"] = {"const": {"type": "Table<{id: bigint, name: string}>", "value": []}}
    _extracted(tree, "sure", {"prog": "strict"})
    tree.edges.append(["nulls.out", "sure.in"])
    return {("TYPE_MISMATCH", f"/edges/{len(tree.edges) - 1}")}


def narrowed(tree: RandomTree) -> Found | None:
    tree.nodes["high"] = {"const": {"type": "Table<{id: decimal(20,0)}>", "value": []}}
    _extracted(tree, "low", {"prog": "wide"})
    tree.edges.append(["high.out", "low.in"])
    return {("TYPE_MISMATCH", f"/edges/{len(tree.edges) - 1}")}


def panic_into_bytes(tree: RandomTree) -> Found | None:
    _extracted(tree, "parse", {"prog": "lines"})
    tree.edges.append([f"{next(iter(tree.nodes))}.panic", "parse.in"])
    return {("TYPE_MISMATCH", f"/edges/{len(tree.edges) - 1}")}


def stop_by_value(tree: RandomTree) -> Found | None:
    tree.nodes["one"] = {"const": {"type": "Value<int>", "value": 1}}
    tree.edges.append(["one.out", f"{next(iter(tree.nodes))}.stop"])
    return {("TYPE_MISMATCH", f"/edges/{len(tree.edges) - 1}")}


def wrong_parameter(tree: RandomTree) -> Found | None:
    name = _some(tree, lambda name: _prog(tree, name) == "rows")
    if name is None:
        return None
    tree.nodes[name]["params"]["columns"]["bad"] = tree.dice.choice(["number(", "Table<{a: int}>", "Nobody@1"])
    return {("PARAMS_SCHEMA", f"/nodes/{name}/params/columns/bad")}


def wrong_constant(tree: RandomTree) -> Found | None:
    tree.nodes["c"] = {
        "const": {"type": "Table<{a: int, b: date}>", "value": [{"a": 1}, {"a": "1"}, {"b": "2026-02-30"}]}
    }
    tree.extract["c"] = {"from": "c.out", "format": "csv"}
    return {("TYPE_MISMATCH", "/nodes/c/const/value/1/a"), ("TYPE_MISMATCH", "/nodes/c/const/value/2/b")}


def wrong_constant_type(tree: RandomTree) -> Found | None:
    text = tree.dice.choice(["Table<{a: }>", "int", "Table<Order@1>", "Table<T>", "__import__('os')"])
    _extracted(tree, "c", {"const": {"type": text, "value": []}})
    return {("SCHEMA", "/nodes/c/const/type")}


def unsure_constant(tree: RandomTree) -> Found | None:
    _extracted(tree, "c", {"const": {"type": "Table<{a: Any}>", "value": []}})
    return {("AMBIGUOUS_TYPE", "/nodes/c/const/type")}


def undetermined(tree: RandomTree) -> Found | None:
    _extracted(tree, "who", {"prog": "maybe"})
    return {("AMBIGUOUS_TYPE", "/nodes/who")}


def circle(tree: RandomTree) -> Found | None:
    tree.nodes |= {"round": {"prog": "merge"}, "about": {"prog": "merge"}}
    tree.edges += [["about.out", "round.in"], ["round.out", "about.in"]]
    return {("CYCLE_DETECTED", f"/edges/{len(tree.edges) - 2}")}


def unknown_location(tree: RandomTree) -> Found | None:
    _extracted(tree, "rd", {"prog": "reader", "params": {"location": "nowhere", "file": "a.csv"}})
    return {("UNKNOWN_LOCATION", "/nodes/rd/params/location")}


def bad_file(tree: RandomTree) -> Found | None:
    file = tree.dice.choice(
        ["../a", "/etc/passwd", "a/../../b", "s3a://x/y", "a//b", ".hidden", "*", "a\n", "a\\b", ""]
    )
    _extracted(tree, "rd", {"prog": "reader", "params": {"location": "landing", "file": file}})
    return {("PARAMS_SCHEMA", "/nodes/rd/params/file")}


def a_path(tree: RandomTree) -> Found | None:
    _extracted(tree, "rd", {"prog": "reader", "params": {"path": "data.csv"}})
    return {("PARAMS_SCHEMA", "/nodes/rd/params/path")}


def an_element(tree: RandomTree) -> Found | None:
    tree.nodes["where"] = {"const": {"type": "Value<{location: string, file: string}>",
                                     "value": {"location": "/etc", "file": "passwd"}}}  # fmt: skip
    _extracted(tree, "rd", {"prog": "element"})
    tree.edges.append(["where.out", "rd.in"])
    return {("UNKNOWN_PORT", f"/edges/{len(tree.edges) - 1}/1")}


def bad_expression(tree: RandomTree) -> Found | None:
    tree.nodes["t"] = {"const": {"type": "Table<{a: int}>", "value": []}}
    text = tree.dice.choice(["__import__('os')", "a.b.c()", "9 ** 9", "[a for a in b]", "a; b", "lambda: 1"])
    _extracted(tree, "bad", {"prog": "cond", "params": {"where": text}})
    tree.edges.append(["t.out", "bad.in"])
    return {("EXPR_SYNTAX", "/nodes/bad/params/where")}


def bad_format(tree: RandomTree) -> Found | None:
    tree.nodes["t"] = {"const": {"type": "Table<{a: array<int>}>", "value": []}}
    tree.extract["t"] = {"from": "t.out", "format": tree.dice.choice(["bytes", "csv"])}
    return {("TYPE_MISMATCH", "/extract/t/format")}


def strange_key(tree: RandomTree) -> Found | None:
    name = tree.dice.choice(list(tree.nodes))
    tree.nodes[name]["__class__"] = "object"
    return {("SCHEMA", f"/nodes/{name}")}


def long_text(tree: RandomTree) -> Found | None:
    _extracted(tree, "rd", {"prog": "reader", "params": {"location": "x" * 10_001, "file": "a.csv"}})
    return {("LIMIT", "/nodes/rd/params/location")}


MUTATIONS = (
    unknown_program, not_exposed, lost_edge, doubled_edge, lost_extract, unknown_port, unknown_node, wrong_kind,
    wrong_rows, maybe_null, narrowed, panic_into_bytes, stop_by_value, wrong_parameter, wrong_constant,
    wrong_constant_type, unsure_constant, undetermined, circle, unknown_location, bad_file, a_path, an_element,
    bad_expression, bad_format, strange_key, long_text,
)  # fmt: skip
