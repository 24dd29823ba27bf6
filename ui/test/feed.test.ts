import assert from "node:assert/strict";
import { test } from "node:test";
import { isGap, NOTHING, pondOf, reduce, spokenName } from "../src/feed";
import { pond, reactor, snapshot, world as made } from "./make";

test("a snapshot is everything that is known", () => {
  const world = reduce(NOTHING, snapshot(7, [pond("a@1"), pond("b@1")]));
  assert.equal(world.seq, 7);
  assert.deepEqual([...world.ponds.keys()], ["a@1", "b@1"]);
});

test("changes replace what they name, take away what has gone, and leave the rest as it is", () => {
  const before = reduce(NOTHING, snapshot(7, [pond("a@1"), pond("b@1"), pond("c@1")]));
  const after = reduce(before, {
    type: "changes",
    after: 7,
    seq: 9,
    at: 5,
    ponds: [pond("a@1", { state: "running" })],
    gone: ["c@1"],
  });
  assert.equal(after.ponds.get("a@1")?.state, "running");
  assert.equal(after.ponds.get("b@1"), before.ponds.get("b@1"), "an object that did not change stays the same object");
  assert.equal(after.ponds.has("c@1"), false);
  assert.deepEqual([after.seq, after.at], [9, 5]);
});

test("a message without Ponds leaves the very same map, so that no page draws Ponds again", () => {
  const before = reduce(NOTHING, snapshot(7, [pond("a@1")]));
  const after = reduce(before, { type: "changes", after: 7, seq: 8, at: 5, reactors: [reactor("r")] });
  assert.equal(after.ponds, before.ponds);
  assert.equal(after.runs, before.runs);
  assert.equal(after.reactors[0]?.name, "r");
});

test("what is older than what is known changes nothing", () => {
  const before = reduce(NOTHING, snapshot(7, [pond("a@1", { state: "running" })]));
  assert.equal(reduce(before, { type: "changes", after: 3, seq: 5, at: 1, ponds: [pond("a@1")] }), before);
});

test("a reset forgets everything but the environment", () => {
  const world = reduce(reduce(NOTHING, snapshot(7, [pond("a@1")])), { type: "reset", after: 7 });
  assert.deepEqual([world.seq, world.ponds.size, world.environment], [-1, 0, "main"]);
});

test("changes that do not begin where we are leave a gap; those that overlap do not", () => {
  const world = reduce(NOTHING, snapshot(7, []));
  const from = (after: number) => isGap(world, { type: "changes", after, seq: 20, at: 0 });
  assert.deepEqual([from(6), from(7), from(8)], [false, false, true]);
  assert.equal(isGap(NOTHING, { type: "changes", after: 0, seq: 1, at: 0 }), true);
});

test("a Pond is called by its name, and an older major by its key", () => {
  const [one, two, ten] = [pond("a@1"), pond("a@2"), pond("b@10")];
  const known = made([one, two, ten, pond("b@9")]);
  assert.deepEqual([spokenName(known, one), spokenName(known, two), spokenName(known, ten)], ["a@1", "a", "b"]);
  assert.deepEqual(
    [pondOf(known, "a"), pondOf(known, "b"), pondOf(known, "a@1"), pondOf(known, "c")],
    [two, ten, one, undefined],
  );
});

test("the graph of a snapshot is known until a deploy may have changed it", () => {
  const graph = { environment: "main", ponds: [], reactors: [], jobs: [] };
  const before = reduce(NOTHING, { ...snapshot(7, [pond("a@1")]), graph });
  const after = (ponds: ReturnType<typeof pond>[], gone: string[] = []) =>
    reduce(before, { type: "changes", after: 7, seq: 8, at: 0, ponds, gone }).graph;
  assert.equal(after([pond("a@1", { state: "running" })]), graph);
  assert.equal(after([pond("a@1", { version: "1.1.0" })]), null);
  assert.equal(after([pond("a@1", { sources: ["b@1"] })]), null);
  assert.equal(after([pond("b@1")]), null);
  assert.equal(after([], ["a@1"]), null);
});
