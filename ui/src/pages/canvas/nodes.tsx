// How a node of the canvas looks. Each draws again only when its own Pond changed.
import { Handle, Position as Side, type Node, type NodeProps } from "@xyflow/react";
import { Fragment, memo } from "react";
import { useNow } from "../../clock";
import type { ActiveRunView, GraphPond, PondView, ReactorView, RippleView } from "../../types";
import { countText, durationText } from "../../words";
import type { CanvasNode } from "./graph";

export interface NodeData extends Record<string, unknown> {
  node: CanvasNode;
  pond: PondView | null;
  graph: GraphPond | null;
  reactor: ReactorView | null;
  state: string;
  /** Of a group: how many of its Ponds are in which state. */
  counts: string;
  canOpen: boolean;
  isOpen: boolean;
  isDim: boolean;
  isChosen: boolean;
  onFlip: (key: string) => void;
  onFold: (name: string) => void;
}

export type DrawnNode = Node<NodeData>;

const MOST_RUNS = 2;
/** A name with more letters is written smaller from afar, or from very far. */
const LONG = 13;
const MIDDLE = 8;

function Ends() {
  return (
    <>
      <Handle type="target" position={Side.Left} isConnectable={false} />
      <Handle type="source" position={Side.Right} isConnectable={false} />
    </>
  );
}

function nameClass(name: string): string {
  return `node-name ${name.length > LONG ? "is-long" : name.length > MIDDLE ? "is-mid" : ""}`;
}

function classes(data: NodeData, kind: string): string {
  return `node node-${kind} is-${data.state} ${data.isDim ? "is-dim" : ""} ${data.isChosen ? "is-chosen" : ""}`;
}

export const PondNode = memo(function PondNode({ data }: NodeProps<DrawnNode>) {
  const { pond, node } = data;
  if (pond === null) return null;
  return (
    <div className={classes(data, "pond")}>
      <Ends />
      <div className="node-head">
        <span className={nameClass(pond.name + node.major)} title={pond.key}>
          <Broken name={pond.name} />
          {node.major === "" ? null : <span className="node-major">@{node.major}</span>}
        </span>
        <Old pond={pond} />
      </div>
      <p className="node-next">{pond.borrowed_from === null ? pond.next.text : `from ${pond.borrowed_from}`}</p>
      <div className="node-foot">
        {pond.active.length === 0 ? (
          <Marks data={data} />
        ) : (
          pond.active.slice(0, MOST_RUNS).map((run) => <Lane key={run.id} run={run} />)
        )}
        {pond.active.length > MOST_RUNS ? <span className="node-more">+{pond.active.length - MOST_RUNS}</span> : null}
        {data.canOpen ? (
          <button
            type="button"
            className="node-flip nodrag"
            aria-label={data.isOpen ? `Hide the Ripples of ${pond.name}` : `Show the Ripples of ${pond.name}`}
            onClick={(event) => {
              event.stopPropagation();
              data.onFlip(pond.key);
            }}
          >
            {data.isOpen ? "−" : `${data.graph?.ripples.length ?? ""}`}
          </button>
        ) : null}
      </div>
      {node.inner === null ? null : <Ripples node={node} pond={pond} />}
    </div>
  );
});

/** A name that may be broken behind its underscores, and nowhere else. */
function Broken({ name }: { name: string }) {
  return name.split(/(?<=_)/).map((part, position) => (
    <Fragment key={position}>
      {position > 0 ? <wbr /> : null}
      {part}
    </Fragment>
  ));
}

/** How old the data is, counting on. */
function Old({ pond }: { pond: PondView }) {
  const now = useNow();
  if (pond.freshness === null) return <span className="node-age">no data</span>;
  const age = Math.max(0, now + (pond.delay ?? 0) - pond.freshness);
  return <span className="node-age number">{durationText(Math.floor(age / 1_000_000) * 1_000_000)}</span>;
}

function Marks({ data }: { data: NodeData }) {
  const { graph, pond } = data;
  const marks: string[] = [];
  if (pond?.kind === "inlet") marks.push("Inlet");
  if (pond?.kind === "outlet") marks.push("Outlet");
  const window = graph?.windows[0];
  if (window !== undefined) marks.push(`◷ ${window.replace(/ until the next start| \(UTC\)/g, "")}`);
  if (graph?.ripples.some((ripple) => ripple.kind === "job")) marks.push("job");
  return <span className="node-marks">{marks.join(" · ")}</span>;
}

/** One Run: its number, and a field for each Ripple. */
function Lane({ run }: { run: ActiveRunView }) {
  return (
    <span className="lane">
      <span className="number">#{run.number}</span>
      {run.ripples.length > 12 ? (
        <span className="lane-count number">
          {run.ripples.filter((ripple) => ripple.state === "done" || ripple.state === "reused").length}/
          {run.ripples.length}
        </span>
      ) : (
        run.ripples.map((ripple) => <i key={ripple.name} className={`lane-${ripple.state}`} />)
      )}
    </span>
  );
}

function Ripples({ node, pond }: { node: CanvasNode; pond: PondView }) {
  const inner = node.inner;
  if (inner === null) return null;
  return (
    <div className="ripples" style={{ width: inner.width, height: inner.height }}>
      <svg width={inner.width} height={inner.height} aria-hidden="true">
        {inner.lines.map((line) => (
          <path key={line} d={line} />
        ))}
      </svg>
      {inner.places.map(({ ripple, x, y }) => {
        const at = stateOf(pond, ripple.name);
        return (
          <span
            key={ripple.name}
            className={`ripple ripple-${at.state}`}
            style={{ left: x, top: y }}
            title={`${ripple.name}: ${at.state}`}
          >
            <span className="ripple-name">{ripple.name}</span>
            {at.runs === "" ? (
              ripple.kind === "function" ? null : (
                <em>{ripple.kind}</em>
              )
            ) : (
              <em className="number">{at.runs}</em>
            )}
          </span>
        );
      })}
    </div>
  );
}

const ORDER: readonly RippleView["state"][] = ["failed", "running", "queued", "waiting", "cancelled", "done", "reused"];

/** The state of a Ripple over all open Runs, and in which of them it is at work. */
function stateOf(pond: PondView, name: string): { state: string; runs: string } {
  const found = pond.active.flatMap((run) =>
    run.ripples.filter((ripple) => ripple.name === name).map((ripple) => ({ run: run.number, state: ripple.state })),
  );
  found.sort((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state));
  const first = found[0];
  if (first === undefined) return { state: "idle", runs: "" };
  const at = found.filter((each) => each.state === "running" || each.state === "queued").map((each) => `#${each.run}`);
  return { state: first.state, runs: at.join(" ") };
}

export const TriggerNode = memo(function TriggerNode({ data }: NodeProps<DrawnNode>) {
  return (
    <div className={classes(data, "trigger")}>
      <Ends />
      <span className="node-name">{data.node.label}</span>
    </div>
  );
});

export const ReactorNode = memo(function ReactorNode({ data }: NodeProps<DrawnNode>) {
  return (
    <div className={classes(data, "reactor")}>
      <Ends />
      <span className="node-kind">reactor</span>
      <span className="node-name">{data.node.label}</span>
    </div>
  );
});

export const JobNode = memo(function JobNode({ data }: NodeProps<DrawnNode>) {
  return (
    <div className={classes(data, "job")}>
      <Ends />
      <span className="node-kind">job</span>
      <span className="node-name">{data.node.label}</span>
    </div>
  );
});

export const MissingNode = memo(function MissingNode({ data }: NodeProps<DrawnNode>) {
  return (
    <div className={classes(data, "missing")}>
      <Ends />
      <span className="node-name">{data.node.label}</span>
      <span className="node-kind">not deployed</span>
    </div>
  );
});

/** Ponds of a group that is collapsed, as one. */
export const GroupNode = memo(function GroupNode({ data }: NodeProps<DrawnNode>) {
  const { label, members } = data.node;
  return (
    <div className={classes(data, "group")}>
      <Ends />
      <div className="node-head">
        <span className={nameClass(label)}>{label}</span>
        <span className="node-age number">{countText(members.length, "Pond")}</span>
      </div>
      <p className="node-next">{data.counts}</p>
      <div className="node-foot">
        <span className="node-marks">group</span>
        <Fold data={data} text="+" label={`Open the group ${label}`} />
      </div>
    </div>
  );
});

/** The frame around a group that is open. */
export const FrameNode = memo(function FrameNode({ data }: NodeProps<DrawnNode>) {
  return (
    <div className="frame">
      <span className="frame-name">{data.node.label}</span>
      <Fold data={data} text="−" label={`Collapse the group ${data.node.label}`} />
    </div>
  );
});

function Fold({ data, text, label }: { data: NodeData; text: string; label: string }) {
  return (
    <button
      type="button"
      className="node-flip nodrag"
      aria-label={label}
      onClick={(event) => {
        event.stopPropagation();
        data.onFold(data.node.label);
      }}
    >
      {text}
    </button>
  );
}
