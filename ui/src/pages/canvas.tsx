// Everything that is deployed as one picture, live: what runs, what waits, who asks whom.
import {
  Background,
  BackgroundVariant,
  Controls,
  MiniMap,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStore,
  type Edge,
} from "@xyflow/react";
import { useCallback, useEffect, useMemo, useRef, type CSSProperties } from "react";
import { useGet } from "../api";
import { areOpen, canvasGraph, reach } from "./canvas/graph";
import { Chosen, type Way } from "./canvas/chosen";
import { Drawing, type Look } from "./canvas/draw";
import { useLayout } from "./canvas/layout";
import { Legend } from "./canvas/legend";
import { ALL, closedOf, folded, grouped, groupsOf, WAYS } from "./canvas/groups";
import {
  FrameNode,
  GroupNode,
  JobNode,
  MissingNode,
  PondNode,
  ReactorNode,
  TriggerNode,
  type DrawnNode,
} from "./canvas/nodes";
import { pondOf } from "../feed";
import { useWorld } from "../live";
import { Empty } from "../parts/basics";
import { change, go, here, hrefOf, usePlace } from "../router";
import type { GraphView } from "../types";
import type { Page } from "./page";

const KINDS = {
  pond: PondNode,
  trigger: TriggerNode,
  reactor: ReactorNode,
  job: JobNode,
  missing: MissingNode,
  collapsed: GroupNode,
  frame: FrameNode,
};
/** Below these sizes a node shows less, in larger letters. */
const FAR = 0.72;
const VERY_FAR = 0.34;

function Canvas() {
  const world = useWorld();
  if (world.ponds.size === 0 && world.reactors.length === 0) {
    return (
      <Empty title="There is nothing to draw yet" commands={["pondage init my-pipeline", "pondage deploy"]}>
        Every Pond of a deployed project appears here, with what it reads.
      </Empty>
    );
  }
  return (
    <ReactFlowProvider>
      <Picture />
    </ReactFlowProvider>
  );
}

function Picture() {
  const world = useWorld();
  const { params } = usePlace();
  const pond = params.pond === undefined ? undefined : pondOf(world, params.pond);
  const chosen = pond?.key ?? "";
  const way: Way = params.way === "up" || params.way === "down" ? params.way : "both";
  const find = (params.find ?? "").toLowerCase();
  const isOnly = params.only === "1" && chosen !== "";
  const flip = params.flip ?? "";
  const by = WAYS.find((each) => each === params.group) ?? null;
  const isOpen = params.ripples === "show" ? true : params.ripples === "hide" ? false : null;
  // The shape does not change with states; it is made again only when Ponds, Sources, triggers or reactors do.
  const shape = useMemo(
    () =>
      JSON.stringify([
        [...world.ponds.values()].map((pond) => [
          pond.key,
          pond.version,
          pond.sources,
          pond.triggers.map((each) => [each.kind, each.name, each.limit_us]),
        ]),
        world.reactors.map((reactor) => reactor.name),
      ]),
    [world.ponds, world.reactors],
  );
  // The graph comes with the first message of the feed; it is read again when a deploy may have changed it.
  const reread = useGet<GraphView>(world.graph === null ? "graph" : null, {}, shape).data;
  const deployed = world.graph ?? reread;
  const latest = useRef(world);
  latest.current = world;
  const whole = useMemo(
    () => canvasGraph(latest.current, deployed, { isOpen, flipped: new Set(flip.split(",")), only: null }),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- `shape` is what of the world this depends on
    [shape, deployed, flip, isOpen],
  );
  const groups = useMemo(() => groupsOf(deployed, by), [deployed, by]);
  const closed = useMemo(() => closedOf(params.closed, groups), [params.closed, groups]);
  const plain = useMemo(
    () =>
      isOnly
        ? canvasGraph(latest.current, deployed, {
            isOpen,
            flipped: new Set(flip.split(",")),
            only: reach(whole.edges, chosen, way),
          })
        : whole,
    [isOnly, whole, chosen, way, deployed, flip, isOpen],
  );
  const graph = useMemo(() => grouped(plain, groups, closed), [plain, groups, closed]);
  // Where the chosen one is: itself, or the group that it is collapsed into.
  const shownAs = useMemo(
    () => graph.nodes.find((node) => node.members.includes(chosen))?.id ?? chosen,
    [graph, chosen],
  );
  const isShowing = isOpen ?? areOpen(deployed);
  const positions = useLayout(graph);
  const bright = useMemo(() => {
    if (find !== "")
      return new Set(
        graph.nodes
          .filter((node) => [node.label, ...node.members].some((name) => name.toLowerCase().includes(find)))
          .map((node) => node.id),
      );
    return chosen === "" ? null : reach(graph.edges, shownAs, way);
  }, [find, chosen, shownAs, way, graph]);
  const onFlip = useCallback((key: string) => {
    const flipped = new Set((here().params.flip ?? "").split(",").filter((each) => each !== ""));
    if (!flipped.delete(key)) flipped.add(key);
    change({ flip: [...flipped].sort().join(",") });
  }, []);
  const onFold = useCallback((name: string) => change({ closed: folded(closed, name) }), [closed]);
  const drawing = useRef(new Drawing());
  const drawn = useMemo(() => {
    if (positions === null) return null;
    const look: Look = { graph, positions, deployed, bright, chosen: shownAs, onFlip, onFold };
    const shape = `${isOnly} ${by ?? ""} ${params.closed ?? ""}`;
    return { nodes: drawing.current.drawNodes(world, look), edges: drawing.current.drawEdges(world, look), shape };
  }, [world, graph, positions, deployed, bright, shownAs, onFlip, onFold, isOnly, by, params.closed]);
  const kept = useRef(drawn);
  if (drawn !== null) kept.current = drawn;
  const shown = kept.current;
  return (
    <div className="canvas">
      <h1 className="unseen">Canvas</h1>
      {shown === null ? (
        <p className="loading canvas-loading">Arranging …</p>
      ) : (
        <Flow nodes={shown.nodes} edges={shown.edges} shape={shown.shape} isBeside={pond !== undefined} />
      )}
      <div className="canvas-tools">
        <input
          type="search"
          aria-label="Find on the canvas"
          placeholder="Find on the canvas"
          value={params.find ?? ""}
          onChange={(event) => change({ find: event.target.value }, { replace: true })}
        />
        <button type="button" onClick={() => change({ ripples: isShowing ? "hide" : "show", flip: null })}>
          {isShowing ? "Hide Ripples" : "Show Ripples"}
        </button>
        <select
          aria-label="Group"
          value={by ?? ""}
          onChange={(event) => change({ group: event.target.value, closed: null })}
        >
          <option value="">no groups</option>
          {WAYS.map((each) => (
            <option key={each} value={each}>
              by {each}
            </option>
          ))}
        </select>
        {groups.size === 0 ? null : (
          <button type="button" onClick={() => change({ closed: closed.size > 0 ? null : ALL })}>
            {closed.size > 0 ? "Open groups" : "Collapse groups"}
          </button>
        )}
      </div>
      <Legend />
      {pond === undefined ? null : <Chosen pond={pond} way={way} isOnly={isOnly} />}
    </div>
  );
}

interface FlowProps {
  nodes: DrawnNode[];
  edges: Edge[];
  /** Everything is brought into sight again when this is different. */
  shape: string;
  /** Whether the panel of a Pond takes a part of the width. */
  isBeside: boolean;
}

function Flow({ nodes, edges, shape, isBeside }: FlowProps) {
  const distance = useStore(({ transform: [, , zoom] }) =>
    zoom < VERY_FAR ? "is-far is-very-far" : zoom < FAR ? "is-far" : "",
  );
  // Names stay readable from afar: their letters grow as the picture shrinks, in steps, so that few zooms draw anything.
  const near = useStore(({ transform: [, , zoom] }) => Math.round(Math.max(zoom, 0.2) * 20) / 20);
  const flow = useReactFlow();
  const fit = {
    padding: { top: "56px", left: "58px", bottom: "64px", right: isBeside ? "350px" : "24px" },
    maxZoom: 1,
  } as const;
  useEffect(() => {
    void flow.fitView(fit);
    // eslint-disable-next-line react-hooks/exhaustive-deps -- choosing a Pond opens a panel, and moves nothing
  }, [shape, flow]);
  return (
    <ReactFlow
      className={distance}
      style={{ "--near": near } as CSSProperties}
      nodes={nodes}
      edges={edges}
      nodeTypes={KINDS}
      nodesDraggable={false}
      nodesConnectable={false}
      elementsSelectable={false}
      edgesFocusable={false}
      minZoom={0.08}
      maxZoom={1.6}
      fitView
      fitViewOptions={fit}
      proOptions={{ hideAttribution: true }}
      onlyRenderVisibleElements={nodes.length > 120}
      onNodeClick={(_, node) => choose(node)}
      onNodeDoubleClick={(_, node) => open(node)}
      onKeyDown={(event) => {
        const id = event.key === "Enter" && event.target instanceof HTMLElement ? event.target.dataset.id : undefined;
        const node = id === undefined ? undefined : nodes.find((each) => each.id === id);
        if (node !== undefined) choose(node);
      }}
      onPaneClick={() => change({ pond: null, way: null, only: null })}
    >
      <Background variant={BackgroundVariant.Dots} gap={22} size={1} />
      <Controls showInteractive={false} />
      {/* From afar everything is in sight already. */}
      {distance === "" ? (
        <MiniMap
          pannable
          zoomable
          nodeClassName={(node) => `mini-${(node as DrawnNode).data.state}`}
          ariaLabel="The whole canvas, small"
        />
      ) : null}
    </ReactFlow>
  );
}

function choose(node: DrawnNode): void {
  const { kind, pond, label } = node.data.node;
  if (node.type === "frame") change({ pond: null, way: null, only: null });
  else if (kind === "group") node.data.onFold(label);
  else if (kind === "pond" || kind === "trigger") change({ pond });
  else open(node);
}

function open(node: DrawnNode): void {
  const { kind, id, pond } = node.data.node;
  if (kind === "reactor") go(hrefOf(here(), "reactors", { reactor: id.slice(8) }));
  else if (kind === "job") go(hrefOf(here(), "runs", { job: id.slice(4) }));
  else if (kind === "pond" || kind === "trigger") go(hrefOf(here(), "node", { pond }));
}

export const canvas: Page = {
  id: "canvas",
  title: "Canvas",
  shortcut: "c",
  icon: "M4 5h6v5H4zM14 4h6v5h-6zM14 15h6v5h-6zM10 7.5h4M10 8.5c3 0 1 9 4 9",
  isWide: true,
  Component: Canvas,
};
