// The ports of a node as they are drawn: those of its program, those that edges name, and the two that every node has. Pure.
import type { KnownComponent, Port } from "../../types";
import { endOf, PANIC, programOf, STOP, type Tree, type TreeNode } from "./tree";

export interface DrawnPort {
  name: string;
  /** As the program declares it, with its variables. */
  declared: string;
  isRequired: boolean;
  isMulti: boolean;
  /** Whether every node has it. */
  isCommon: boolean;
  /** Whether its program has no such port. */
  isUnknown: boolean;
}

export interface NodePorts {
  inputs: readonly DrawnPort[];
  outputs: readonly DrawnPort[];
}

export type Programs = ReadonlyMap<string, KnownComponent>;

const STOPPER: DrawnPort = {
  name: STOP,
  declared: "Stream<Any>",
  isRequired: false,
  isMulti: true,
  isCommon: true,
  isUnknown: false,
};
const PANICKER: DrawnPort = { ...STOPPER, name: PANIC, declared: "Table<Panic>" };

/** The ports of every node of a tree. */
export function portsOf(tree: Tree, programs: Programs): ReadonlyMap<string, NodePorts> {
  const used = { inputs: new Map<string, Set<string>>(), outputs: new Map<string, Set<string>>() };
  const note = (side: Map<string, Set<string>>, end: string): void => {
    const [node, port] = endOf(end);
    side.set(node, (side.get(node) ?? new Set()).add(port));
  };
  for (const [source, target] of tree.edges) {
    note(used.outputs, source);
    note(used.inputs, target);
  }
  for (const { from } of Object.values(tree.extract)) note(used.outputs, from);
  return new Map(
    Object.entries(tree.nodes).map(([name, node]) => [
      name,
      {
        inputs: [...side(inputsOf(node, programs), used.inputs.get(name), STOP), STOPPER],
        outputs: [...side(outputsOf(node, programs), used.outputs.get(name), PANIC), PANICKER],
      },
    ]),
  );
}

function inputsOf(node: TreeNode, programs: Programs): Record<string, Partial<Port>> {
  return "prog" in node ? (programs.get(programOf(node))?.inputs ?? {}) : {};
}

function outputsOf(node: TreeNode, programs: Programs): Record<string, Partial<Port>> {
  if ("prog" in node) return programs.get(programOf(node))?.outputs ?? {};
  return { out: { type: typeof node.const.type === "string" ? node.const.type : "Any" } };
}

function side(
  declared: Record<string, Partial<Port>>,
  used: ReadonlySet<string> | undefined,
  common: string,
): DrawnPort[] {
  const found: DrawnPort[] = [];
  const left = new Set(used);
  left.delete(common);
  for (const [name, port] of Object.entries(declared)) {
    if (port.job_only === true) continue;
    if (!name.endsWith("*")) {
      found.push(drawn(name, port));
      left.delete(name);
      continue;
    }
    // A name with a star stands for many ports: those that are there, and the next one.
    const stem = name.slice(0, -1);
    const taken = [...left].filter((each) => each.startsWith(stem) && each !== stem);
    for (const each of taken) {
      found.push(drawn(each, port));
      left.delete(each);
    }
    let number = taken.length + 1;
    while (taken.includes(`${stem}${number}`)) number += 1;
    found.push({ ...drawn(`${stem}${number}`, port), isRequired: false });
  }
  return [...found, ...[...left].map((name) => ({ ...drawn(name, { type: "Any" }), isUnknown: true }))];
}

function drawn(name: string, port: Partial<Port>): DrawnPort {
  return {
    name,
    declared: port.type ?? "Table<Any>",
    isRequired: port.required ?? true,
    isMulti: port.multi ?? false,
    isCommon: false,
    isUnknown: false,
  };
}
