// From a graph to places: what is handed to dagre, and what becomes of its answer. Pure; dagre itself is in the worker.
import { hashOf, type CanvasGraph, type CanvasNode } from "./graph";

export type Position = readonly [x: number, y: number];
export type Positions = Readonly<Record<string, Position>>;

export interface Task {
  /** `frame`: blocks of one stay beside each other, and nothing else comes between them. */
  blocks: readonly { id: string; width: number; height: number; frame: string }[];
  edges: readonly (readonly [string, string])[];
}

const BETWEEN = 10;

/** Answer what is laid out: blocks, each with the nodes that stay beside each other. */
export function taskOf(graph: CanvasGraph): { task: Task; hash: string } {
  const of = new Map(graph.nodes.map((node) => [node.id, node.block]));
  const blocks = [...blocksOf(graph).entries()].map(([id, nodes]) => ({
    id,
    width: Math.max(...nodes.map((node) => node.width)),
    height: nodes.reduce((sum, node) => sum + node.height, 0) + (nodes.length - 1) * BETWEEN,
    frame: nodes[0]?.frame ?? "",
  }));
  const seen = new Set<string>();
  const edges: [string, string][] = [];
  for (const edge of graph.edges) {
    const [source, target] = [of.get(edge.source), of.get(edge.target)];
    if (source === undefined || target === undefined || source === target) continue;
    const key = `${source}→${target}`;
    if (!seen.has(key)) edges.push([source, target]);
    seen.add(key);
  }
  const task = { blocks, edges };
  const inside = graph.nodes.map((node) => [node.id, node.block, node.width, node.height]);
  return { task, hash: hashOf(JSON.stringify([task, inside])) };
}

/** Answer the upper left corner of every node from those of the blocks. */
export function placed(graph: CanvasGraph, corners: Positions): Positions {
  const found: Record<string, Position> = {};
  for (const [id, nodes] of blocksOf(graph)) {
    const corner = corners[id];
    if (corner === undefined) continue;
    const width = Math.max(...nodes.map((node) => node.width));
    let y = corner[1];
    for (const node of nodes) {
      found[node.id] = [corner[0] + (width - node.width) / 2, y];
      y += node.height + BETWEEN;
    }
  }
  return found;
}

export interface Frame {
  name: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

const MARGIN = 12;
export const TITLE = 24;

/** Answer the frames around the groups that are open. */
export function framesOf(graph: CanvasGraph, positions: Positions): Frame[] {
  const corners = new Map<string, [left: number, top: number, right: number, bottom: number]>();
  for (const node of graph.nodes) {
    const at = positions[node.id];
    if (node.frame === "" || at === undefined) continue;
    const [left, top, right, bottom] = corners.get(node.frame) ?? [Infinity, Infinity, -Infinity, -Infinity];
    corners.set(node.frame, [
      Math.min(left, at[0]),
      Math.min(top, at[1]),
      Math.max(right, at[0] + node.width),
      Math.max(bottom, at[1] + node.height),
    ]);
  }
  return [...corners].map(([name, [left, top, right, bottom]]) => ({
    name,
    x: left - MARGIN,
    y: top - MARGIN - TITLE,
    width: right - left + 2 * MARGIN,
    height: bottom - top + 2 * MARGIN + TITLE,
  }));
}

function blocksOf(graph: CanvasGraph): Map<string, CanvasNode[]> {
  const found = new Map<string, CanvasNode[]>();
  for (const node of graph.nodes) {
    const known = found.get(node.block);
    if (known === undefined) found.set(node.block, [node]);
    else known.push(node);
  }
  return found;
}
