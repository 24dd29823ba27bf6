import assert from "node:assert/strict";
import { test } from "node:test";
import { avoidedOf } from "../src/pages/overview/avoided";
import type { RhythmView } from "../src/types";

const pond = (key: string, runs: number) => ({
  key,
  runs,
  mean_run_us: 1,
  mean_period_us: null,
  pace_us: 1,
  scheduled_runs: null,
});
const view = (more: Partial<RhythmView>): RhythmView => ({
  environment: "main",
  since: 0,
  until: 1,
  bottleneck: null,
  ponds: [pond("a@1", 3)],
  scheduled_runs: null,
  schedule: null,
  rounds: 0,
  deployed: 2,
  ...more,
});

test("without a schedule nothing is compared, and the tip says how to give one", () => {
  const told = avoidedOf(view({}));
  assert.equal(told.value, null);
  assert.equal(told.made, 3);
  assert.match(told.text, /\[compare\] schedule/);
});

test("a schedule that runs less often than was needed avoids nothing, and says what that costs", () => {
  const told = avoidedOf(view({ schedule: "0 6 * * * (UTC)", rounds: 1, scheduled_runs: 2 }));
  assert.equal(told.value, "0");
  assert.match(told.text, /came due 1 time for 2 Ponds and would have made 2 Runs\. That is 1 fewer/);
});
