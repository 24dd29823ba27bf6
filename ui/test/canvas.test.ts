import assert from "node:assert/strict";
import { test } from "node:test";
import { framesOf, placed, taskOf } from "../src/pages/canvas/arrange";
import { stateOf } from "../src/pages/canvas/draw";
import { areOpen, canvasGraph, edgeState, hashOf, reach } from "../src/pages/canvas/graph";
import { closedOf, folded, grouped, groupsOf, groupState } from "../src/pages/canvas/groups";
import { innerLayout } from "../src/pages/canvas/inner";
import { packed, partsOf } from "../src/pages/canvas/pack";
import type { GraphPond, GraphRipple, GraphView, PondView, TriggerView } from "../src/types";
import { jobRun, pond, reactor, world } from "./make";

const ALL = { isOpen: null, flipped: new Set<string>(), only: null };
const ripple = (name: string, parents: string[] = []): GraphRipple => ({
  name,
  kind: "function",
  parents,
  ponds: [],
  fused: [],
  expectations: 0,
});
const tide: TriggerView = {
  kind: "tide",
  name: "tide",
  limit_us: 3_600_000_000,
  pacing: null,
  cron: null,
  tz: null,
  next_at: null,
  paused_by: null,
  awake: null,
};

function deployed(ponds: PondView[], ripples: Record<string, GraphRipple[]> = {}): GraphView {
  const made: GraphPond[] = ponds.map((each) => ({
    key: each.key,
    project: "shop",
    owner: "",
    tags: [],
    windows: [],
    ripples: ripples[each.key] ?? [ripple(each.name)],
    sources: each.sources.map((key) => ({ key, is_required: key !== "fx@1" })),
  }));
  return {
    environment: "main",
    ponds: made,
    reactors: [{ name: "alerts", reads: ["sales"], publishes: "alarms", jobs: [] }],
    jobs: [],
  };
}

const PONDS = [
  pond("orders@1", { freshness: 20 }),
  pond("fx@1"),
  pond("sales@1", { sources: ["orders@1", "fx@1"], freshness: 10, demand: { pull: true, targets: [] } }),
  pond("sales@2", { sources: ["orders@1"], freshness: 20, triggers: [tide], demand: { pull: false, targets: [30] } }),
  pond("reports@1", { sources: ["sales@1", "gone@1"] }),
  pond("alarms@1"),
];

test("Ponds, triggers as their Sinks, what is missing, and optional Sources", () => {
  const graph = canvasGraph(world(PONDS), deployed(PONDS), ALL);
  const ids = graph.nodes.map((node) => node.id);
  assert.ok(ids.includes("gone@1"));
  const kinds = Object.fromEntries(graph.edges.map((edge) => [edge.id, edge.kind]));
  assert.equal(kinds["fx@1→sales@1"], "optional");
  assert.equal(kinds["orders@1→sales@1"], "data");
  assert.equal(kinds["sales@2→trigger:sales@2:tide:tide"], "trigger");
});

test("a reactor stands between what it reads and what it publishes, on the newest major", () => {
  const graph = canvasGraph(world(PONDS, { reactors: [reactor("alerts")] }), deployed(PONDS), ALL);
  const ids = graph.edges.map((edge) => edge.id);
  assert.ok(ids.includes("sales@2→reactor:alerts"));
  assert.ok(ids.includes("reactor:alerts→alarms@1"));
});

test("a job has the colour of its newest run, and none of a flow that has its name", () => {
  const graph: GraphView = { ...deployed(PONDS), jobs: [{ name: "nightly" }] as GraphView["jobs"] };
  const node = canvasGraph(world(PONDS), graph, ALL).nodes.find((each) => each.id === "job:nightly");
  assert.ok(node !== undefined);
  const colour = (...runs: ReturnType<typeof jobRun>[]) =>
    stateOf(world(PONDS, { runs: new Map(runs.map((run) => [run.id, run])) }), node);
  assert.deepEqual(
    ["RUNNING", "OK", "ERROR", "ABORTED"].map((state) => colour(jobRun("j1", { state }))),
    ["running", "idle", "failed", "killed"],
  );
  assert.equal(colour(jobRun("j1", { state: "ERROR" }), jobRun("j2", { state: "OK", started_at: 2 })), "idle");
  assert.equal(colour(jobRun("f1", { is_flow: true })), "idle");
  assert.equal(colour(jobRun("j1", { halted: "a step raised" })), "failed");
});

test("demand is on the edge of whoever asks, and the line is solid when the parent is ahead", () => {
  const now = world(PONDS);
  const at = (source: string, target: string) => edgeState(now, { id: "", source, target, kind: "data", parts: [] });
  assert.deepEqual(at("orders@1", "sales@1"), { demand: "pull", isAhead: true });
  assert.deepEqual(at("orders@1", "sales@2"), { demand: "push", isAhead: false });
  assert.deepEqual(at("sales@1", "reports@1"), { demand: "none", isAhead: true });
  assert.deepEqual(at("fx@1", "sales@1"), { demand: "pull", isAhead: false });
});

test("majors of a Pond are one block and stand beside each other", () => {
  const graph = canvasGraph(world(PONDS), deployed(PONDS), ALL);
  const { task } = taskOf(graph);
  assert.equal(task.blocks.filter((block) => block.id === "sales").length, 1);
  const positions = placed(graph, Object.fromEntries(task.blocks.map((block, place) => [block.id, [place * 500, 0]])));
  const [one, two] = [positions["sales@1"], positions["sales@2"]];
  assert.ok(one !== undefined && two !== undefined);
  assert.equal(one[0], two[0]);
  assert.ok(two[1] >= one[1] + 84);
});

test("states do not change the hash of a layout; Ponds, Ripples shown and Sources do", () => {
  const hash = (ponds: PondView[], flipped: string[] = []) =>
    taskOf(
      canvasGraph(world(ponds), deployed(ponds, { "orders@1": [ripple("a"), ripple("b", ["a"])] }), {
        isOpen: null,
        flipped: new Set(flipped),
        only: null,
      }),
    ).hash;
  const first = hash(PONDS);
  assert.equal(hash(PONDS.map((each) => ({ ...each, state: "failed" as const, freshness: 99 }))), first);
  assert.notEqual(hash(PONDS.slice(1)), first);
  assert.notEqual(hash(PONDS, ["orders@1"]), first);
  assert.notEqual(hash(PONDS.map((each) => (each.key === "reports@1" ? { ...each, sources: [] } : each))), first);
  assert.notEqual(hashOf("a"), hashOf("b"));
});

test("above forty Ripples Ponds are collapsed, and flipping one opens it", () => {
  const many = { "orders@1": Array.from({ length: 41 }, (_, place) => ripple(`r${place}`)) };
  assert.equal(areOpen(deployed(PONDS)), true);
  assert.equal(areOpen(deployed(PONDS, many)), false);
  const inner = (flipped: string[]) =>
    canvasGraph(world(PONDS), deployed(PONDS, many), {
      isOpen: null,
      flipped: new Set(flipped),
      only: null,
    }).nodes.find((node) => node.id === "orders@1")?.inner ?? null;
  assert.equal(inner([]), null);
  assert.notEqual(inner(["orders@1"]), null);
  const shown = canvasGraph(world(PONDS), deployed(PONDS, many), { isOpen: true, flipped: new Set(), only: null });
  assert.notEqual(
    shown.nodes.find((node) => node.id === "orders@1")?.inner,
    null,
    "all are shown to whoever asks for it",
  );
});

test("upstream, downstream and both", () => {
  const { edges } = canvasGraph(world(PONDS), deployed(PONDS), ALL);
  assert.deepEqual([...reach(edges, "sales@1", "up")].sort(), ["fx@1", "orders@1", "sales@1"]);
  assert.deepEqual([...reach(edges, "sales@1", "down")].sort(), ["reports@1", "sales@1"]);
  assert.equal(reach(edges, "sales@1", "both").size, 4);
});

test("Ripples stand in columns behind those that they read", () => {
  const inner = innerLayout([ripple("c", ["a", "b"]), ripple("a"), ripple("b", ["a"])]);
  const x = Object.fromEntries(inner.places.map((place) => [place.ripple.name, place.x]));
  assert.ok((x.a ?? 0) < (x.b ?? 0) && (x.b ?? 0) < (x.c ?? 0));
  assert.equal(inner.lines.length, 3);
});

test("parts that do not hang together are packed without overlap", () => {
  const blocks = ["a", "b", "c", "d"].map((id) => ({ id, width: 100, height: 50, frame: id > "b" ? "late" : "" }));
  const parts = partsOf({ blocks, edges: [["a", "b"]] });
  assert.deepEqual(
    parts.map((part) => part.blocks.map((block) => block.id)),
    [
      ["a", "b"],
      ["c", "d"],
    ],
    "a frame holds together",
  );
  const places = packed(["x", "y", "z"].map((id) => ({ corners: { [id]: [0, 0] as const }, width: 100, height: 50 })));
  assert.equal(new Set(Object.values(places).map(String)).size, 3);
  const wide = packed(
    Array.from({ length: 20 }, (_, id) => ({ corners: { [id]: [0, 0] as const }, width: 2000, height: 200 })),
  );
  assert.equal(new Set(Object.values(wide).map(([x]) => x)).size, 2, "twenty long chains stand in two columns");
});

test("a collapsed group is one node with the edges of its Ponds, and an open one has a frame around them", () => {
  const graph = deployed(PONDS);
  const tagged = {
    ...graph,
    ponds: graph.ponds.map((each) => ({ ...each, tags: each.key.startsWith("sales") ? ["core", "x"] : [] })),
  };
  const groups = groupsOf(tagged, "tag");
  assert.deepEqual(
    [...groups],
    [
      ["sales@1", "core"],
      ["sales@2", "core"],
    ],
  );
  const whole = canvasGraph(world(PONDS), tagged, ALL);
  const closed = grouped(whole, groups, closedOf("all", groups));
  const group = closed.nodes.find((node) => node.id === "group:core");
  assert.deepEqual(group?.members, ["sales@1", "sales@2"]);
  assert.ok(!closed.nodes.some((node) => node.pond.startsWith("sales")), "its triggers are inside of it, too");
  const edge = closed.edges.find((each) => each.id === "orders@1→group:core");
  assert.equal(edge?.parts.length, 2);
  assert.deepEqual(edge && edgeState(world(PONDS), edge), { demand: "push", isAhead: false });
  assert.deepEqual(
    groupState(world([pond("a@1", { state: "running" }), pond("b@1", { state: "failed" })]), ["a@1", "b@1"]),
    {
      state: "failed",
      counts: [
        ["failed", 1],
        ["running", 1],
      ],
    },
  );
  const open = grouped(whole, groups, closedOf(undefined, groups));
  const positions = placed(open, Object.fromEntries(open.nodes.map((node) => [node.block, [100, 100] as const])));
  assert.deepEqual(
    framesOf(open, positions).map((frame) => frame.name),
    ["core"],
  );
  assert.equal(folded(new Set(["b"]), "a"), "a,b");
  assert.equal(folded(new Set(["a", "b"]), "a"), "b");
});
