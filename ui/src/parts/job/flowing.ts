// What is drawn of streams on the edges of a plan. Pure.
import type { StreamView } from "../../types";
import { countText } from "../../words";

/** What went over an edge of the plan: the streams of all instances of its two ends together. */
export interface Flowing {
  segments: number;
  rows: number;
  read: number;
  state: string;
}

const WORST = ["lost", "open", "ended", "deleted"];

/** Answer what flows by edge, under `source.port target.port` of the plan. */
export function flowing(streams: readonly StreamView[]): Map<string, Flowing> {
  const found = new Map<string, Flowing>();
  for (const each of streams) {
    for (const reader of each.readers) {
      const key = `${planName(each.component)}.${each.port} ${planName(reader.component)}.${reader.port}`;
      const known = found.get(key);
      found.set(key, {
        segments: (known?.segments ?? 0) + (each.segments ?? 0),
        rows: (known?.rows ?? 0) + (each.rows ?? 0),
        read: (known?.read ?? 0) + reader.read,
        state: known === undefined || WORST.indexOf(each.state) < WORST.indexOf(known.state) ? each.state : known.state,
      });
    }
  }
  return found;
}

/** Of an instance in an iterator (`scan[#3]`) what the plan calls it (`scan`). */
function planName(instance: string): string {
  return instance.split("[#")[0] ?? instance;
}

/** What an edge says of its stream: how much went over it, and whether that is all. */
export function flowingLines(flow: Flowing): string[] {
  if (flow.state === "deleted") return ["deleted"];
  return [countText(flow.segments, "segment"), `${countText(flow.rows, "row")} · ${flow.state}`];
}
