// A tree as text: checked while it is written, with everything that is wrong at its place, and the types on its edges.
import { useEffect, useMemo, useRef, useState } from "react";
import { post, Refusal, type Problem } from "../../api";
import { may } from "../../live";
import { Command, Trouble } from "../../parts/basics";
import { Word } from "../../parts/word";
import { go, here, hrefOf } from "../../router";
import { Graph } from "../../parts/job/graph";
import type { FlowCheckView, FlowProblem, Started } from "../../types";
import { countText } from "../../words";
import { rangeOf } from "./position";
import { Programs } from "./programs";

const KEY = "pondage.tree";
const PAUSE_MS = 400;
const EXAMPLE = `{
  "version": 1,
  "nodes": {
    "orders": {"const": {"type": "Table<{id: bigint, amount: double}>",
                         "value": [{"id": 1, "amount": 120.0}, {"id": 2, "amount": 40.0}]}},
    "big": {"prog": "split@1", "params": {"where": "amount > 100"}},
    "rest": {"prog": "void_sink@1"}
  },
  "edges": [
    ["orders.out", "big.input"],
    ["big.reject", "rest.input"]
  ],
  "extract": {"big_orders": {"from": "big.main", "format": "csv"}}
}
`;

export function Editor() {
  const [text, setText] = useState(() => sessionStorage.getItem(KEY) ?? EXAMPLE);
  const [name, setName] = useState("flow");
  const [checked, setChecked] = useState<{ text: string; view: FlowCheckView } | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isBusy, setBusy] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    sessionStorage.setItem(KEY, text);
    const timer = window.setTimeout(() => {
      post<FlowCheckView>("flows/check", { text, name: name === "" ? "flow" : name })
        .then((view) => {
          setChecked({ text, view });
          setProblem(null);
        })
        .catch((error: unknown) => {
          if (error instanceof Refusal) setProblem(error.problem);
        });
    }, PAUSE_MS);
    return () => window.clearTimeout(timer);
  }, [text, name]);
  const view = checked?.view ?? null;
  const isCurrent = checked?.text === text;
  const submit = () => {
    setBusy(true);
    post<Started>("flows", { tree: JSON.parse(text) as unknown, name })
      .then((started) => go(hrefOf(here(), "flows", { run: started.run })))
      .catch((error: unknown) => {
        if (error instanceof Refusal) setProblem(error.problem);
      })
      .finally(() => setBusy(false));
  };
  const show = (pointer: string) => {
    const range = rangeOf(text, pointer);
    const area = field.current;
    if (range === null || area === null) return;
    area.focus();
    area.setSelectionRange(range.start, range.end);
    area.scrollTop = Math.max(0, (range.line - 6) * LINE_PX);
  };
  const problems = view?.problems ?? [];
  return (
    <div className="flow-editor">
      <div className="row flow-bar">
        <label className="row">
          Name
          <input value={name} onChange={(event) => setName(event.target.value)} spellCheck={false} />
        </label>
        <button
          type="button"
          className="primary"
          disabled={!may("operate") || !isCurrent || view?.ok !== true || isBusy}
          onClick={submit}
        >
          Submit
        </button>
        <span role="status" className={view !== null && !view.ok ? "failed-text" : "soft"}>
          {!isCurrent || view === null
            ? "checking …"
            : view.ok
              ? `fits: ${countText(view.edges.length, "edge")}, plan ${view.plan.slice(0, 12)}`
              : countText(problems.length, "problem")}
        </span>
        <Command text={`pondage flow submit ${name === "" ? "tree" : name}.json`} />
      </div>
      {problem === null ? null : <Trouble problem={problem} />}
      <div className="flow-text">
        <Gutter text={text} problems={isCurrent ? problems : []} />
        <textarea
          ref={field}
          value={text}
          onChange={(event) => setText(event.target.value)}
          spellCheck={false}
          wrap="off"
          aria-label="The tree, as JSON"
          rows={Math.max(14, text.split("\n").length + 1)}
        />
      </div>
      {isCurrent && problems.length > 0 ? (
        <ul className="flow-problems">
          {problems.map((each) => (
            <ProblemLine
              key={each.pointer + each.message}
              problem={each}
              line={rangeOf(text, each.pointer)?.line ?? null}
              onShow={() => show(each.pointer)}
            />
          ))}
        </ul>
      ) : null}
      <Programs />
      {view !== null && view.ok ? <Types view={view} /> : null}
    </div>
  );
}

const LINE_PX = 20;

function Gutter({ text, problems }: { text: string; problems: readonly FlowProblem[] }) {
  const wrong = useMemo(() => new Set(problems.map((each) => rangeOf(text, each.pointer)?.line)), [text, problems]);
  return (
    <div className="flow-gutter" aria-hidden="true">
      {text.split("\n").map((_, position) => (
        <span key={position} className={wrong.has(position + 1) ? "wrong" : ""}>
          {position + 1}
        </span>
      ))}
    </div>
  );
}

function ProblemLine({ problem, line, onShow }: { problem: FlowProblem; line: number | null; onShow: () => void }) {
  return (
    <li className="flow-problem">
      <button type="button" className="quiet" onClick={onShow}>
        {line === null ? "the text" : `line ${line}`}
      </button>
      <div>
        <p>
          {problem.message} <code className="faint">{problem.code}</code>
        </p>
        <p className="faint">
          <code>{problem.pointer === "" ? "/" : problem.pointer}</code>
        </p>
      </div>
    </li>
  );
}

function Types({ view }: { view: FlowCheckView }) {
  const graph = useMemo(() => graphOf(view), [view]);
  return (
    <div className="stack">
      <Graph graph={graph} />
      <div className="scroll">
        <table>
          <thead>
            <tr>
              <th>From</th>
              <th>To</th>
              <th>As</th>
              <th>Type</th>
            </tr>
          </thead>
          <tbody>
            {view.edges.map((edge) => (
              <tr key={edge.source + edge.target}>
                <td>
                  <code>{edge.source}</code>
                </td>
                <td>
                  <code>{edge.target}</code>
                </td>
                <td>{edge.is_stream ? <Word of="segment">stream</Word> : "table"}</td>
                <td className="wrap">
                  <code>{edge.type}</code>
                </td>
              </tr>
            ))}
            {Object.entries(view.extracts).map(([name, extract]) => (
              <tr key={`extract ${name}`}>
                <td>
                  <code>{extract.source}</code>
                </td>
                <td>extract {name}</td>
                <td>{extract.format}</td>
                <td className="wrap">
                  <code>{extract.type}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {view.unresolved.map((port) => (
        <p key={port} className="faint">
          The type of {port} is known only to Spark.
        </p>
      ))}
    </div>
  );
}

function graphOf(view: FlowCheckView) {
  const part = (end: string): [string, string] => {
    const at = end.lastIndexOf(".");
    return [end.slice(0, at), end.slice(at + 1)];
  };
  return {
    nodes: view.nodes.map((node) => ({ name: node.name, type: node.program, subjob: "", of: "" })),
    edges: view.edges.map((edge) => ({
      source: part(edge.source)[0],
      target: part(edge.target)[0],
      kind: part(edge.target)[1] === "stop" ? "stop" : "data",
      label: `${part(edge.source)[1]} → ${part(edge.target)[1]}`,
      type: edge.type,
    })),
  };
}
