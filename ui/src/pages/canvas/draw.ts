// From the graph and the world to what xyflow draws. An object that did not change stays the same, so it is not drawn again.
import type { Edge } from "@xyflow/react";
import type { World } from "../../feed";
import type { GraphView, JobRunView } from "../../types";
import type { Positions } from "./arrange";
import { framesOf, type Frame } from "./arrange";
import { groupState } from "./groups";
import { edgeState, type CanvasEdge, type CanvasGraph, type CanvasNode } from "./graph";
import type { DrawnNode, NodeData } from "./nodes";

export interface Look {
  graph: CanvasGraph;
  positions: Positions;
  deployed: GraphView | null;
  bright: ReadonlySet<string> | null;
  chosen: string;
  onFlip: (key: string) => void;
  /** Collapse a group, or open it. */
  onFold: (name: string) => void;
}

export class Drawing {
  private nodes = new Map<string, DrawnNode>();
  private edges = new Map<string, Edge>();

  drawNodes(world: World, look: Look): DrawnNode[] {
    const ponds = new Map((look.deployed?.ponds ?? []).map((pond) => [pond.key, pond]));
    const reactors = new Map(world.reactors.map((reactor) => [`reactor:${reactor.name}`, reactor]));
    const frames = framesOf(look.graph, look.positions).map((frame) => this.keptFrame(frame, look.onFold));
    const drawn = look.graph.nodes.flatMap((node) => {
      const position = look.positions[node.id];
      if (position === undefined) return [];
      const pond = world.ponds.get(node.id) ?? null;
      const graph = ponds.get(node.id) ?? null;
      const reactor = reactors.get(node.id) ?? null;
      const data: NodeData = {
        node,
        pond,
        graph,
        reactor,
        state: stateOf(world, node),
        counts: countsText(world, node),
        canOpen: (graph?.ripples.length ?? 0) > 1,
        isOpen: node.inner !== null,
        isDim: look.bright !== null && !look.bright.has(node.id),
        isChosen: look.chosen === node.id,
        onFlip: look.onFlip,
        onFold: look.onFold,
      };
      return [this.keptNode(node, position[0], position[1], data)];
    });
    const all = [...frames, ...drawn];
    this.nodes = new Map(all.map((node) => [node.id, node]));
    return all;
  }

  private keptFrame(frame: Frame, onFold: (name: string) => void): DrawnNode {
    const id = `frame:${frame.name}`;
    const before = this.nodes.get(id);
    const { x, y, width, height } = frame;
    if (
      before !== undefined &&
      before.position.x === x &&
      before.position.y === y &&
      before.width === width &&
      before.height === height &&
      before.data.onFold === onFold
    )
      return before;
    const node: CanvasNode = {
      id,
      kind: "group",
      block: id,
      width,
      height,
      inner: null,
      pond: "",
      label: frame.name,
      major: "",
      frame: "",
      members: [],
    };
    return {
      id,
      type: "frame",
      position: { x, y },
      width,
      height,
      data: frameData(node, onFold),
      draggable: false,
      connectable: false,
      focusable: false,
      zIndex: -1,
    };
  }

  private keptNode(node: CanvasNode, x: number, y: number, data: NodeData): DrawnNode {
    const before = this.nodes.get(node.id);
    if (before !== undefined && before.position.x === x && before.position.y === y && isSame(before.data, data))
      return before;
    return {
      id: node.id,
      // The library has a look of its own for what is called a group.
      type: node.kind === "group" ? "collapsed" : node.kind,
      position: { x, y },
      width: node.width,
      height: node.height,
      data,
      draggable: false,
      connectable: false,
      ariaLabel: `${node.kind} ${node.label}, ${data.state}`,
    };
  }

  drawEdges(world: World, look: Look): Edge[] {
    const drawn = look.graph.edges.flatMap((edge) => {
      if (look.positions[edge.source] === undefined || look.positions[edge.target] === undefined) return [];
      const { demand, isAhead } = edgeState(world, edge);
      const isDim = look.bright !== null && !(look.bright.has(edge.source) && look.bright.has(edge.target));
      return [
        this.keptEdge(
          edge,
          `edge-${edge.kind} demand-${demand} ${isAhead ? "is-ahead" : ""} ${isDim ? "is-dim" : ""}`,
          demand,
        ),
      ];
    });
    this.edges = new Map(drawn.map((edge) => [edge.id, edge]));
    return drawn;
  }

  private keptEdge(edge: CanvasEdge, className: string, demand: string): Edge {
    const before = this.edges.get(edge.id);
    if (before !== undefined && before.className === className) return before;
    const asks = demand === "none" ? "reads" : demand === "pull" ? "pulls from" : "is pushed by way of";
    return {
      id: edge.id,
      source: edge.source,
      target: edge.target,
      className,
      focusable: false,
      ariaLabel: `${edge.target} ${asks} ${edge.source}`,
    };
  }
}

function isSame(one: NodeData, other: NodeData): boolean {
  return (Object.keys(other) as (keyof NodeData)[]).every((key) => one[key] === other[key]);
}

function frameData(node: CanvasNode, onFold: (name: string) => void): NodeData {
  const none = {
    pond: null,
    graph: null,
    reactor: null,
    counts: "",
    canOpen: false,
    isOpen: false,
    isDim: false,
    isChosen: false,
  };
  return { node, state: "idle", ...none, onFlip: onFold, onFold };
}

/** Of a group: how many of its Ponds are in which state. As text, so that an equal one is the same. */
function countsText(world: World, node: CanvasNode): string {
  if (node.kind !== "group") return "";
  return groupState(world, node.members)
    .counts.map(([state, count]) => `${count} ${state}`)
    .join(" · ");
}

/** What colour a node has. */
export function stateOf(world: World, node: CanvasNode): string {
  switch (node.kind) {
    case "group":
      return groupState(world, node.members).state;
    case "pond":
      return world.ponds.get(node.id)?.state ?? "idle";
    case "trigger":
      return "idle";
    case "missing":
      return "missing";
    case "reactor": {
      const state = world.reactors.find((each) => `reactor:${each.name}` === node.id)?.state ?? "Stopped";
      return state === "Failed"
        ? "failed"
        : state === "Degraded" || state === "Warming"
          ? "queued"
          : state === "Live"
            ? "running"
            : "idle";
    }
    case "job":
      return jobState([...world.runs.values()].filter((run) => !run.is_flow && `job:${run.job}` === node.id));
  }
}

/** A job is what its newest run is. */
function jobState(runs: readonly JobRunView[]): string {
  const newest = runs.reduce<JobRunView | null>(
    (best, run) => (best === null || run.started_at > best.started_at ? run : best),
    null,
  );
  if (newest === null) return "idle";
  if (newest.halted !== null) return "failed";
  return { RUNNING: "running", ERROR: "failed", ABORTED: "killed" }[newest.state] ?? "idle";
}
