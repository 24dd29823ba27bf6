// Whole objects for tests, with what a test cares about put on top.
import { NOTHING, type World } from "../src/feed";
import type { JobRunView, PondView, ReactorView, Snapshot } from "../src/types";

export function pond(key: string, more: Partial<PondView> = {}): PondView {
  return {
    key,
    name: key.split("@")[0] ?? key,
    version: "1.0.0",
    project: "shop",
    kind: "pond",
    state: "idle",
    freshness: null,
    delay: null,
    staleness: null,
    demand: { pull: false, targets: [] },
    triggers: [],
    sources: [],
    active: [],
    runs: 0,
    fused: {},
    last_run: null,
    halted: null,
    next: { text: "nobody asks for it", at: null },
    borrowed_from: null,
    ...more,
  };
}

export function reactor(name: string, more: Partial<ReactorView> = {}): ReactorView {
  return {
    name,
    version: "1",
    project: "shop",
    state: "Live",
    waiting_for: [],
    is_owned: true,
    epoch: 1,
    criteria: "any",
    strategy: "latest",
    durable: "no",
    sources: [],
    graphs: [],
    is_rebound: false,
    is_alone: false,
    error: null,
    stuck: null,
    stuck_at: null,
    ...more,
  };
}

export function jobRun(id: string, more: Partial<JobRunView> = {}): JobRunView {
  return {
    id,
    job: "nightly",
    state: "RUNNING",
    code: null,
    reason: "",
    resumed_from: null,
    started_at: 1,
    ended_at: null,
    counts: {},
    is_flow: false,
    halted: null,
    ...more,
  };
}

export function world(ponds: readonly PondView[], more: Partial<World> = {}): World {
  return { ...NOTHING, seq: 1, environment: "main", ponds: new Map(ponds.map((each) => [each.key, each])), ...more };
}

export function snapshot(seq: number, ponds: PondView[]): Snapshot {
  const status = { environment: "main", at: seq * 1_000_000, ponds, processes: [], has_more: false, reactors: [] };
  return { type: "snapshot", seq, status, runs: [], reactors: [], graph: null };
}
