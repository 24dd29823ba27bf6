// Ponds in groups by project, tag or owner: an open one is framed, a collapsed one is a single node. Pure.
import type { World } from "../../feed";
import type { GraphView } from "../../types";
import { CARD, type CanvasEdge, type CanvasGraph, type CanvasNode } from "./graph";

export const WAYS = ["project", "tag", "owner"] as const;
export type Way = (typeof WAYS)[number];
/** In the address: every group is collapsed. */
export const ALL = "all";

/** Answer the group of each Pond. A Pond with several tags is in the group of its first; one without any is in none. */
export function groupsOf(graph: GraphView | null, way: Way | null): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  if (way === null) return found;
  for (const pond of graph?.ponds ?? []) {
    const name = way === "tag" ? (pond.tags[0] ?? "") : pond[way];
    if (name !== "") found.set(pond.key, name);
  }
  return found;
}

/** Answer the names that are collapsed, from what the address says. */
export function closedOf(text: string | undefined, groups: ReadonlyMap<string, string>): ReadonlySet<string> {
  return new Set(text === ALL ? groups.values() : (text ?? "").split(",").filter((name) => name !== ""));
}

/** Answer what the address says when one more group is collapsed, or one less. */
export function folded(closed: ReadonlySet<string>, name: string): string {
  const next = new Set(closed);
  if (!next.delete(name)) next.add(name);
  return [...next].sort().join(",");
}

export function grouped(
  graph: CanvasGraph,
  groups: ReadonlyMap<string, string>,
  closed: ReadonlySet<string>,
): CanvasGraph {
  if (groups.size === 0) return graph;
  const home = new Map<string, string>();
  const nodes = new Map<string, CanvasNode>();
  const members = new Map<string, string[]>();
  for (const node of graph.nodes) {
    const name = node.kind === "pond" || node.kind === "trigger" ? (groups.get(node.pond) ?? "") : "";
    if (!closed.has(name)) {
      nodes.set(node.id, { ...node, frame: name });
      continue;
    }
    home.set(node.id, idOf(name));
    const inside = members.get(name) ?? [];
    if (node.kind === "pond") inside.push(node.id);
    members.set(name, inside);
  }
  for (const [name, inside] of members) nodes.set(idOf(name), groupNode(name, inside));
  return { nodes: [...nodes.values()], edges: joined(graph.edges, home) };
}

function idOf(name: string): string {
  return `group:${name}`;
}

function groupNode(name: string, members: readonly string[]): CanvasNode {
  const id = idOf(name);
  return { id, kind: "group", block: id, ...CARD, inner: null, pond: "", label: name, major: "", frame: "", members };
}

/** Edges from and to what is collapsed become those of its group, one for each pair. */
function joined(edges: readonly CanvasEdge[], home: ReadonlyMap<string, string>): CanvasEdge[] {
  const found = new Map<string, CanvasEdge>();
  for (const edge of edges) {
    const source = home.get(edge.source) ?? edge.source;
    const target = home.get(edge.target) ?? edge.target;
    if (source === target) continue;
    if (source === edge.source && target === edge.target) {
      found.set(edge.id, edge);
      continue;
    }
    const id = `${source}→${target}`;
    found.set(id, { id, source, target, kind: "data", parts: [...(found.get(id)?.parts ?? []), edge] });
  }
  return [...found.values()];
}

/** What is worst comes first: a group shows the state that somebody must know of. */
const ORDER = ["failed", "blocked", "killed", "running", "queued", "idle"] as const;

/** Answer the state of a group and how many of its Ponds are in which. */
export function groupState(
  world: World,
  members: readonly string[],
): { state: string; counts: [state: string, count: number][] } {
  const counts = new Map<string, number>();
  for (const key of members) {
    const state = world.ponds.get(key)?.state ?? "idle";
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  const known = ORDER.flatMap((state): [string, number][] =>
    counts.has(state) ? [[state, counts.get(state) ?? 0]] : [],
  );
  return { state: known[0]?.[0] ?? "idle", counts: known };
}
