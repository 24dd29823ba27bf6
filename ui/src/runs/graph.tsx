// A small drawing of a plan: components in columns by how far they are from the beginning, edges between them.
import { useMemo } from "react";
import type { ComponentView, GraphEdge, JobGraphView } from "../types";

const WIDTH = 150;
const HEIGHT = 46;
const ACROSS = 110;
const DOWN = 22;

export interface Placed {
  name: string;
  type: string;
  of: string;
  x: number;
  y: number;
}

/** Place every component one column behind the last one that leads to it. A cycle (a stop) does not delay. Pure. */
export function placed(graph: Pick<JobGraphView, "nodes" | "edges">): Placed[] {
  const column = new Map(graph.nodes.map((node) => [node.name, 0]));
  const leading = graph.edges.filter((edge) => edge.kind !== "stop" && column.has(edge.source) && column.has(edge.target));
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
  return graph.nodes.map((node) => {
    const at = column.get(node.name) ?? 0;
    const row = taken.get(at) ?? 0;
    taken.set(at, row + 1);
    return { name: node.name, type: node.type, of: node.of, x: at * (WIDTH + ACROSS), y: row * (HEIGHT + DOWN) };
  });
}

interface GraphProps {
  graph: Pick<JobGraphView, "nodes" | "edges">;
  components?: readonly ComponentView[];
  chosen?: string;
  onChoose?: (name: string) => void;
}

export function Graph({ graph, components = [], chosen = "", onChoose }: GraphProps) {
  const nodes = useMemo(() => placed(graph), [graph]);
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const states = new Map<string, string>();
  for (const each of components) states.set(each.name.split("[#")[0] ?? each.name, each.state.toLowerCase());
  const width = Math.max(...nodes.map((node) => node.x)) + WIDTH + 4;
  const height = Math.max(...nodes.map((node) => node.y)) + HEIGHT + 30;
  return (
    <div className="scroll">
      <svg className="job-graph" viewBox={`-2 -6 ${width} ${height}`} style={{ width, minWidth: width * 0.65 }} role="group" aria-label="The plan">
        <defs>
          <marker id="job-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path d="M0 0 8 4 0 8z" fill="context-stroke" />
          </marker>
        </defs>
        {graph.edges.map((edge, position) => {
          const from = byName.get(edge.source);
          const to = byName.get(edge.target);
          return from === undefined || to === undefined ? null : <Edge key={position} edge={edge} from={from} to={to} />;
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
            <rect width={WIDTH} height={HEIGHT} rx="8" />
            <text x="12" y="20">
              {short(node.name)}
            </text>
            <text x="12" y="36" className="job-type">
              {short(node.of === "" ? node.type : `${node.type} · each of ${node.of}`)}
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
}

function Edge({ edge, from, to }: { edge: GraphEdge; from: Placed; to: Placed }) {
  const isBack = to.x <= from.x;
  const start = { x: from.x + WIDTH, y: from.y + HEIGHT / 2 };
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
      <text x={(start.x + end.x) / 2} y={(start.y + end.y) / 2 + shift + (isControl ? 13 : -5)} textAnchor="middle">
        {short(text, 18)}
      </text>
    </g>
  );
}

/** Of a table its columns, which are what differs: of `Table<{id: bigint, at: date}>` `id, at`. */
export function columnsText(type: string): string {
  const row = /^(?:Table|Stream)<\{(.*)\}>$/.exec(type)?.[1];
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
