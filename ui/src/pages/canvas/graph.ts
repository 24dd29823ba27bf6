// What the canvas draws: Ponds with their Ripples, triggers as their Sinks, reactors and jobs, and what joins them. Pure.
import type { World } from "../../feed";
import type { GraphPond, GraphView, PondView } from "../../types";
import { triggerText } from "../../words";
import { innerLayout, type Inner } from "./inner";

export const MOST_RIPPLES = 40;
export const CARD = { width: 224, height: 84 };
const SMALL = { width: 168, height: 44 };
const MISSING = { width: 168, height: 34 };
const PADDING = 12;

export type NodeKind = "pond" | "trigger" | "reactor" | "job" | "missing" | "group";

export interface CanvasNode {
  id: string;
  kind: NodeKind;
  /** Nodes of one block stay beside each other: the majors of a Pond. */
  block: string;
  width: number;
  height: number;
  /** The Ripples, where they are shown. */
  inner: Inner | null;
  /** The Pond that a trigger asks. */
  pond: string;
  label: string;
  /** Of a Pond: its major version, where that must be said. */
  major: string;
  /** The frame that it is drawn in, or nothing. */
  frame: string;
  /** Of a group that is collapsed: its Ponds. */
  members: readonly string[];
}

export type EdgeKind = "data" | "optional" | "trigger" | "reactor";

export interface CanvasEdge {
  id: string;
  source: string;
  target: string;
  kind: EdgeKind;
  /** Of an edge to or from a collapsed group: the edges that it stands for. */
  parts: readonly CanvasEdge[];
}

export interface CanvasGraph {
  nodes: readonly CanvasNode[];
  edges: readonly CanvasEdge[];
}

export interface Shown {
  /** Whether Ponds show their Ripples; null leaves it to how many there are. */
  isOpen: boolean | null;
  /** Ponds that are shown the other way than all: open when all are collapsed, collapsed when all are open. */
  flipped: ReadonlySet<string>;
  /** Only these, or everything. */
  only: ReadonlySet<string> | null;
}

/** Whether Ponds are open when nobody said anything: as long as there are few Ripples. */
export function areOpen(graph: GraphView | null): boolean {
  return graph !== null && graph.ponds.reduce((sum, pond) => sum + pond.ripples.length, 0) <= MOST_RIPPLES;
}

export function canvasGraph(world: World, graph: GraphView | null, shown: Shown): CanvasGraph {
  const nodes = new Map<string, CanvasNode>();
  const edges: CanvasEdge[] = [];
  const known = new Map((graph?.ponds ?? []).map((pond) => [pond.key, pond]));
  const isOpen = shown.isOpen ?? areOpen(graph);
  const ponds = [...world.ponds.values()].filter((pond) => shown.only === null || shown.only.has(pond.key));
  const count = new Map<string, number>();
  for (const pond of ponds) count.set(pond.name, (count.get(pond.name) ?? 0) + 1);
  for (const pond of ponds) {
    const major = pond.key.split("@")[1] ?? "1";
    const isSaid = major !== "1" || (count.get(pond.name) ?? 0) > 1;
    nodes.set(
      pond.key,
      pondNode(pond, isSaid ? major : "", known.get(pond.key), isOpen !== shown.flipped.has(pond.key)),
    );
  }
  for (const pond of ponds) {
    const optional = new Set(
      (known.get(pond.key)?.sources ?? []).filter((each) => !each.is_required).map((each) => each.key),
    );
    for (const source of pond.sources) {
      if (!nodes.has(source)) {
        if (world.ponds.has(source)) continue;
        nodes.set(source, small("missing", source, source, MISSING));
      }
      edges.push(edge(source, pond.key, optional.has(source) ? "optional" : "data"));
    }
    for (const trigger of pond.triggers) {
      const id = `trigger:${pond.key}:${trigger.kind}:${trigger.name}`;
      nodes.set(id, { ...small("trigger", id, triggerText(trigger), SMALL), pond: pond.key });
      edges.push(edge(pond.key, id, "trigger"));
    }
  }
  addReactors(world, graph, shown, nodes, edges);
  return { nodes: [...nodes.values()], edges };
}

function pondNode(pond: PondView, major: string, known: GraphPond | undefined, isOpen: boolean): CanvasNode {
  const ripples = known?.ripples ?? [];
  const inner = isOpen && ripples.length > 1 ? innerLayout(ripples) : null;
  return {
    id: pond.key,
    kind: "pond",
    block: pond.name,
    width: inner === null ? CARD.width : Math.max(CARD.width, inner.width + 2 * PADDING),
    height: inner === null ? CARD.height : CARD.height + inner.height + PADDING,
    inner,
    pond: pond.key,
    label: pond.name,
    major,
    frame: "",
    members: [],
  };
}

function small(kind: NodeKind, id: string, label: string, size: { width: number; height: number }): CanvasNode {
  return { id, kind, block: id, ...size, inner: null, pond: id, label, major: "", frame: "", members: [] };
}

function edge(source: string, target: string, kind: EdgeKind): CanvasEdge {
  return { id: `${source}→${target}`, source, target, kind, parts: [] };
}

function addReactors(
  world: World,
  graph: GraphView | null,
  shown: Shown,
  nodes: Map<string, CanvasNode>,
  edges: CanvasEdge[],
): void {
  const jobs = new Set((graph?.jobs ?? []).map((job) => job.name));
  const of = new Map((graph?.reactors ?? []).map((reactor) => [reactor.name, reactor]));
  for (const reactor of world.reactors) {
    const id = `reactor:${reactor.name}`;
    const reads = (of.get(reactor.name)?.reads ?? []).flatMap((name) => newest(world, name) ?? []);
    const publishes = of.get(reactor.name)?.publishes ?? null;
    const target = publishes === null ? null : newest(world, publishes);
    const ties = [...reads, ...(target === null ? [] : [target])];
    if (shown.only !== null && !ties.some((key) => nodes.has(key))) continue;
    nodes.set(id, small("reactor", id, reactor.name, SMALL));
    for (const key of reads) if (nodes.has(key)) edges.push(edge(key, id, "reactor"));
    if (target !== null && nodes.has(target)) edges.push(edge(id, target, "reactor"));
    for (const job of of.get(reactor.name)?.jobs ?? [])
      if (jobs.has(job)) edges.push(edge(id, `job:${job}`, "reactor"));
  }
  for (const job of shown.only === null
    ? jobs
    : edges.flatMap((each) => (each.target.startsWith("job:") ? each.target.slice(4) : []))) {
    nodes.set(`job:${job}`, small("job", `job:${job}`, job, SMALL));
  }
}

/** Answer the newest major of a Pond. */
function newest(world: World, name: string): string | null {
  let found: string | null = null;
  for (const pond of world.ponds.values()) if (pond.name === name) found = pond.key;
  return found;
}

/** Answer everything above or below some nodes, themselves included. */
export function reach(edges: readonly CanvasEdge[], from: string, way: "up" | "down" | "both"): Set<string> {
  const found = new Set<string>([from]);
  const walk = (next: ReadonlyMap<string, string[]>) => {
    const open = [from];
    const seen = new Set<string>(open);
    for (let key = open.pop(); key !== undefined; key = open.pop()) {
      for (const each of next.get(key) ?? []) {
        if (seen.has(each)) continue;
        seen.add(each);
        found.add(each);
        open.push(each);
      }
    }
  };
  if (way !== "down")
    walk(
      joined(
        edges,
        (each) => each.target,
        (each) => each.source,
      ),
    );
  if (way !== "up")
    walk(
      joined(
        edges,
        (each) => each.source,
        (each) => each.target,
      ),
    );
  return found;
}

function joined(
  edges: readonly CanvasEdge[],
  from: (edge: CanvasEdge) => string,
  to: (edge: CanvasEdge) => string,
): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const each of edges) {
    const known = found.get(from(each));
    if (known === undefined) found.set(from(each), [to(each)]);
    else known.push(to(each));
  }
  return found;
}

export interface EdgeState {
  demand: "pull" | "push" | "none";
  isAhead: boolean;
}

/** The demand on an edge, and whether what is asked for is there: then only the reader is to run. */
export function edgeState(world: World, edge: CanvasEdge): EdgeState {
  if (edge.parts.length > 0) {
    const parts = edge.parts.map((part) => edgeState(world, part));
    const asked = (["push", "pull"] as const).find((demand) => parts.some((part) => part.demand === demand));
    return {
      demand: asked ?? "none",
      isAhead: parts.some((part) => part.isAhead && (asked === undefined || part.demand === asked)),
    };
  }
  if (edge.kind === "trigger") {
    const trigger = edge.target.split(":")[2];
    return { demand: trigger === "wave" ? "pull" : "push", isAhead: false };
  }
  const source = world.ponds.get(edge.source);
  const sink = world.ponds.get(edge.target);
  if (sink === undefined) return { demand: "none", isAhead: false };
  const isAhead = source !== undefined && source.freshness !== null && source.freshness > (sink.freshness ?? -1);
  const demand = sink.demand.targets.length > 0 ? "push" : sink.demand.pull ? "pull" : "none";
  return { demand, isAhead };
}

/** A number that differs when what is laid out differs: sizes and edges, not states. */
export function hashOf(text: string): string {
  let one = 0xdeadbeef;
  let two = 0x41c6ce57;
  for (let position = 0; position < text.length; position += 1) {
    const code = text.charCodeAt(position);
    one = Math.imul(one ^ code, 2654435761);
    two = Math.imul(two ^ code, 1597334677);
  }
  one = Math.imul(one ^ (one >>> 16), 2246822507) ^ Math.imul(two ^ (two >>> 13), 3266489909);
  two = Math.imul(two ^ (two >>> 16), 2246822507) ^ Math.imul(one ^ (one >>> 13), 3266489909);
  return (4294967296 * (2097151 & two) + (one >>> 0)).toString(36);
}
