import assert from "node:assert/strict";
import { test } from "node:test";
import { everything, search } from "../src/shell/finding";
import type { Page } from "../src/pages/page";
import { jobRun, pond, reactor, world } from "./make";

const page = (id: string): Page => ({ id, title: id, icon: "M0 0", Component: () => null });
const known = everything(
  world([pond("sales@1"), pond("resales@1"), pond("orders@1")], { reactors: [reactor("alerts")] }),
  [page("node"), page("reactors")],
);
const found = (typed: string): string[] => search(known, typed).map((hit) => hit.text);

test("names that begin with what was typed come first", () => {
  assert.deepEqual(found("sale").slice(0, 2), ["sales@1", "resales@1"]);
});

test("letters in order are enough", () => {
  assert.ok(found("ords").includes("orders@1"));
});

test("reactors and words of ours are found, too", () => {
  assert.ok(found("aler").includes("alerts"));
  assert.ok(found("stale").includes("Staleness"));
});

test("what leads to a page that is not there is not offered", () => {
  const hits = everything(world([pond("sales@1")]), [page("reactors")]);
  assert.equal(
    hits.some((hit) => hit.kind === "Pond"),
    false,
  );
});

test("Ripples and jobs are found, and a Run that is long over by its number", () => {
  const ripple = { name: "clean", kind: "sql", parents: [], ponds: [], fused: [], expectations: 0 };
  const graph = {
    environment: "main",
    ponds: [{ key: "sales@1", project: "p", owner: "", tags: [], windows: [], ripples: [ripple], sources: [] }],
    reactors: [],
    jobs: [
      {
        name: "nightly",
        version: "1",
        project: "p",
        plan: "",
        components: 1,
        deployed_at: 0,
        schedule: null,
        next_at: null,
        paused_by: null,
      },
    ],
  };
  const hits = everything(world([pond("sales@1")], { graph }), ["node", "runs", "run"].map(page));
  assert.deepEqual(search(hits, "sales.cl")[0]?.params, { pond: "sales@1", tab: "code", ripple: "clean" });
  assert.equal(search(hits, "nightl")[0]?.kind, "Job");
  assert.deepEqual(search(hits, "sales#12")[0]?.params, { run: "sales#12" });
});

test("a run of a job and a flow each lead to the page of their own", () => {
  const runs = new Map([jobRun("j1"), jobRun("f1", { job: "score", is_flow: true })].map((run) => [run.id, run]));
  const hits = everything(world([], { runs }), [page("run"), page("flows")]);
  assert.deepEqual(
    hits.filter((hit) => "run" in hit.params).map((hit) => [hit.text, hit.page]),
    [
      ["nightly j1", "run"],
      ["score f1", "flows"],
    ],
  );
});
