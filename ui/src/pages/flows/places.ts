// Where nodes stand: arranged from left to right, aligned, or where somebody has put them. Pure.
import type { NodePorts } from "./ports";
import { endOf, STOP, type Tree } from "./tree";

export type Point = Readonly<{ x: number; y: number }>;
export type Places = Readonly<Record<string, Point>>;

export const WIDTH = 210;
const HEAD = 46;
const LINE = 22;
const FOOT = 8;
export const ACROSS = 130;
const DOWN = 26;
export const GRID = 10;

/** How high a node is drawn. */
export function heightOf(ports: NodePorts | undefined): number {
  return HEAD + LINE * Math.max(ports?.inputs.length ?? 1, ports?.outputs.length ?? 1) + FOOT;
}

/** Place all nodes: each one column behind the last that leads to it, near those it is connected with. */
export function arranged(tree: Tree, ports: ReadonlyMap<string, NodePorts>): Places {
  const names = Object.keys(tree.nodes);
  const links = tree.edges
    .filter(([, target]) => endOf(target)[1] !== STOP)
    .map(([source, target]) => [endOf(source)[0], endOf(target)[0]] as const)
    .filter(([source, target]) => source in tree.nodes && target in tree.nodes);
  const column = columns(names, links);
  const places: Record<string, Point> = {};
  const last = Math.max(0, ...column.values());
  for (let at = 0; at <= last; at += 1) {
    const here = names.filter((name) => column.get(name) === at);
    const wanted = new Map(here.map((name) => [name, middleOf(name, links, places)]));
    here.sort((one, other) => (wanted.get(one) ?? 0) - (wanted.get(other) ?? 0));
    let y = 0;
    for (const name of here) {
      places[name] = { x: at * (WIDTH + ACROSS), y };
      y += heightOf(ports.get(name)) + DOWN;
    }
  }
  return places;
}

function columns(names: readonly string[], links: readonly (readonly [string, string])[]): Map<string, number> {
  const column = new Map(names.map((name) => [name, 0]));
  for (let turn = 0; turn < names.length; turn += 1) {
    let hasMoved = false;
    for (const [source, target] of links) {
      const wanted = (column.get(source) ?? 0) + 1;
      if ((column.get(target) ?? 0) >= wanted || wanted >= names.length) continue;
      column.set(target, wanted);
      hasMoved = true;
    }
    if (!hasMoved) break;
  }
  return column;
}

function middleOf(name: string, links: readonly (readonly [string, string])[], places: Places): number {
  const above = links.flatMap(([source, target]) => (target === name ? [places[source]?.y ?? 0] : []));
  return above.length === 0 ? Number.MAX_SAFE_INTEGER : above.reduce((sum, y) => sum + y, 0) / above.length;
}

/** Keep what has a place, and find one for what has none: right of everything it hangs on, below what is there. */
export function completed(places: Places, tree: Tree, ports: ReadonlyMap<string, NodePorts>): Places {
  const names = Object.keys(tree.nodes);
  const known = names.filter((name) => name in places);
  if (known.length === 0) return arranged(tree, ports);
  if (known.length === names.length && Object.keys(places).length === names.length) return places;
  const found: Record<string, Point> = Object.fromEntries(known.map((name) => [name, places[name] as Point]));
  const wanted = arranged(tree, ports);
  for (const name of names) if (!(name in found)) found[name] = freePlace(found, wanted[name] as Point, name, ports);
  return found;
}

/** The next place below a wanted one where nothing is in the way. */
export function freePlace(places: Places, wanted: Point, name: string, ports: ReadonlyMap<string, NodePorts>): Point {
  const height = heightOf(ports.get(name));
  let { y } = wanted;
  const isTaken = (): [string, Point] | undefined =>
    Object.entries(places).find(
      ([other, at]) =>
        other !== name &&
        Math.abs(at.x - wanted.x) < WIDTH + 20 &&
        y < at.y + heightOf(ports.get(other)) + DOWN &&
        at.y < y + height + DOWN,
    );
  for (let found = isTaken(); found !== undefined; found = isTaken()) {
    y = found[1].y + heightOf(ports.get(found[0])) + DOWN;
  }
  return { x: wanted.x, y };
}

/** Let several nodes begin at the same x, or at the same y: those of the first of them. */
export function aligned(places: Places, names: readonly string[], along: "x" | "y"): Places {
  const first = Math.min(...names.map((name) => places[name]?.[along] ?? 0));
  const moved = names.map((name) => [name, { ...(places[name] as Point), [along]: first }] as const);
  return { ...places, ...Object.fromEntries(moved) };
}
