// The canvas on which a tree is built: nodes are moved, ports connected, things dropped and taken away.
import {
  applyNodeChanges,
  Background,
  BackgroundVariant,
  Controls,
  MarkerType,
  MiniMap,
  ReactFlow,
  useConnection,
  useReactFlow,
  type Connection,
  type Edge,
  type EdgeChange,
  type NodeChange,
  type OnConnectStartParams,
} from "@xyflow/react";
import { useCallback, useEffect, useMemo, useState, type Dispatch, type DragEvent, type SetStateAction } from "react";
import { columnsText } from "../../parts/job/graph";
import type { FlowCheckView } from "../../types";
import { check, type Draft } from "./draft";
import { ConnectingPort, ProgramNode, type Connecting, type TreeFlowNode } from "./node";
import { GRID, type Point } from "./places";
import type { Placed } from "./problems";
import { connected, edgeId, endOf, PANIC, STOP, withoutEdges, withoutNodes, type TreeNode } from "./tree";

const KINDS = { program: ProgramNode };
export const DROPPED = "application/x-pondage-node";

export interface Chosen {
  nodes: ReadonlySet<string>;
  edges: ReadonlySet<string>;
}

const FIT = { padding: 0.12, maxZoom: 1 };

export const NOBODY: Chosen = { nodes: new Set(), edges: new Set() };

interface DrawingProps {
  draft: Draft;
  chosen: Chosen;
  onChoose: Dispatch<SetStateAction<Chosen>>;
  problems: Placed;
  states: ReadonlyMap<string, string>;
  onAdd: (node: TreeNode, at: Point) => void;
  onRefused: (text: string) => void;
  /** Everything is brought into sight again when this is different, as soon as it is drawn. */
  shape: number;
}

export function Drawing({ draft, chosen, onChoose, problems, states, onAdd, onRefused, shape }: DrawingProps) {
  const { tree, text, edit, move, places } = draft;
  const [connecting, setConnecting] = useState<Connecting | null>(null);
  const [nodes, setNodes] = useNodes(draft, chosen, problems, states);
  const edges = useEdges(draft, chosen, problems, states);
  const flow = useReactFlow();
  const isBroken = draft.broken !== null;
  const isDrawn =
    nodes.length === Object.keys(tree.nodes).length && nodes.every((each) => each.measured?.width !== undefined);
  useEffect(() => {
    if (isDrawn) void flow.fitView(FIT);
  }, [isDrawn, shape, flow]);

  const onNodesChange = useCallback(
    (changes: NodeChange<TreeFlowNode>[]) => {
      setNodes((before) => applyNodeChanges(changes, before));
      onChoose((before) => ({ ...before, nodes: picked(before.nodes, changes) }));
      const moved: Record<string, Point> = {};
      for (const change of changes) {
        if (change.type === "position" && change.position !== undefined && change.dragging !== true)
          moved[change.id] = change.position;
      }
      if (Object.keys(moved).length > 0) move({ ...places, ...moved }, `move ${Object.keys(moved).join(" ")}`);
    },
    [move, places, setNodes, onChoose],
  );
  const start = (_: unknown, { nodeId, handleId }: OnConnectStartParams) => {
    const from = `${nodeId}.${handleId}`;
    setConnecting({ from, fits: null });
    check(text, draft.name, from)
      .then(({ fits }) => setConnecting((before) => (before?.from === from ? { from, fits } : before)))
      .catch(() => undefined);
  };
  const other = (connection: Connection | Edge): string => {
    const source = `${connection.source}.${connection.sourceHandle}`;
    return source === connecting?.from ? `${connection.target}.${connection.targetHandle}` : source;
  };
  const mayConnect = (connection: Connection | Edge): boolean =>
    connecting?.fits == null || connecting.fits[other(connection)]?.why === "";
  const connect = (connection: Connection) => {
    const source = `${connection.source}.${connection.sourceHandle}`;
    const target = `${connection.target}.${connection.targetHandle}`;
    void connectedIfFit(draft, source, target).then((refused) => (refused === "" ? undefined : onRefused(refused)));
  };
  const drop = (event: DragEvent) => {
    const given = event.dataTransfer.getData(DROPPED);
    if (given === "") return;
    event.preventDefault();
    onAdd(JSON.parse(given) as TreeNode, flow.screenToFlowPosition({ x: event.clientX, y: event.clientY }));
  };
  return (
    <ConnectingPort.Provider value={connecting}>
      <ReactFlow
        className={`tree ${connecting === null ? "" : "is-connecting"} ${isBroken ? "is-broken" : ""}`}
        nodes={nodes}
        edges={edges}
        nodeTypes={KINDS}
        onNodesChange={onNodesChange}
        onEdgesChange={(changes) => onChoose((before) => ({ ...before, edges: picked(before.edges, changes) }))}
        onConnect={connect}
        onConnectStart={start}
        onConnectEnd={(_, state) => {
          const { fromHandle, fromNode, toHandle, toNode, isValid } = state;
          setConnecting(null);
          if (isValid !== false || toHandle == null || fromHandle == null) return;
          const to = `${toNode?.id}.${toHandle.id}`;
          const fit = connecting?.fits?.[to];
          const isForward = fromHandle.type === "source";
          const from = `${fromNode?.id}.${fromHandle.id}`;
          if (fit !== undefined) onRefused(refusal(isForward ? from : to, isForward ? to : from, fit));
          else onRefused(`${from} and ${to} cannot be connected: an output leads to an input.`);
        }}
        isValidConnection={mayConnect}
        onDelete={({ nodes: gone, edges: lines }) =>
          edit((before) =>
            withoutNodes(
              withoutEdges(before, new Set(lines.map((each) => each.id))),
              new Set(gone.map((each) => each.id)),
            ),
          )
        }
        onDragOver={(event) => {
          if (event.dataTransfer.types.includes(DROPPED)) event.preventDefault();
        }}
        onDrop={drop}
        deleteKeyCode={isBroken ? null : ["Delete", "Backspace"]}
        nodesDraggable={!isBroken}
        nodesConnectable={!isBroken}
        connectionRadius={26}
        snapToGrid
        snapGrid={[GRID, GRID]}
        minZoom={0.1}
        maxZoom={1.6}
        onlyRenderVisibleElements={Object.keys(tree.nodes).length > 60}
        proOptions={{ hideAttribution: true }}
        ariaLabelConfig={{
          "node.a11yDescription.default":
            "Enter chooses the node, arrow keys move it, Delete removes it. Its ports are connected in the panel beside the canvas.",
        }}
      >
        <Background variant={BackgroundVariant.Dots} gap={2 * GRID} size={1.4} />
        <Controls showInteractive={false} />
        {Object.keys(tree.nodes).length > 12 ? <MiniMap pannable zoomable ariaLabel="All nodes" /> : null}
        <Told connecting={connecting} />
      </ReactFlow>
    </ConnectingPort.Provider>
  );
}

/** What the connection that is being drawn would mean: both types, and why it cannot be made. */
function Told({ connecting }: { connecting: Connecting | null }) {
  const to = useConnection((connection) =>
    connection.toHandle == null ? "" : `${connection.toHandle.nodeId}.${connection.toHandle.id}`,
  );
  if (connecting === null) return null;
  const fit = connecting.fits?.[to];
  const count = Object.values(connecting.fits ?? {}).filter((each) => each.why === "").length;
  return (
    <div className={`tree-told ${fit !== undefined && fit.why !== "" ? "is-unfit" : ""}`} role="status">
      {fit === undefined ? (
        connecting.fits === null ? (
          "asking what fits …"
        ) : (
          `${connecting.from}: ${count} that fit are lit`
        )
      ) : (
        <>
          <code>{fit.got}</code> {fit.why === "" ? "fits" : "does not fit"} <code>{fit.want}</code>
          {fit.why === "" ? null : <> · {fit.why}</>}
        </>
      )}
    </div>
  );
}

export function refusal(source: string, target: string, fit: { got: string; want: string; why: string }): string {
  return `${source} gives ${fit.got}; ${target} takes ${fit.want}: ${fit.why}`;
}

/** Make a connection when it fits; answers why not, else nothing. */
export async function connectedIfFit(draft: Draft, source: string, target: string): Promise<string> {
  let fit: FlowCheckView["fits"][string] | undefined;
  try {
    fit = (await check(draft.text, draft.name, source)).fits[target];
  } catch {
    return "the server does not answer";
  }
  if (fit !== undefined && fit.why !== "") return refusal(source, target, fit);
  draft.edit((tree) => connected(tree, source, target));
  return "";
}

function useNodes(draft: Draft, chosen: Chosen, problems: Placed, states: ReadonlyMap<string, string>) {
  const { tree, ports, places, lastView } = draft;
  const [nodes, setNodes] = useState<TreeFlowNode[]>([]);
  useEffect(() => {
    const extracts = new Map<string, Record<string, string>>();
    for (const [title, { from, format }] of Object.entries(tree.extract)) {
      const [name, port] = endOf(from);
      extracts.set(name, { ...extracts.get(name), [port]: `${title}.${format}` });
    }
    setNodes((before) => {
      const known = new Map(before.map((each) => [each.id, each]));
      return Object.entries(tree.nodes).map(([name, node]) => {
        const old = known.get(name);
        const nodePorts = ports.get(name) ?? { inputs: [], outputs: [] };
        const types: Record<string, string> = {};
        for (const port of nodePorts.outputs) {
          const type = lastView?.types[`${name}.${port.name}`];
          if (type !== undefined && type !== "infer") types[port.name] = type;
        }
        const data = {
          program: "prog" in node ? node.prog : "constant",
          ports: nodePorts,
          types,
          extracts: extracts.get(name) ?? {},
          problem: (problems.nodes.get(name) ?? []).map((each) => each.message).join("\n"),
          state: states.get(name) ?? "",
        };
        const isSelected = chosen.nodes.has(name);
        const position = places[name] ?? { x: 0, y: 0 };
        if (old === undefined) return { id: name, type: "program", position, data, selected: isSelected };
        // A node that looks as before is the same value, so that it is not drawn again.
        const isOld = JSON.stringify(old.data) === JSON.stringify(data);
        if (isOld && old.selected === isSelected && old.position.x === position.x && old.position.y === position.y)
          return old;
        return { ...old, position, data: isOld ? old.data : data, selected: isSelected };
      });
    });
  }, [tree, ports, places, lastView, chosen.nodes, problems, states]);
  return [nodes, setNodes] as const;
}

function useEdges(draft: Draft, chosen: Chosen, problems: Placed, states: ReadonlyMap<string, string>): Edge[] {
  const { tree, lastView, ports } = draft;
  return useMemo(
    () =>
      tree.edges
        .filter(([source, target]) => hasPort(ports, source, "outputs") && hasPort(ports, target, "inputs"))
        .map((edge) => {
          const [source, output] = endOf(edge[0]);
          const [target, input] = endOf(edge[1]);
          const id = edgeId(edge);
          const wrong = problems.edges.get(id);
          const type = lastView?.types[edge[0]] ?? "";
          const kind = output === PANIC ? "panic" : input === STOP ? "stop" : "data";
          const isFlowing = states.get(source) === "running" && kind === "data";
          const label = wrong?.[0]?.message ?? (type === "" || kind !== "data" ? "" : short(columnsText(type)));
          return {
            id,
            source,
            sourceHandle: output,
            target,
            targetHandle: input,
            selected: chosen.edges.has(id),
            className: `tree-edge edge-${kind} ${wrong === undefined ? "" : "is-wrong"}`,
            animated: isFlowing,
            markerEnd: { type: MarkerType.ArrowClosed, width: 16, height: 16, color: "context-stroke" },
            label: wrong === undefined ? label : short(label, 44),
            ariaLabel: `${edge[0]} to ${edge[1]}${type === "" ? "" : `, ${type}`}`,
          };
        }),
    [tree, ports, lastView, problems, chosen.edges, states],
  );
}

function hasPort(ports: Draft["ports"], end: string, side: "inputs" | "outputs"): boolean {
  const [node, port] = endOf(end);
  return ports.get(node)?.[side].some((each) => each.name === port) ?? false;
}

/** What is chosen after some changes; the same set when nothing of it has changed. */
function picked(before: ReadonlySet<string>, changes: readonly (NodeChange<TreeFlowNode> | EdgeChange)[]) {
  const found = new Set(before);
  for (const change of changes) {
    if (change.type === "remove") found.delete(change.id);
    if (change.type !== "select") continue;
    if (change.selected) found.add(change.id);
    else found.delete(change.id);
  }
  return found.size === before.size && [...found].every((each) => before.has(each)) ? before : found;
}

function short(text: string, most = 26): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
