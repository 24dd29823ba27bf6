// What a tree can be built of: constants, and the programs of the library and of projects, found by what they say.
import { useState, type DragEvent } from "react";
import type { KnownComponent, Port } from "../../types";
import { DROPPED } from "./drawing";
import type { TreeNode } from "./tree";

interface Item {
  key: string;
  title: string;
  of: string;
  doc: string;
  ports: string;
  node: TreeNode;
}

const CONSTANTS: readonly Item[] = [
  {
    key: "const table",
    title: "rows",
    of: "constants",
    doc: "A table that you type.",
    ports: "→ out: Table",
    node: { const: { type: "Table<{id: bigint, name: string}>", value: [{ id: 1, name: "" }] } },
  },
  {
    key: "const value",
    title: "value",
    of: "constants",
    doc: "One value: a number, a text, a list.",
    ports: "→ out: Value",
    node: { const: { type: "Value<string>", value: "" } },
  },
  {
    key: "const bytes",
    title: "text",
    of: "constants",
    doc: "A text, as bytes.",
    ports: "→ out: Bytes<text/plain>",
    node: { const: { type: "Bytes<text/plain>", bytes: "" } },
  },
];

export function Palette({ programs, onAdd }: { programs: readonly KnownComponent[]; onAdd: (node: TreeNode) => void }) {
  const [find, setFind] = useState("");
  const found = [...CONSTANTS, ...programs.map(itemOf)].filter((each) => isFound(each, find));
  const groups = [...new Set(found.map((each) => each.of))];
  // Enter takes the one that is called so, before those that only speak of it.
  const called = found.find((each) => each.title.startsWith(find.trim().toLowerCase()));
  return (
    <section className="palette" aria-label="Programs">
      <input
        type="search"
        data-own
        value={find}
        placeholder="Find a program"
        aria-label="Find a program"
        spellCheck={false}
        onChange={(event) => setFind(event.target.value)}
        onKeyDown={(event) => {
          const first = called ?? found[0];
          if (event.key === "Enter" && first !== undefined) onAdd(first.node);
        }}
      />
      <div className="palette-items">
        {found.length === 0 ? <p className="faint">No program says “{find}”.</p> : null}
        {groups.map((group) => (
          <div key={group}>
            <h3>{group}</h3>
            <ul>
              {found
                .filter((each) => each.of === group)
                .map((each) => (
                  <li key={each.key}>
                    <button
                      type="button"
                      className="palette-item"
                      draggable
                      title={`${each.doc}\n\n${each.ports}`}
                      onDragStart={(event: DragEvent) => {
                        event.dataTransfer.setData(DROPPED, JSON.stringify(each.node));
                        event.dataTransfer.effectAllowed = "copy";
                      }}
                      onClick={() => onAdd(each.node)}
                    >
                      <strong>{each.title}</strong>
                      <span>{each.doc.split("\n")[0]}</span>
                      <code>{each.ports}</code>
                    </button>
                  </li>
                ))}
            </ul>
          </div>
        ))}
      </div>
    </section>
  );
}

function itemOf(program: KnownComponent): Item {
  const title = `${program.name}@${program.version.split(".")[0]}`;
  return {
    key: program.name,
    title,
    of: program.project === "" ? "library" : program.project,
    doc: program.doc,
    ports: `${portsText(program.inputs)} → ${portsText(program.outputs)}`.trim(),
    node: { prog: title },
  };
}

function portsText(ports: Readonly<Record<string, Partial<Port>>>): string {
  return Object.entries(ports)
    .filter(([, port]) => port.job_only !== true)
    .map(([name, port]) => `${name}: ${port.type ?? "Table<Any>"}`)
    .join(", ");
}

/** Every word is in its name, its ports or its documentation. */
function isFound(item: Item, find: string): boolean {
  const all = `${item.title} ${item.of} ${item.doc} ${item.ports}`.toLowerCase();
  return find
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}
