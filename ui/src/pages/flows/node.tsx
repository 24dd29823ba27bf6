// A node of a tree on the canvas: what it is, its ports with their types, and how it fares.
import { Handle, Position as Side, type Node, type NodeProps } from "@xyflow/react";
import { createContext, memo, useContext } from "react";
import { columnsText } from "../../parts/job/graph";
import type { Fit } from "../../types";
import type { DrawnPort, NodePorts } from "./ports";

export interface NodeData extends Record<string, unknown> {
  program: string;
  ports: NodePorts;
  /** What outputs became, by the name of the port. */
  types: Readonly<Record<string, string>>;
  /** Outputs that can be fetched, by the name of the port. */
  extracts: Readonly<Record<string, string>>;
  problem: string;
  /** Of a flow that runs; nothing else. */
  state: string;
}

export type TreeFlowNode = Node<NodeData>;

/** The port that somebody connects now, and what fits it; null while the server is asked. */
export interface Connecting {
  from: string;
  fits: Readonly<Record<string, Fit>> | null;
}

export const ConnectingPort = createContext<Connecting | null>(null);

export const ProgramNode = memo(function ProgramNode({ id, data }: NodeProps<TreeFlowNode>) {
  const { program, ports, problem, state } = data;
  return (
    <div
      className={`tree-node ${problem === "" ? "" : "is-wrong"} ${state === "" ? "" : `at-${state}`}`}
      title={problem}
    >
      <div className="tree-node-head">
        <strong>{id}</strong>
        <span>
          {program}
          {state === "" ? null : <em className="tree-node-state">{state}</em>}
        </span>
      </div>
      <div className="tree-node-ports">
        <ul>
          {ports.inputs.map((port) => (
            <PortLine key={port.name} node={id} port={port} type={port.declared} isInput extract="" />
          ))}
        </ul>
        <ul>
          {ports.outputs.map((port) => (
            <PortLine
              key={port.name}
              node={id}
              port={port}
              type={data.types[port.name] ?? port.declared}
              isInput={false}
              extract={data.extracts[port.name] ?? ""}
            />
          ))}
        </ul>
      </div>
    </div>
  );
});

interface PortLineProps {
  node: string;
  port: DrawnPort;
  type: string;
  isInput: boolean;
  extract: string;
}

function PortLine({ node, port, type, isInput, extract }: PortLineProps) {
  const connecting = useContext(ConnectingPort);
  const end = `${node}.${port.name}`;
  const fit = connecting?.fits?.[end];
  const look =
    connecting === null || connecting.from === end
      ? ""
      : fit === undefined
        ? "is-other"
        : fit.why === ""
          ? "is-fit"
          : "is-unfit";
  return (
    <li
      className={`tree-port ${look} ${port.isCommon ? "is-common" : ""} ${port.isUnknown ? "is-unknown" : ""}`}
      title={
        fit !== undefined && fit.why !== "" ? `${fit.got} does not fit ${fit.want}: ${fit.why}` : `${end}: ${type}`
      }
    >
      <Handle id={port.name} type={isInput ? "target" : "source"} position={isInput ? Side.Left : Side.Right} />
      <span className="tree-port-name">{port.name}</span>
      {isInput || port.isCommon ? null : <span className="tree-port-type">{columnsText(type)}</span>}
      {extract === "" ? null : (
        <span className="tree-port-extract" title={`It can be fetched: ${extract}`}>
          ⤓
        </span>
      )}
    </li>
  );
}
