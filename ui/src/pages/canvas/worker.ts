// dagre, away from the thread that draws.
import dagre from "@dagrejs/dagre";
import type { Position, Task } from "./arrange";
import { packed, partsOf, type Part } from "./pack";

self.onmessage = ({ data }: MessageEvent<{ hash: string; task: Task }>) => {
  self.postMessage({ hash: data.hash, corners: packed(partsOf(data.task).map(layout)) });
};

function layout(task: Task): Part {
  const isFramed = task.blocks.some((block) => block.frame !== "");
  const graph = new dagre.graphlib.Graph({ compound: isFramed });
  // A frame needs room for its margin and its name.
  graph.setGraph({ rankdir: "LR", nodesep: isFramed ? 44 : 16, ranksep: 84, edgesep: 8, ranker: "tight-tree" });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id, width, height, frame } of task.blocks) {
    graph.setNode(id, { width, height });
    if (frame === "") continue;
    graph.setNode(`frame:${frame}`, {});
    graph.setParent(id, `frame:${frame}`);
  }
  for (const [source, target] of task.edges) graph.setEdge(source, target);
  dagre.layout(graph);
  const corners: Record<string, Position> = {};
  for (const { id, width, height } of task.blocks) {
    const { x, y } = graph.node(id) as { x: number; y: number };
    corners[id] = [Math.round(x - width / 2), Math.round(y - height / 2)];
  }
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return { corners, width, height };
}
