import assert from "node:assert/strict";
import { test } from "node:test";
import { began, redone, stepped, undone } from "../src/pages/flows/history";
import { inLine, parsed, printed, Written } from "../src/pages/flows/json";
import { ACROSS, aligned, arranged, completed, freePlace, heightOf, WIDTH } from "../src/pages/flows/places";
import { portsOf, type Programs } from "../src/pages/flows/ports";
import { below, placedProblems, pointerTo } from "../src/pages/flows/problems";
import { cellText, cellValue, columnsOf, typeOfColumns } from "../src/pages/flows/rows";
import {
  connected,
  EMPTY,
  freeName,
  partOf,
  pasted,
  renamed,
  textOf,
  treeOf,
  withNode,
  withoutEdges,
  withoutNodes,
  withParam,
  type Tree,
} from "../src/pages/flows/tree";
import type { KnownComponent } from "../src/types";

const TEXT = `{"version": 1,
 "nodes": {
   "orders": {"const": {"type": "Table<{id: bigint}>", "value": [{"id": 9007199254740993}, {"id": 1.0}]}},
   "big": {"prog": "split@1", "params": {"where": "id > 100"}},
   "rest": {"prog": "void_sink@1"}},
 "edges": [["orders.out", "big.input", {"max_in_flight_rows": 1000}], ["big.reject", "rest.input"]],
 "extract": {"big": {"from": "big.main", "format": "csv"}},
 "limits": {"timeout_s": 60}}`;

function tree(text = TEXT): Tree {
  const found = treeOf(text);
  if (typeof found === "string") throw new Error(found);
  return found;
}

function component(name: string, change: object): KnownComponent {
  return { name, version: "1.0.0", inputs: {}, outputs: {}, ...change } as unknown as KnownComponent;
}

const PROGRAMS: Programs = new Map([
  ["split", component("split", { inputs: { input: {} }, outputs: { main: {}, reject: { type: "Table<Any>" } } })],
  ["void_sink", component("void_sink", { inputs: { input: { type: "Any", multi: true }, from: { job_only: true } } })],
  ["mix", component("mix", { inputs: { "side_*": { type: "Table<R>" } } })],
]);

test("a text and its tree are the same, both ways, with numbers that JavaScript cannot hold", () => {
  const once = textOf(tree());
  assert.equal(textOf(tree(once)), once);
  assert.ok(once.includes("9007199254740993") && once.includes("1.0"));
  assert.deepEqual(JSON.parse(once), JSON.parse(TEXT));
  assert.equal(textOf(tree(textOf(EMPTY))), textOf(EMPTY));
});

test("what is no tree says why and loses nothing by being drawn", () => {
  assert.equal(treeOf('{"nodes": {"a": 1}}'), "“nodes” names programs and constants");
  assert.equal(treeOf('{"nodes": {}, "edges": [["a.b"]]}'), "“edges” is a list of [from, to]");
  assert.equal(treeOf('{"nodes": {}, "edges": [["ab", "c.d"]]}'), "“edges” is a list of [from, to]");
  assert.equal(treeOf('{"extract": {"x": {"from": "a.b"}}}'), "“extract” names outputs");
  assert.equal(treeOf('{\n"nodes": {]}'), "line 2 is no JSON");
  assert.equal(treeOf('{"nodes": {"a": {"prog": "b"}, "a": {"prog": "c"}}}'), "the key “a” stands twice in one object");
  assert.equal(treeOf("[1]"), "a tree is an object");
});

test("JSON is read as written", () => {
  const text = '{"a": [1, -2.50, true, null, "ü\\n\\"", {}], "__proto__": {"b": []}}';
  assert.equal(inLine(parsed(text)), '{"a": [1, -2.50, true, null, "ü\\n\\"", {}], "__proto__": {"b": []}}');
  assert.ok(parsed("1e400") instanceof Written);
  for (const wrong of ["", "{", "[1,]", '{"a" 1}', "01", "1 2", '"\n"', "nul"]) {
    assert.throws(() => parsed(wrong), SyntaxError, wrong);
  }
  assert.equal(printed(parsed('{"a": [1, 2], "b": 3}'), "", 12), '{\n  "a": [\n    1,\n    2\n  ],\n  "b": 3\n}');
});

test("a node that is renamed keeps its edges and extracts, one that goes takes them along", () => {
  const other = renamed(tree(), "big", "large");
  assert.deepEqual(Object.keys(other.nodes), ["orders", "large", "rest"]);
  assert.deepEqual(other.edges[0]?.slice(0, 2), ["orders.out", "large.input"]);
  assert.equal(inLine(other.edges[0]?.[2] ?? null), '{"max_in_flight_rows": 1000}');
  assert.equal(other.extract.big?.from, "large.main");
  const left = withoutNodes(tree(), new Set(["big"]));
  assert.deepEqual([left.edges, left.extract], [[], {}]);
  assert.deepEqual(left.rest.limits, { timeout_s: 60 });
});

test("edges are made once and taken away by their ends", () => {
  const twice = connected(connected(tree(), "big.main", "rest.input"), "big.main", "rest.input");
  assert.equal(twice.edges.length, 3);
  assert.equal(withoutEdges(twice, new Set(["big.main rest.input"])).edges.length, 2);
});

test("a parameter that is taken out leaves no empty object", () => {
  assert.deepEqual(withParam(tree(), "big", "where", undefined).nodes.big, { prog: "split@1" });
  assert.deepEqual(withParam(tree(), "rest", "n", 3).nodes.rest, { prog: "void_sink@1", params: { n: 3 } });
  const same = tree();
  assert.equal(withParam(same, "orders", "n", 3), same);
});

test("what is copied comes back under free names with the edges inside of it", () => {
  const part = partOf(tree(), new Set(["big", "rest"]));
  assert.equal(part.edges.length, 1);
  const { tree: both, names } = pasted(pasted(tree(), part).tree, part);
  assert.deepEqual(
    [...names],
    [
      ["big", "big_3"],
      ["rest", "rest_3"],
    ],
  );
  assert.deepEqual(both.edges.at(-1), ["big_3.reject", "rest_3.input"]);
  assert.equal(freeName({ a_2: 1, a: 1 }, "a_2"), "a_3");
  assert.equal(freeName({}, "9 lives"), "lives");
});

test("steps of one kind are one step, and what is undone can be done again until something else is", () => {
  let history = stepped(stepped(stepped(began("a"), "ab", "text"), "abc", "text"), "x");
  assert.equal(undone(history).now, "abc");
  assert.equal(undone(undone(history)).now, "a");
  assert.equal(undone(undone(undone(history))).now, "a");
  history = redone(undone(undone(history)));
  assert.equal(history.now, "abc");
  history = stepped(history, "y", "text");
  assert.deepEqual([redone(history).now, undone(history).now], ["y", "abc"]);
});

test("a node has the ports of its program, those that edges name, and panic and stop", () => {
  let with_mix = withNode(tree(), "mix", { prog: "mix@1" });
  with_mix = connected(connected(with_mix, "big.main", "mix.side_1"), "big.nowhere", "rest.stop");
  const ports = portsOf(with_mix, PROGRAMS);
  const names = (node: string, side: "inputs" | "outputs") => ports.get(node)?.[side].map((each) => each.name);
  assert.deepEqual(names("big", "outputs"), ["main", "reject", "nowhere", "panic"]);
  assert.equal(ports.get("big")?.outputs[2]?.isUnknown, true);
  assert.deepEqual(names("mix", "inputs"), ["side_1", "side_2", "stop"]);
  assert.deepEqual(names("rest", "inputs"), ["input", "stop"]);
  assert.equal(ports.get("orders")?.outputs[0]?.declared, "Table<{id: bigint}>");
  assert.equal(ports.get("big")?.inputs[0]?.declared, "Table<Any>");
});

test("nodes are arranged from left to right without covering each other", () => {
  const ports = portsOf(tree(), PROGRAMS);
  const places = arranged(tree(), ports);
  assert.ok((places.orders?.x ?? 0) < (places.big?.x ?? 0) && (places.big?.x ?? 0) < (places.rest?.x ?? 0));
  const more = withNode(tree(), "more", { prog: "split@1" });
  const found = completed(places, more, portsOf(more, PROGRAMS));
  assert.equal(found.big, places.big);
  assert.ok((found.more?.y ?? 0) >= heightOf(ports.get("orders")));
  assert.deepEqual(Object.keys(completed(found, tree(), ports)), ["orders", "big", "rest"]);
  assert.equal(completed(places, tree(), ports), places);
  const free = freePlace(places, { x: places.big?.x ?? 0, y: 0 }, "new", ports);
  assert.ok(free.y > 0 && free.x === places.big?.x);
  assert.equal(aligned(places, ["big", "rest"], "x").rest?.x, WIDTH + ACROSS);
});

test("a hundred nodes are arranged at once", () => {
  let many = EMPTY;
  for (let at = 0; at < 100; at += 1) {
    many = withNode(many, `n${at}`, { prog: "split@1" });
    if (at > 0) many = connected(many, `n${Math.floor((at - 1) / 2)}.main`, `n${at}.input`);
  }
  const began_at = performance.now();
  const places = Object.values(arranged(many, portsOf(many, PROGRAMS)));
  assert.ok(performance.now() - began_at < 500);
  assert.equal(new Set(places.map(({ x, y }) => `${x} ${y}`)).size, 100);
});

test("problems are put at the node, edge or extract that they point to", () => {
  const problem = (pointer: string) => ({ code: "X", pointer, message: pointer });
  const list = ["/nodes/big/params/where", "/edges/1/0", "/extract/big/format", "", "/edges/9"].map(problem);
  const placed = placedProblems(list, tree());
  assert.deepEqual([...placed.nodes.keys()], ["big"]);
  assert.deepEqual([...placed.edges.keys()], ["big.reject rest.input"]);
  assert.deepEqual([...placed.extracts.keys()], ["big"]);
  assert.equal(below(list, pointerTo("/nodes", "big", "params")).length, 1);
  assert.equal(pointerTo("/nodes", "a/b~"), "/nodes/a~1b~0");
});

test("the columns of a type are told apart by commas outside of everything", () => {
  const type = "Table<{id: bigint not null, at: map<string, decimal(9,2)>, `odd, name`: {a: int}}>";
  const columns = columnsOf(type);
  assert.deepEqual(
    columns?.map((each) => each.name),
    ["id", "at", "odd, name"],
  );
  assert.equal(typeOfColumns(columns ?? []), type);
  assert.deepEqual([columnsOf("Table<{}>"), columnsOf("Value<int>"), columnsOf("Table<Any>")], [[], null, null]);
});

test("a cell becomes a value of its type, and what does not fit stays to be seen", () => {
  assert.deepEqual(
    ["", "x", "1"].map((text) => cellValue(text, "string not null")),
    ["", "x", "1"],
  );
  assert.deepEqual(
    ["", "12", "many"].map((text) => cellValue(text, "bigint")),
    [null, 12, "many"],
  );
  assert.equal(cellValue("1.50", "double"), 1.5);
  assert.equal(cellText(cellValue("9007199254740993", "bigint")), "9007199254740993");
  assert.equal(cellValue("9.90", "decimal(9,2)"), "9.90");
  assert.deepEqual([cellText(null), cellText("a"), cellText(true), cellText([1])], ["", "a", "true", "[1]"]);
});
