// What is known of an environment, and how each message of the feed changes it. Pure: the connection is in `live.ts`.
import type { Changes, GraphView, JobRunView, PondView, ProcessView, ReactorView, Reset, Snapshot } from "./types";

export type FeedMessage = Snapshot | Changes | Reset;

export interface World {
  /** The place in the feed; -1 before the first snapshot. */
  seq: number;
  /** The time of the ledger in microseconds. */
  at: number;
  environment: string;
  ponds: ReadonlyMap<string, PondView>;
  runs: ReadonlyMap<string, JobRunView>;
  reactors: readonly ReactorView[];
  processes: readonly ProcessView[];
  /** What is deployed; null when a deploy may have changed it since it was read. */
  graph: GraphView | null;
}

export const NOTHING: World = {
  seq: -1,
  at: 0,
  environment: "",
  ponds: new Map(),
  runs: new Map(),
  reactors: [],
  processes: [],
  graph: null,
};

/** Whether a message cannot follow what is known: something between was lost. */
export function isGap(world: World, message: FeedMessage): boolean {
  return message.type === "changes" && (world.seq < 0 || message.after > world.seq);
}

export function reduce(world: World, message: FeedMessage): World {
  switch (message.type) {
    case "reset":
      return { ...NOTHING, environment: world.environment };
    case "snapshot":
      return {
        seq: message.seq,
        at: message.status.at,
        environment: message.status.environment,
        ponds: new Map(message.status.ponds.map((pond) => [pond.key, pond])),
        runs: new Map(message.runs.map((run) => [run.id, run])),
        reactors: message.reactors,
        processes: message.status.processes,
        graph: message.graph,
      };
    case "changes":
      return message.seq < world.seq ? world : changed(world, message);
  }
}

function changed(world: World, message: Changes): World {
  return {
    ...world,
    seq: message.seq,
    at: message.at,
    ponds: replaced(world.ponds, message.ponds ?? [], (pond) => pond.key, message.gone ?? []),
    runs: replaced(world.runs, message.runs ?? [], (run) => run.id, []),
    reactors: message.reactors ?? world.reactors,
    processes: message.processes ?? world.processes,
    graph: isRedeployed(world, message) ? null : world.graph,
  };
}

/** Whether what is deployed is different: Ponds came, went, or have another version or other Sources. */
function isRedeployed(world: World, message: Changes): boolean {
  if ((message.gone ?? []).some((key) => world.ponds.has(key))) return true;
  if (message.reactors != null && message.reactors.length !== world.reactors.length) return true;
  return (message.ponds ?? []).some((pond) => {
    const before = world.ponds.get(pond.key);
    return before === undefined || before.version !== pond.version || before.sources.join() !== pond.sources.join();
  });
}

/** How one calls a Pond: without its major version, when that is the newest. */
export function spokenName(world: World, pond: PondView): string {
  const major = majorOf(pond.key);
  for (const each of world.ponds.values()) if (each.name === pond.name && majorOf(each.key) > major) return pond.key;
  return pond.name;
}

/** The Pond of a key, or the newest of a name. */
export function pondOf(world: World, asked: string): PondView | undefined {
  const exact = world.ponds.get(asked);
  if (exact !== undefined) return exact;
  const named = [...world.ponds.values()].filter((pond) => pond.name === asked);
  return named.sort((one, other) => majorOf(other.key) - majorOf(one.key))[0];
}

function majorOf(key: string): number {
  return Number(key.split("@")[1] ?? 1);
}

/** Answer the same map when nothing is different, so that whoever shows it does not draw again. */
function replaced<T>(
  known: ReadonlyMap<string, T>,
  fresh: readonly T[],
  key: (each: T) => string,
  gone: readonly string[],
): ReadonlyMap<string, T> {
  if (fresh.length === 0 && !gone.some((each) => known.has(each))) return known;
  const next = new Map(known);
  for (const each of gone) next.delete(each);
  for (const each of fresh) next.set(key(each), each);
  return next;
}
