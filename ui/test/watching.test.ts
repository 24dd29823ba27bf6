import assert from "node:assert/strict";
import { test } from "node:test";
import { rangeOf } from "../src/pages/flows/position";
import { quantile } from "../src/pages/reactors/histogram";
import { causeText } from "../src/parts/job/causes";
import { columnsText, placed } from "../src/parts/job/graph";
import { marksOf } from "../src/parts/scale";
import { flowing, flowingLines } from "../src/parts/job/flowing";
import { lanesOf } from "../src/pages/timeline/lanes";
import type { Span, StreamView, TimelineView } from "../src/types";

test("a cause is told in words, and an unknown one as it is", () => {
  assert.equal(causeText("DATA_STARVED(input)"), "nothing came to its input “input”");
  assert.equal(causeText("CONDITION_FALSE(check,if1)"), "the condition if1 of check was false");
  assert.equal(causeText("the disk is full"), "the disk is full");
  assert.equal(causeText("NEW_ONE(x)"), "NEW_ONE(x)");
});

test("a component stands behind everything that leads to it, and a stop delays nothing", () => {
  const node = (name: string) => ({ name, type: "task", subjob: "", of: "" });
  const edge = (source: string, target: string, kind = "data") => ({ source, target, kind, label: "", type: "" });
  const nodes = placed({
    nodes: ["a", "b", "c", "d"].map(node),
    edges: [edge("a", "b"), edge("b", "c"), edge("a", "c"), edge("c", "a", "stop")],
  });
  const x = Object.fromEntries(nodes.map((each) => [each.name, each.x]));
  assert.ok(x.a === 0 && x.a === x.d && (x.b ?? 0) > 0 && (x.c ?? 0) > (x.b ?? 0));
});

test("of a table its columns are shown, whatever they are made of", () => {
  assert.equal(columnsText("Table<{id: bigint, tags: map<string, array<int>>, at: date}>"), "id, tags, at");
  assert.equal(columnsText("Stream<Result<{id: bigint}>>"), "id or why not");
  assert.equal(columnsText("Value<int>"), "Value<int>");
});

test("a scale has few round marks inside of it", () => {
  const marks = marksOf(0, 3_600_000_000);
  assert.ok(marks.length >= 3 && marks.length <= 8);
  assert.ok(marks.every((at) => at >= 0 && at < 3_600_000_000));
});

test("lanes that are busy come first, then those that were busy last", () => {
  const span = (lane: string, start: number, end: number | null): Span => ({
    lane,
    kind: "pond",
    id: lane,
    state: "completed",
    start,
    end,
    number: 1,
    reason: "",
  });
  const view: TimelineView = {
    environment: "main",
    at: 9,
    since: 0,
    until: 10,
    moments: [],
    has_more: false,
    spans: [span("old", 1, 2), span("new", 3, 8), span("open", 2, null)],
    coming: [
      { lane: "old", at: 11, text: "" },
      { lane: "never", at: 12, text: "" },
    ],
  };
  assert.deepEqual(
    lanesOf(view, [], "").map((lane) => lane.name),
    ["open", "new", "old"],
  );
  assert.deepEqual(
    lanesOf(view, [], "OL").map((lane) => [lane.name, lane.coming]),
    [["old", [11]]],
  );
  assert.deepEqual(
    lanesOf(view, [{ lane: "planned", start: 1, end: 2 }], "pl").map((lane) => lane.name),
    ["planned"],
  );
});

test("a share of all fires is within the end of its bucket, and never above the longest", () => {
  const latency = { bounds_us: [100, 1000], counts: [98, 1, 1], longest_us: 7000 };
  assert.deepEqual(
    [0.5, 0.99, 1].map((share) => quantile(latency, share)),
    [100, 1000, 7000],
  );
});

test("a pointer leads to its place in the text, or to the nearest that is there", () => {
  const text = '{\n  "nodes": {"a": {"prog": "x"}},\n  "edges": [\n    ["a.main", "b.in"],\n    ["c/d", "e"]\n  ]\n}';
  const shown = (pointer: string) => {
    const range = rangeOf(text, pointer);
    return range === null ? null : [range.line, text.slice(range.start, range.end)];
  };
  assert.deepEqual(shown("/edges/1"), [5, '["c/d", "e"]']);
  assert.deepEqual(shown("/nodes/a/prog"), [2, '"prog": "x"']);
  assert.deepEqual(shown("/nodes/missing"), [2, '{"a": {"prog": "x"}}']);
  assert.equal(shown("")?.[0], 1);
  assert.equal(rangeOf("{oops", "/a"), null);
});

test("what flows over an edge of a plan is that of all instances of its ends", () => {
  const stream = (component: string, more: Partial<StreamView> = {}): StreamView => ({
    component,
    port: "out",
    state: "ended",
    segments: 2,
    rows: 10,
    bytes: 100,
    readers: [{ component: "b", port: "in", read: 2, waits: "", error: null }],
    ...more,
  });
  const flows = flowing([
    stream("a"),
    stream("each[#0]"),
    stream("each[#1]", { state: "open" }),
    stream("b", { readers: [] }),
  ]);
  assert.deepEqual([...flows.keys()], ["a.out b.in", "each.out b.in"]);
  assert.deepEqual(flows.get("each.out b.in"), { segments: 4, rows: 20, read: 4, state: "open" });
  assert.deepEqual(flowingLines({ segments: 1, rows: 10, read: 0, state: "ended" }), ["1 segment", "10 rows · ended"]);
});
