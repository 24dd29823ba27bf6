// What the timeline draws: one lane for each Pond and job, its bars in pixels of a scale. Pure.
import type { SavedSpan, Span, TimelineView } from "../../types";

export interface Lane {
  name: string;
  kind: "pond" | "job";
  spans: readonly Span[];
  /** Of a saved simulation, for the same Pond. */
  planned: readonly SavedSpan[];
  coming: readonly number[];
}

/** Group by lane. Those that were busy last come first; `find` narrows by name. */
export function lanesOf(view: TimelineView, planned: readonly SavedSpan[], find: string): Lane[] {
  const lanes = new Map<
    string,
    { kind: Lane["kind"]; spans: Span[]; planned: SavedSpan[]; coming: number[]; last: number }
  >();
  const lane = (name: string, kind: Lane["kind"]) => {
    const known = lanes.get(name);
    if (known !== undefined) return known;
    const made = { kind, spans: [], planned: [], coming: [], last: 0 };
    lanes.set(name, made);
    return made;
  };
  for (const span of view.spans) {
    const into = lane(span.lane, span.kind);
    into.spans.push(span);
    into.last = Math.max(into.last, span.end ?? Number.MAX_SAFE_INTEGER);
  }
  for (const span of planned) lane(span.lane, "pond").planned.push(span);
  for (const each of view.coming) {
    const known = lanes.get(each.lane);
    if (known !== undefined) known.coming.push(each.at);
  }
  const wanted = find.trim().toLowerCase();
  return [...lanes]
    .filter(([name]) => wanted === "" || name.toLowerCase().includes(wanted))
    .sort(([one, left], [other, right]) => right.last - left.last || one.localeCompare(other))
    .map(([name, { kind, spans, planned: foreseen, coming }]) => ({ name, kind, spans, planned: foreseen, coming }));
}

/** How many Runs there were, and how many a simulation said there would be, between two moments. */
export function compared(
  view: TimelineView,
  planned: readonly SavedSpan[],
  from: number,
  to: number,
): { real: number; planned: number } {
  const within = (at: number): boolean => at >= from && at < to;
  return {
    real: view.spans.filter((span) => span.kind === "pond" && within(span.start)).length,
    planned: planned.filter((span) => within(span.start)).length,
  };
}
