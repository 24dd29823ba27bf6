// A small drawing of a plan: components in columns by how far they are from the beginning, edges between them.
import { useMemo } from "react";
import type { ComponentView, GraphEdge, JobGraphView, StreamView } from "../../types";
import { flowing, flowingLines, type Flowing } from "./flowing";

const WIDEST = 150;
const NARROWEST = 92;
const HEIGHT = 46;
const ACROSS = 110;
const DOWN = 22;
/** Between columns where segments are drawn on the edges. */
const STREAM_ACROSS = 128;
/** So many segments are drawn one by one; more of them are one strip, in parts. */
const MOST_SEGMENTS = 8;
const SEGMENT = 9;

export interface Placed {
  name: string;
  type: string;
  of: string;
  x: number;
  y: number;
  width: number;
}

/** Place every component one column behind the last one that leads to it. A cycle (a stop) does not delay. Pure. */
export function placed(graph: Pick<JobGraphView, "nodes" | "edges">, across = ACROSS): Placed[] {
  const column = new Map(graph.nodes.map((node) => [node.name, 0]));
  const leading = graph.edges.filter(
    (edge) => edge.kind !== "stop" && column.has(edge.source) && column.has(edge.target),
  );
  for (let turn = 0; turn < graph.nodes.length; turn += 1) {
    let hasMoved = false;
    for (const edge of leading) {
      const wanted = (column.get(edge.source) ?? 0) + 1;
      if ((column.get(edge.target) ?? 0) < wanted && wanted < graph.nodes.length) {
        column.set(edge.target, wanted);
        hasMoved = true;
      }
    }
    if (!hasMoved) break;
  }
  const taken = new Map<number, number>();
  const longest = Math.max(0, ...graph.nodes.map((node) => Math.max(node.name.length, typeText(node).length * 0.9)));
  const width = Math.round(Math.min(WIDEST, Math.max(NARROWEST, longest * 8 + 24)));
  return graph.nodes.map((node) => {
    const at = column.get(node.name) ?? 0;
    const row = taken.get(at) ?? 0;
    taken.set(at, row + 1);
    return { name: node.name, type: node.type, of: node.of, x: at * (width + across), y: row * (HEIGHT + DOWN), width };
  });
}

function typeText(node: { type: string; of: string }): string {
  return node.of === "" ? node.type : `${node.type} · each of ${node.of}`;
}

interface GraphProps {
  graph: Pick<JobGraphView, "nodes" | "edges">;
  components?: readonly ComponentView[];
  streams?: readonly StreamView[] | undefined;
  chosen?: string;
  onChoose?: (name: string) => void;
}

export function Graph({ graph, components = [], streams = [], chosen = "", onChoose }: GraphProps) {
  const across = streams.length > 0 ? STREAM_ACROSS : ACROSS;
  const nodes = useMemo(() => placed(graph, across), [graph, across]);
  const flows = useMemo(() => flowing(streams), [streams]);
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const states = new Map<string, string>();
  for (const each of components) states.set(each.name.split("[#")[0] ?? each.name, each.state.toLowerCase());
  const width = Math.max(...nodes.map((node) => node.x + node.width)) + 4;
  const height = Math.max(...nodes.map((node) => node.y)) + HEIGHT + 30;
  return (
    <div className="scroll">
      <svg
        className="job-graph"
        viewBox={`-2 -6 ${width} ${height}`}
        style={{ width, minWidth: width * 0.65 }}
        role="group"
        aria-label="The plan"
      >
        <defs>
          <marker id="job-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path d="M0 0 8 4 0 8z" fill="context-stroke" />
          </marker>
        </defs>
        {graph.edges.map((edge, position) => {
          const from = byName.get(edge.source);
          const to = byName.get(edge.target);
          return from === undefined || to === undefined ? null : (
            <Edge key={position} edge={edge} from={from} to={to} flow={flows.get(endsOf(edge))} />
          );
        })}
        {nodes.map((node) => (
          <g
            key={node.name}
            className={`job-node job-${states.get(node.name) ?? "none"} ${node.name === chosen ? "chosen" : ""}`}
            transform={`translate(${node.x} ${node.y})`}
            tabIndex={onChoose === undefined ? undefined : 0}
            role={onChoose === undefined ? undefined : "button"}
            aria-label={`${node.name}: ${states.get(node.name) ?? node.type}`}
            onClick={() => onChoose?.(node.name === chosen ? "" : node.name)}
            onKeyDown={(event) => {
              if (event.key === "Enter") onChoose?.(node.name === chosen ? "" : node.name);
            }}
          >
            <rect width={node.width} height={HEIGHT} rx="8" />
            <text x="12" y="20">
              {short(node.name)}
            </text>
            <text x="12" y="36" className="job-type">
              {short(typeText(node))}
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
}

/** The ends of a data edge with their ports, as streams are called. */
function endsOf(edge: GraphEdge): string {
  const [output = "", input = ""] = edge.label.split(" → ");
  return `${edge.source}.${output} ${edge.target}.${input}`;
}

function Edge({ edge, from, to, flow }: { edge: GraphEdge; from: Placed; to: Placed; flow: Flowing | undefined }) {
  const isBack = to.x <= from.x;
  const start = { x: from.x + from.width, y: from.y + HEIGHT / 2 };
  const end = { x: to.x, y: to.y + HEIGHT / 2 };
  const bend = isBack ? ACROSS : Math.max(24, (end.x - start.x) / 2);
  const isControl = edge.kind !== "data" && edge.kind !== "stop";
  // A control edge beside a data edge runs a little lower, so that both can be seen.
  const shift = isControl ? 9 : -5;
  const text = isControl ? edge.label : edge.type === "" ? edge.label : columnsText(edge.type);
  return (
    <g className={`job-edge edge-${edge.kind} ${isControl ? "edge-control" : ""}`}>
      <path
        d={`M${start.x} ${start.y + shift} C${start.x + bend} ${start.y + shift} ${end.x - bend} ${end.y + shift} ${end.x - 1} ${end.y + shift}`}
        markerEnd="url(#job-arrow)"
      >
        <title>{`${edge.source} → ${edge.target}: ${edge.label}${edge.type === "" ? "" : ` (${edge.type})`}`}</title>
      </path>
      <text
        x={(start.x + end.x) / 2}
        y={(start.y + end.y) / 2 + shift + (isControl ? 13 : flow === undefined ? -5 : -8)}
        textAnchor="middle"
      >
        {short(text, 18)}
      </text>
      {flow === undefined ? null : <Segments flow={flow} x={(start.x + end.x) / 2} y={(start.y + end.y) / 2 + shift} />}
    </g>
  );
}

/** The segments of a stream on its edge: those that were read are filled, the others are on their way. */
function Segments({ flow, x, y }: { flow: Flowing; x: number; y: number }) {
  const drawn = flow.state === "deleted" ? 0 : Math.min(MOST_SEGMENTS, flow.segments);
  const read = flow.segments === 0 ? 0 : Math.floor((drawn * flow.read) / flow.segments);
  const left = x - (drawn * SEGMENT) / 2;
  return (
    <g className={`segments segments-${flow.state}`} role="img" aria-label={flowingLines(flow).join(", ")}>
      {Array.from({ length: drawn }, (_, position) => (
        <rect
          key={position}
          className={position >= drawn - read ? "segment-read" : "segment"}
          x={left + position * SEGMENT}
          y={y - 3.5}
          width={SEGMENT - 2}
          height="7"
          rx="1.5"
        />
      ))}
      {flowingLines(flow).map((line, position) => (
        <text key={line} x={x} y={y + 17 + 13 * position} textAnchor="middle">
          {line}
        </text>
      ))}
    </g>
  );
}

/** Of a table its columns, which are what differs: of `Table<{id: bigint, at: date}>` `id, at`; a Result may be an error. */
export function columnsText(type: string): string {
  const of = /^(?:Table|Stream)<(.*)>$/.exec(type)?.[1] ?? type;
  const result = /^Result<(.*)>$/.exec(of)?.[1];
  if (result !== undefined) return `${columnsText(`Table<${result}>`)} or why not`;
  const row = /^\{(.*)\}$/.exec(of)?.[1];
  if (row === undefined) return type;
  const names: string[] = [];
  let depth = 0;
  let from = 0;
  for (const [at, character] of [...`${row},`].entries()) {
    if ("<{(".includes(character)) depth += 1;
    else if (">})".includes(character)) depth -= 1;
    else if (character === "," && depth === 0) {
      names.push((row.slice(from, at).split(":")[0] ?? "").trim());
      from = at + 1;
    }
  }
  return names.join(", ");
}

function short(text: string, most = 20): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
