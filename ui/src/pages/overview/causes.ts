// What is wrong, by its root cause: what failed, was killed or is missing, and everything below that waits for it. Pure.
import type { World } from "../../feed";
import type { PondView, ReactorView } from "../../types";

export type CauseKind = "halted" | "failed" | "killed" | "missing" | "stale" | "reactor";

export interface Cause {
  kind: CauseKind;
  /** The key of the Pond, or the name of the reactor. */
  name: string;
  pond: PondView | null;
  reactor: ReactorView | null;
  /** Ponds that are blocked because of it, nearest first. */
  blocks: string[];
}

const ORDER: readonly CauseKind[] = ["halted", "failed", "killed", "missing", "reactor", "stale"];

/** Answer the causes, the gravest first, and those that block most before the others. */
export function causesOf(world: World, now: number): Cause[] {
  const found = new Map<string, Cause>();
  for (const pond of world.ponds.values()) {
    const kind = ownTrouble(pond);
    if (kind !== null) found.set(pond.key, { kind, name: pond.key, pond, reactor: null, blocks: [] });
  }
  for (const pond of world.ponds.values()) {
    if (pond.state === "blocked") for (const root of rootsOf(world, pond)) causeOf(found, root).blocks.push(pond.key);
  }
  for (const pond of world.ponds.values()) {
    if (!found.has(pond.key) && pond.state !== "blocked" && isStale(pond, now)) {
      found.set(pond.key, { kind: "stale", name: pond.key, pond, reactor: null, blocks: [] });
    }
  }
  const causes = [...found.values(), ...world.reactors.filter(isSick).map(sick)];
  return causes.sort(
    (one, other) =>
      ORDER.indexOf(one.kind) - ORDER.indexOf(other.kind) ||
      other.blocks.length - one.blocks.length ||
      one.name.localeCompare(other.name),
  );
}

function ownTrouble(pond: PondView): CauseKind | null {
  if (pond.halted !== null) return "halted";
  return pond.state === "failed" || pond.state === "killed" ? pond.state : null;
}

function causeOf(found: Map<string, Cause>, name: string): Cause {
  let cause = found.get(name);
  if (cause === undefined) {
    cause = { kind: "missing", name, pond: null, reactor: null, blocks: [] };
    found.set(name, cause);
  }
  return cause;
}

/** Answer what a blocked Pond waits for in the end: the first troubles on each way up. */
function rootsOf(world: World, from: PondView): string[] {
  const roots = new Set<string>();
  const seen = new Set<string>([from.key]);
  const ways = [...from.sources];
  for (let key = ways.shift(); key !== undefined; key = ways.shift()) {
    if (seen.has(key)) continue;
    seen.add(key);
    const pond = world.ponds.get(key);
    if (pond === undefined || ownTrouble(pond) !== null) roots.add(key);
    else if (pond.state === "blocked") ways.push(...pond.sources);
  }
  return [...roots];
}

/** Whether a Pond is older than a Tide of it allows. */
export function isStale(pond: PondView, now: number): boolean {
  if (pond.freshness === null) return false;
  const staleness = now + (pond.delay ?? 0) - pond.freshness;
  return pond.triggers.some((trigger) => trigger.limit_us !== null && staleness > trigger.limit_us);
}

function isSick(reactor: ReactorView): boolean {
  const isWell = reactor.error === null && reactor.stuck === null;
  return !isWell || reactor.state === "Failed" || reactor.state === "Degraded";
}

function sick(reactor: ReactorView): Cause {
  return { kind: "reactor", name: reactor.name, pond: null, reactor, blocks: [] };
}

export interface Due {
  pond: PondView;
  at: number | null;
  text: string;
}

/** What runs next: Ponds that are asked for and do not run yet, those with a known time first, soonest first. */
export function nextOf(world: World): Due[] {
  const due: Due[] = [];
  for (const pond of world.ponds.values()) {
    if (pond.state === "queued" || (pond.state === "idle" && pond.next.at !== null)) {
      due.push({ pond, at: pond.next.at, text: pond.next.text });
    }
  }
  return due.sort((one, other) => {
    if (one.pond.state !== other.pond.state) return one.pond.state === "queued" ? -1 : 1;
    return (one.at ?? Infinity) - (other.at ?? Infinity) || one.pond.key.localeCompare(other.pond.key);
  });
}

/** The Ponds that run now, longest first. */
export function runningOf(world: World): PondView[] {
  return [...world.ponds.values()]
    .filter((pond) => pond.state === "running")
    .sort((one, other) => (one.active[0]?.started_at ?? 0) - (other.active[0]?.started_at ?? 0));
}
