// What is chosen on the canvas: its name, its parameters, its ports with what they are connected to, what can be fetched.
import { useEffect, useId, useState } from "react";
import type { Fit, FlowProblem } from "../../types";
import { check, type Draft } from "./draft";
import { connectedIfFit, type Chosen } from "./drawing";
import { Field, shownProperties } from "./form";
import { Constant } from "./grid";
import { pointerTo } from "./problems";
import type { DrawnPort, Programs } from "./ports";
import { columnsOf } from "./rows";
import {
  edgeId,
  endOf,
  freeName,
  programOf,
  renamed,
  withConst,
  withExtract,
  withoutEdges,
  withoutExtract,
  withoutNodes,
  withParam,
  type TreeNode,
} from "./tree";

const FORMATS = ["csv", "parquet", "ndjson", "arrow", "bytes"];

interface InspectorProps {
  draft: Draft;
  programs: Programs;
  chosen: Chosen;
  onChoose: (chosen: Chosen) => void;
  onRefused: (text: string) => void;
}

export function Inspector(props: InspectorProps) {
  const { draft, chosen } = props;
  const names = [...chosen.nodes].filter((name) => name in draft.tree.nodes);
  const [name] = names;
  const node = name === undefined ? undefined : draft.tree.nodes[name];
  const [edge] = [...chosen.edges];
  return (
    <section className="inspector" aria-label="What is chosen">
      {names.length > 1 ? (
        <Several names={names} {...props} />
      ) : name !== undefined && node !== undefined ? (
        <OfNode key={name} name={name} node={node} {...props} />
      ) : edge !== undefined ? (
        <OfEdge id={edge} {...props} />
      ) : (
        <Nothing />
      )}
    </section>
  );
}

function Nothing() {
  return (
    <div className="inspector-help">
      <h3>Nothing is chosen</h3>
      <p>Add a program from the left, then draw from an output (right) to an input (left). What fits lights up.</p>
      <dl className="inspector-keys">
        <dt>
          <kbd>Tab</kbd> <kbd>Enter</kbd>
        </dt>
        <dd>go through nodes, choose one</dd>
        <dt>
          <kbd>←</kbd> <kbd>→</kbd>
        </dt>
        <dd>move what is chosen</dd>
        <dt>
          <kbd>Shift</kbd> drag
        </dt>
        <dd>choose several</dd>
        <dt>
          <kbd>Ctrl</kbd> <kbd>C</kbd> <kbd>X</kbd> <kbd>V</kbd>
        </dt>
        <dd>copy, cut, paste</dd>
        <dt>
          <kbd>Ctrl</kbd> <kbd>Z</kbd> <kbd>Y</kbd>
        </dt>
        <dd>undo, redo</dd>
        <dt>
          <kbd>Delete</kbd>
        </dt>
        <dd>take away</dd>
      </dl>
    </div>
  );
}

function Several({ names, draft }: InspectorProps & { names: readonly string[] }) {
  return (
    <>
      <h3>{names.length} nodes</h3>
      <p className="faint">{names.join(", ")}</p>
      <button type="button" onClick={() => draft.edit((tree) => withoutNodes(tree, new Set(names)))}>
        Remove them
      </button>
    </>
  );
}

function OfEdge({ id, draft }: InspectorProps & { id: string }) {
  const edge = draft.tree.edges.find((each) => edgeId(each) === id);
  if (edge === undefined) return <Nothing />;
  const type = draft.lastView?.types[edge[0]];
  const isStream = draft.view?.edges.find((each) => each.source === edge[0] && each.target === edge[1])?.is_stream;
  return (
    <>
      <h3>
        {edge[0]} → {edge[1]}
      </h3>
      <p>
        <code className="inspector-type">{type ?? "not known yet"}</code>
      </p>
      {isStream === undefined ? null : <p className="faint">It travels as a {isStream ? "stream" : "table"}.</p>}
      <Wrongs problems={(draft.view?.problems ?? []).filter((each) => draft.tree.edges[edgeOf(each)] === edge)} />
      <button type="button" onClick={() => draft.edit((tree) => withoutEdges(tree, new Set([id])))}>
        Remove the connection
      </button>
    </>
  );
}

function edgeOf(problem: FlowProblem): number {
  return Number(/^\/edges\/(\d+)/.exec(problem.pointer)?.[1] ?? -1);
}

function OfNode({
  name,
  node,
  draft,
  programs,
  onChoose,
  onRefused,
}: InspectorProps & { name: string; node: TreeNode }) {
  const program = programs.get(programOf(node));
  const problems = draft.view?.problems ?? [];
  const pointer = pointerTo("/nodes", name);
  const own = problems.filter((each) => each.pointer === pointer || each.pointer === `${pointer}/prog`);
  const ports = draft.ports.get(name) ?? { inputs: [], outputs: [] };
  return (
    <>
      <Name
        name={name}
        taken={draft.tree.nodes}
        onRename={(next) => {
          const { [name]: place, ...others } = draft.places;
          draft.edit(
            (tree) => renamed(tree, name, next),
            "",
            place === undefined ? others : { ...others, [next]: place },
          );
          onChoose({ nodes: new Set([next]), edges: new Set() });
        }}
      />
      {"prog" in node ? (
        <details className="inspector-doc">
          <summary>
            <code>{node.prog}</code> {program?.doc.split("\n")[0] ?? "is not known here"}
          </summary>
          <p>{program?.doc.split("\n").slice(1).join("\n").trim()}</p>
        </details>
      ) : null}
      <Wrongs problems={own} />
      {"prog" in node ? (
        shownProperties(program?.params ?? {}).map(([param, schema]) => (
          <Field
            key={param}
            label={param}
            schema={schema}
            value={node.params?.[param]}
            isRequired={Array.isArray(program?.params.required) && program.params.required.includes(param)}
            pointer={pointerTo(pointer, "params", param)}
            problems={problems}
            columns={columnsComing(draft, name)}
            onChange={(value) => draft.edit((tree) => withParam(tree, name, param, value), `param ${name} ${param}`)}
          />
        ))
      ) : (
        <Constant
          value={node.const}
          pointer={pointerTo(pointer, "const")}
          problems={problems}
          onChange={(value, kind = "") =>
            draft.edit((tree) => withConst(tree, name, value), kind === "" ? "" : `const ${name} ${kind}`)
          }
        />
      )}
      <Ports title="Takes" name={name} ports={ports.inputs} isInput draft={draft} onRefused={onRefused} />
      <Ports title="Gives" name={name} ports={ports.outputs} isInput={false} draft={draft} onRefused={onRefused} />
      <button
        type="button"
        className="inspector-remove"
        onClick={() => draft.edit((tree) => withoutNodes(tree, new Set([name])))}
      >
        Remove {name}
      </button>
    </>
  );
}

/** The columns of everything that comes in. */
function columnsComing(draft: Draft, name: string): string[] {
  const found = new Set<string>();
  for (const [source, target] of draft.tree.edges) {
    if (endOf(target)[0] !== name) continue;
    for (const column of columnsOf(draft.lastView?.types[source] ?? "") ?? []) found.add(column.name);
  }
  return [...found];
}

function Wrongs({ problems }: { problems: readonly FlowProblem[] }) {
  return problems.map((each) => (
    <p key={each.message} className="field-problem">
      {each.message}
    </p>
  ));
}

interface NameProps {
  name: string;
  taken: Readonly<Record<string, unknown>>;
  onRename: (name: string) => void;
}

/** The name of a node; it is changed when the field is left, or with Enter. */
function Name({ name, taken, onRename }: NameProps) {
  const [text, setText] = useState(name);
  const id = useId();
  useEffect(() => setText(name), [name]);
  const isWrong = text !== name && (text in taken || !/^[A-Za-z][A-Za-z0-9_]{0,62}$/.test(text));
  const save = () => {
    if (text !== name && !isWrong) onRename(text);
    else setText(name);
  };
  return (
    <div className="field">
      <label htmlFor={id}>Name</label>
      <input
        id={id}
        data-own
        value={text}
        spellCheck={false}
        aria-invalid={isWrong}
        onChange={(event) => setText(event.target.value)}
        onBlur={save}
        onKeyDown={(event) => {
          if (event.key === "Enter") save();
          if (event.key === "Escape") setText(name);
        }}
      />
      {isWrong ? (
        <p className="field-problem">
          {text in taken ? "This name is taken." : "A name is of letters, digits and _, and begins with a letter."}
        </p>
      ) : null}
    </div>
  );
}

interface PortsProps {
  title: string;
  name: string;
  ports: readonly DrawnPort[];
  isInput: boolean;
  draft: Draft;
  onRefused: (text: string) => void;
}

function Ports({ title, name, ports, isInput, draft, onRefused }: PortsProps) {
  return (
    <>
      <h3>{title}</h3>
      <ul className="inspector-ports">
        {ports.map((port) => (
          <PortItem key={port.name} name={name} port={port} isInput={isInput} draft={draft} onRefused={onRefused} />
        ))}
      </ul>
    </>
  );
}

function PortItem({
  name,
  port,
  isInput,
  draft,
  onRefused,
}: Omit<PortsProps, "title" | "ports"> & { port: DrawnPort }) {
  const { tree, lastView, edit } = draft;
  const end = `${name}.${port.name}`;
  const lines = tree.edges.filter((edge) => edge[isInput ? 1 : 0] === end);
  const became = isInput ? lines.map(([source]) => lastView?.types[source])[0] : lastView?.types[end];
  const type = became === undefined || became === "infer" ? port.declared : became;
  const extracts = Object.entries(tree.extract).filter(([, each]) => each.from === end);
  return (
    <li className={port.isCommon ? "is-common" : ""}>
      <div className="inspector-port">
        <strong>{port.name}</strong>
        <code className="inspector-type" title={port.declared}>
          {type}
        </code>
      </div>
      {lines.map((edge) => (
        <div key={edgeId(edge)} className="inspector-line">
          <span>
            {isInput ? "← " : "→ "}
            {edge[isInput ? 0 : 1]}
          </span>
          <button
            type="button"
            className="quiet field-remove"
            aria-label={`Disconnect ${edge[0]} from ${edge[1]}`}
            onClick={() => edit((before) => withoutEdges(before, new Set([edgeId(edge)])))}
          >
            ×
          </button>
        </div>
      ))}
      {extracts.map(([title, extract]) => (
        <div key={title} className="inspector-line">
          <span>⤓ {title}</span>
          <select
            value={extract.format}
            aria-label={`Format of ${title}`}
            onChange={(event) =>
              edit((before) => withExtract(before, title, { ...extract, format: event.target.value }))
            }
          >
            {FORMATS.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
          <button
            type="button"
            className="quiet field-remove"
            aria-label={`Do not fetch ${title}`}
            onClick={() => edit((before) => withoutExtract(before, title))}
          >
            ×
          </button>
        </div>
      ))}
      <div className="row">
        {isInput && lines.length > 0 && !port.isMulti ? null : (
          <Connect end={end} isInput={isInput} draft={draft} onRefused={onRefused} />
        )}
        {isInput || port.isCommon ? null : (
          <button
            type="button"
            className="quiet"
            aria-label={`Fetch ${end}`}
            onClick={() =>
              edit((before) =>
                withExtract(before, freeName(before.extract, name), { from: end, format: formatOf(type) }),
              )
            }
          >
            + fetch
          </button>
        )}
      </div>
    </li>
  );
}

function formatOf(type: string): string {
  return type.startsWith("Bytes") ? "bytes" : type.startsWith("Value") || type.includes("Result<") ? "ndjson" : "csv";
}

/** Connect without a mouse: a list of what fits, asked for when it is opened; what does not fit says why. */
function Connect({ end, isInput, draft, onRefused }: Omit<PortsProps, "title" | "ports" | "name"> & { end: string }) {
  const [fits, setFits] = useState<Readonly<Record<string, Fit>> | null>(null);
  const ask = () => {
    check(draft.text, draft.name, end)
      .then((view) => setFits(view.fits))
      .catch(() => onRefused("the server does not answer"));
  };
  if (fits === null) {
    return (
      <button type="button" className="quiet" aria-label={`Connect ${end}`} onClick={ask}>
        + connect
      </button>
    );
  }
  const others = Object.entries(fits).filter(([other]) => endOf(other)[0] !== endOf(end)[0]);
  const fitting = others.filter(([, fit]) => fit.why === "");
  return (
    <select
      autoFocus
      defaultValue=""
      aria-label={isInput ? `Where ${end} comes from` : `Where ${end} leads to`}
      onBlur={() => setFits(null)}
      onChange={(event) => {
        const other = event.target.value;
        setFits(null);
        const [source, target] = isInput ? [other, end] : [end, other];
        void connectedIfFit(draft, source, target).then((refused) => (refused === "" ? undefined : onRefused(refused)));
      }}
    >
      <option value="">{fitting.length === 0 ? "nothing fits" : isInput ? "from …" : "to …"}</option>
      {fitting.map(([other]) => (
        <option key={other} value={other}>
          {other}
        </option>
      ))}
      <optgroup label="does not fit">
        {others
          .filter(([, fit]) => fit.why !== "")
          .map(([other, fit]) => (
            <option key={other} value={other} disabled>
              {`${other}: ${fit.why}`}
            </option>
          ))}
      </optgroup>
    </select>
  );
}
