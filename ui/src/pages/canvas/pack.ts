// Graphs that hang together are laid out one by one and set beside each other, so that the whole fits a screen. Pure.
import type { Position, Positions, Task } from "./arrange";

const GAP = 64;
/** How much wider than high the whole should be. */
const SHAPE = 1.5;

/** Answer the parts of a graph that hang together, the largest first. */
export function partsOf(task: Task): Task[] {
  const parent = new Map(task.blocks.map((block) => [block.id, block.id]));
  const rootOf = (id: string): string => {
    let root = id;
    for (let next = parent.get(root); next !== undefined && next !== root; next = parent.get(root)) root = next;
    parent.set(id, root);
    return root;
  };
  for (const [source, target] of task.edges) parent.set(rootOf(source), rootOf(target));
  const framed = new Map<string, string>();
  for (const { id, frame } of task.blocks) {
    if (frame === "") continue;
    parent.set(rootOf(id), rootOf(framed.get(frame) ?? id));
    framed.set(frame, id);
  }
  const parts = new Map<string, { blocks: Task["blocks"][number][]; edges: Task["edges"][number][] }>();
  for (const block of task.blocks) {
    const root = rootOf(block.id);
    const part = parts.get(root) ?? { blocks: [], edges: [] };
    part.blocks.push(block);
    parts.set(root, part);
  }
  for (const edge of task.edges) parts.get(rootOf(edge[0]))?.edges.push(edge);
  return [...parts.values()].sort((one, other) => other.blocks.length - one.blocks.length);
}

export interface Part {
  corners: Positions;
  width: number;
  height: number;
}

/** Set parts in rows, with as many in the first as gives the whole its shape; what stands alone is one column. */
export function packed(all: readonly Part[]): Positions {
  const parts = withColumn(all);
  let best: { corners: Positions; size: number } | null = null;
  let limit = 0;
  for (const part of parts) {
    limit += part.width + GAP;
    const { corners, width, height } = rows(parts, limit);
    const size = Math.max(width / SHAPE, height);
    if (best === null || size < best.size) best = { corners, size };
  }
  return best?.corners ?? {};
}

/** A reactor or a job that nothing is joined to would take a place of its own in a row: several are set below each other. */
function withColumn(all: readonly Part[]): readonly Part[] {
  const alone = all.filter((part) => Object.keys(part.corners).length === 1);
  const others = all.filter((part) => !alone.includes(part));
  const height = Math.max(0, ...others.map((part) => part.height));
  if (others.length === 0 || alone.length < 2) return all;
  const corners: Record<string, Position> = {};
  let [left, top, widest, lowest] = [0, 0, 0, 0];
  for (const part of alone) {
    if (top > 0 && top + part.height > height) [left, top, widest] = [left + widest + GAP / 2, 0, 0];
    for (const [id, [x, y]] of Object.entries(part.corners)) corners[id] = [left + x, top + y];
    widest = Math.max(widest, part.width);
    lowest = Math.max(lowest, top + part.height);
    top += part.height + GAP / 4;
  }
  return [...others, { corners, width: left + widest, height: lowest }];
}

function rows(parts: readonly Part[], limit: number): Part {
  const corners: Record<string, Position> = {};
  let [left, top, tallest, widest] = [0, 0, 0, 0];
  for (const part of parts) {
    if (left > 0 && left + part.width > limit) {
      top += tallest + GAP;
      [left, tallest] = [0, 0];
    }
    for (const [id, [x, y]] of Object.entries(part.corners)) corners[id] = [left + x, top + y];
    left += part.width + GAP;
    widest = Math.max(widest, left);
    tallest = Math.max(tallest, part.height);
  }
  return { corners, width: widest, height: top + tallest };
}
