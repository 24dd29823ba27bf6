// A tree as text, with everything that is wrong at its place.
import { useMemo, useRef } from "react";
import { Word } from "../../parts/word";
import type { FlowCheckView, FlowProblem } from "../../types";
import { rangeOf } from "./position";

const LINE_PX = 20;

interface TextProps {
  text: string;
  problems: readonly FlowProblem[];
  onWrite: (text: string) => void;
}

export function TreeText({ text, problems, onWrite }: TextProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const show = (pointer: string) => {
    const range = rangeOf(text, pointer);
    const area = field.current;
    if (range === null || area === null) return;
    area.focus();
    area.setSelectionRange(range.start, range.end);
    area.scrollTop = Math.max(0, (range.line - 6) * LINE_PX);
  };
  return (
    <>
      <div className="flow-text">
        <Gutter text={text} problems={problems} />
        <textarea
          ref={field}
          value={text}
          onChange={(event) => onWrite(event.target.value)}
          spellCheck={false}
          wrap="off"
          aria-label="The tree, as JSON"
          rows={Math.max(14, text.split("\n").length + 1)}
        />
      </div>
      {problems.length > 0 ? (
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
    </>
  );
}

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

/** What travels where, as a table. */
export function Types({ view }: { view: FlowCheckView }) {
  return (
    <details className="flow-programs">
      <summary>What travels where</summary>
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
    </details>
  );
}
