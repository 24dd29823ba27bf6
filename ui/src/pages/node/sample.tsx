import { useEffect, useRef, useState } from "react";
import { get, post, Refusal } from "../../api";
import { may } from "../../live";
import { Command, Panel, Refused, Trouble } from "../../parts/basics";
import type { AnswerView, QueryView } from "../../types";

const ROWS = 20;

/** What is not for the embedded engine: then a worker reads the rows. */
const FOR_WORKERS = ["MISSING_EXTRA", "NOT_LOCAL"];

async function asked(table: string): Promise<AnswerView> {
  const given = { limit: ROWS, door: "page" };
  try {
    const sql = `select * from "${table}" limit ${ROWS}`;
    return await post<AnswerView>("queries", { ...given, sql, engine: "duckdb" });
  } catch (error) {
    if (!(error instanceof Refusal) || !FOR_WORKERS.includes(error.problem.code)) throw error;
    return post<AnswerView>("queries", { ...given, sql: `select * from ${table} limit ${ROWS}` });
  }
}

/** Some published rows. The embedded engine reads them at once; where it cannot, a worker does, and is waited for. */
export function SampleRows({ table, isThere }: { table: string; isThere: boolean }) {
  const [answer, setAnswer] = useState<AnswerView | null>(null);
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  const isGone = useRef(false);
  useEffect(() => {
    isGone.current = false;
    return () => {
      isGone.current = true;
    };
  }, []);
  const sql = `select * from ${table} limit ${ROWS}`;
  const ask = async () => {
    setRefusal(null);
    try {
      let found = await asked(table);
      setAnswer(found);
      while (found.state !== "done" && found.state !== "failed" && !isGone.current) {
        found = await get<AnswerView>(`answers/${found.id}`, { wait: 5 });
        if (!isGone.current) setAnswer(found);
      }
    } catch (error) {
      if (error instanceof Refusal && !isGone.current) setRefusal(error);
    }
  };
  const isWaiting = answer !== null && answer.state !== "done" && answer.state !== "failed" && refusal === null;
  return (
    <Panel title="Some rows">
      {answer?.state === "done" ? (
        <Rows view={answer.result as QueryView} />
      ) : (
        <div className="stack-small">
          <p className="soft">
            {isWaiting
              ? `A worker reads them: ${answer.state} …`
              : "They are read from the files; nothing is computed."}
          </p>
          <Command text={`pondage query "${sql}"`} />
          <button type="button" disabled={!isThere || isWaiting || !may("demand")} onClick={() => void ask()}>
            {isWaiting ? "Reading …" : `Show ${ROWS} rows`}
          </button>
          {may("demand") ? null : <p className="soft">Your token may not ask for rows: it needs the level demand.</p>}
        </div>
      )}
      {answer?.error == null ? null : <Trouble problem={answer.error} />}
      {refusal === null ? null : <Refused refusal={refusal} />}
    </Panel>
  );
}

function Rows({ view }: { view: QueryView }) {
  if (view.rows.length === 0) return <p className="soft">The table is empty.</p>;
  return (
    <div className="scroll rows" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {view.columns.map((column, position) => (
              <th key={column} scope="col" title={view.types[position]}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {view.rows.map((row, position) => (
            <tr key={position}>
              {row.map((value, place) => (
                <td key={place} className={typeof value === "number" ? "right number" : ""}>
                  {value === null ? (
                    <span className="faint">null</span>
                  ) : typeof value === "object" ? (
                    JSON.stringify(value)
                  ) : (
                    String(value as string | number | boolean)
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
