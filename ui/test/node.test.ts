import assert from "node:assert/strict";
import { test } from "node:test";
import { roundedUp, teeth } from "../src/pages/node/sawtooth";
import { bodyOf, commandOf, initialValues, isComplete, VERBS, verbOf, type Verb } from "../src/pages/node/verbs";
import type { TrendPoint } from "../src/types";
import {
  ageText,
  countText,
  durationText,
  machineText,
  partitionText,
  sizeText,
  splicedText,
  triggerText,
} from "../src/words";

function verb(id: string): Verb {
  const found = verbOf(id);
  assert.ok(found);
  return found;
}

test("each verb has its twin on the command line", () => {
  const command = (id: string, values: Record<string, string> = {}, environment?: string) =>
    commandOf(verb(id), "sales", { ...initialValues(verb(id)), ...values }, environment);
  assert.equal(command("tap"), "pondage tap sales");
  assert.equal(command("wave"), "pondage wave sales");
  assert.equal(command("wave", { pacing: "just-in-time" }), "pondage wave sales --pacing just-in-time");
  assert.equal(command("tide", { limit: "15m" }), "pondage tide sales 15m");
  assert.equal(
    command("tide", { limit: "15m", name: "night" }, "dev"),
    "pondage tide sales 15m --name night --env dev",
  );
  assert.equal(command("calm", { name: "night" }), "pondage calm sales --name night");
  assert.equal(command("sleep", { upstream: "1" }), "pondage sleep sales --upstream");
  assert.equal(command("pause", { name: "night" }), "pondage pause sales night");
  assert.equal(command("resume"), "pondage resume sales");
  assert.equal(command("kill", { note: "it's wrong" }), `pondage kill sales --note 'it'\\''s wrong'`);
});

test("a Run below a spliced one names it", () => {
  assert.equal(splicedText(["board@1#31", "stock@1#2"]), "stands on board@1#31, stock@1#2, spliced");
});

test("a trigger that is paused says so", () => {
  const night = {
    kind: "schedule",
    name: "night",
    cron: "0 2 * * *",
    tz: "UTC",
    limit_us: null,
    pacing: null,
  } as const;
  assert.equal(triggerText({ ...night, next_at: 5, paused_by: null, awake: null }), "0 2 * * *");
  assert.equal(triggerText({ ...night, next_at: null, paused_by: "sleep", awake: null }), "0 2 * * * (paused)");
});

test("a trigger that follows its readers says until when it is awake or rests", () => {
  const tide = { kind: "tide", name: "tide", cron: null, tz: null, limit_us: 900_000_000, pacing: null } as const;
  const at = Date.UTC(2026, 2, 16, 7, 21) * 1000;
  const awake = { is_awake: false, until: at, expected: at, tz: "Europe/Berlin" };
  const shown = { ...tide, next_at: at, paused_by: null };
  assert.equal(triggerText({ ...shown, awake }), "Tide 15 min (resting until 08:21)");
  assert.equal(triggerText({ ...shown, awake: { ...awake, is_awake: true } }), "Tide 15 min (awake until 08:21)");
  const nobody = { ...awake, until: null, expected: null };
  assert.equal(triggerText({ ...shown, awake: nobody }), "Tide 15 min (resting until somebody reads)");
});

test("the body has what was filled in, and no more", () => {
  assert.deepEqual(bodyOf(verb("tap"), {}), {});
  assert.deepEqual(bodyOf(verb("tide"), { limit: " 1h ", name: "" }), { limit: "1h" });
  assert.deepEqual(bodyOf(verb("force"), { full: "1", note: "again" }), { full: true, note: "again" });
  assert.equal(isComplete(verb("tide"), { limit: " " }), false);
  assert.equal(VERBS.length, 12);
});

const point = (number: number, ended_at: number, freshness: number, state = "completed"): TrendPoint => ({
  run: `r${number}`,
  number,
  state,
  freshness,
  delay: 5,
  started_at: ended_at - 1,
  ended_at,
  tables: [],
});

test("staleness grows a second a second, and falls with each Run that completed", () => {
  const found = teeth([point(1, 100, 90), point(2, 150, 140, "failed"), point(3, 200, 195)], 260);
  assert.deepEqual(
    found.map(({ number, from, low, to, high }) => [number, from, low, to, high]),
    [
      [1, 100, 15, 200, 115],
      [3, 200, 10, 260, 70],
    ],
  );
});

test("an axis ends at a round time", () => {
  assert.equal(roundedUp(59_000_000), 60_000_000);
  assert.equal(roundedUp(100 * 3_600_000_000), 5 * 86_400_000_000);
});

test("times and sizes are said as on the command line", () => {
  assert.deepEqual(["vm/pid:[4026531836]", "spark-1", "a/b"].map(machineText), ["vm", "spark-1", "a/b"]);
  assert.deepEqual([850_000, 9_500_000, 12_000_000, 200_000_000, 7_500_000_000].map(durationText), [
    "850 ms",
    "9.5 s",
    "12 s",
    "3 min 20 s",
    "2 h 5 min",
  ]);
  assert.deepEqual([ageText(0, 12_400_000), ageText(180_000_000, 0), ageText(5, 6)], ["12 s ago", "in 3 min", "now"]);
  assert.deepEqual([512, 1_400_000, 52_000].map(sizeText), ["512 B", "1.4 MB", "52 kB"]);
  assert.deepEqual(
    [countText(1, "row"), countText(1200, "row"), countText(2, "query")],
    ["1 row", "1,200 rows", "2 queries"],
  );
});

test("the values of a partition are told apart from what is empty", () => {
  assert.equal(partitionText(["2026-03-01", null]), "2026-03-01, null");
  assert.equal(partitionText(["", 5, true]), '"", 5, true');
});
