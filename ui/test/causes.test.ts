import assert from "node:assert/strict";
import { test } from "node:test";
import { causesOf, isStale, nextOf } from "../src/pages/overview/causes";
import type { TriggerView } from "../src/types";
import { pond, reactor, world } from "./make";

const tide = (limit: number): TriggerView => ({
  kind: "tide",
  name: "tide",
  limit_us: limit,
  pacing: null,
  cron: null,
  tz: null,
  next_at: null,
  paused_by: null,
  awake: null,
});

test("what is blocked is told under what blocks it in the end", () => {
  const causes = causesOf(
    world([
      pond("orders@1", { state: "failed" }),
      pond("sales@1", { state: "blocked", sources: ["orders@1", "products@1"] }),
      pond("reports@1", { state: "blocked", sources: ["sales@1"] }),
      pond("products@1"),
    ]),
    0,
  );
  assert.deepEqual(
    causes.map((cause) => [cause.kind, cause.name, cause.blocks]),
    [["failed", "orders@1", ["sales@1", "reports@1"]]],
  );
});

test("a Source that is not deployed is a cause of its own", () => {
  const causes = causesOf(world([pond("sales@1", { state: "blocked", sources: ["gone@1"] })]), 0);
  assert.deepEqual(
    causes.map((cause) => [cause.kind, cause.name]),
    [["missing", "gone@1"]],
  );
});

test("the gravest comes first, then what blocks most", () => {
  const ponds = [
    pond("a@1", { state: "killed" }),
    pond("b@1", { state: "failed" }),
    pond("c@1", { state: "failed" }),
    pond("d@1", { state: "blocked", sources: ["c@1"] }),
    pond("e@1", { halted: "a bug" }),
  ];
  const reactors = [reactor("r", { state: "Failed" }), reactor("s")];
  assert.deepEqual(
    causesOf(world(ponds, { reactors }), 0).map((cause) => cause.name),
    ["e@1", "c@1", "b@1", "a@1", "r"],
  );
});

test("a reactor that is live and cannot go on is a cause", () => {
  const reactors = [reactor("quote", { state: "Live", stuck: "publication@5", stuck_at: 7 }), reactor("well")];
  assert.deepEqual(
    causesOf(world([], { reactors }), 0).map((cause) => cause.name),
    ["quote"],
  );
});

test("a Pond is late when it is older than a Tide allows, with its delay", () => {
  const late = pond("a@1", { freshness: 1000, delay: 100, triggers: [tide(500)] });
  assert.equal(isStale(late, 1400), false);
  assert.equal(isStale(late, 1401), true);
  assert.equal(isStale(pond("b@1", { triggers: [tide(500)] }), 9999), false, "never run is not late");
});

test("what is queued comes before what is due, and the soonest first", () => {
  const ponds = [
    pond("later@1", { next: { text: "due", at: 900 } }),
    pond("soon@1", { next: { text: "due", at: 100 } }),
    pond("asked@1", { state: "queued" }),
    pond("idle@1"),
  ];
  assert.deepEqual(
    nextOf(world(ponds)).map((due) => due.pond.key),
    ["asked@1", "soon@1", "later@1"],
  );
});
