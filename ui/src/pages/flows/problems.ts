// Which node, parameter or edge a problem is about, from its JSON pointer. Pure.
import type { FlowProblem } from "../../types";
import { edgeId, type Tree } from "./tree";

export interface Placed {
  nodes: ReadonlyMap<string, readonly FlowProblem[]>;
  /** By the id of the edge. */
  edges: ReadonlyMap<string, readonly FlowProblem[]>;
  extracts: ReadonlyMap<string, readonly FlowProblem[]>;
}

export function placedProblems(problems: readonly FlowProblem[], tree: Tree): Placed {
  const nodes = new Map<string, FlowProblem[]>();
  const edges = new Map<string, FlowProblem[]>();
  const extracts = new Map<string, FlowProblem[]>();
  for (const problem of problems) {
    const [, first, second] = partsOf(problem.pointer);
    if (second === undefined) continue;
    if (first === "nodes") add(nodes, second, problem);
    if (first === "extract") add(extracts, second, problem);
    const edge = first === "edges" ? tree.edges[Number(second)] : undefined;
    if (edge !== undefined) add(edges, edgeId(edge), problem);
  }
  return { nodes, edges, extracts };
}

/** The problems at a value or inside of it. */
export function below(problems: readonly FlowProblem[], pointer: string): FlowProblem[] {
  return problems.filter((each) => each.pointer === pointer || each.pointer.startsWith(`${pointer}/`));
}

export function pointerTo(pointer: string, ...parts: readonly (string | number)[]): string {
  return [pointer, ...parts.map((part) => String(part).replaceAll("~", "~0").replaceAll("/", "~1"))].join("/");
}

function partsOf(pointer: string): string[] {
  return pointer.split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function add(into: Map<string, FlowProblem[]>, key: string, problem: FlowProblem): void {
  into.set(key, [...(into.get(key) ?? []), problem]);
}
