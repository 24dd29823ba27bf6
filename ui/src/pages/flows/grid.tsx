// A constant: a table as a grid of cells, a text as a text, anything else as JSON.
import { useId, useState } from "react";
import type { FlowProblem } from "../../types";
import { JsonField } from "./form";
import type { Json } from "./json";
import { below, pointerTo } from "./problems";
import { cellText, cellValue, columnsOf, rowsOf, typeOfColumns, type Column } from "./rows";

interface ConstantProps {
  value: Record<string, Json>;
  onChange: (value: Record<string, Json>, kind?: string) => void;
  pointer: string;
  problems: readonly FlowProblem[];
}

const TYPES = ["bigint", "int", "double", "string", "boolean", "date", "timestamp", "decimal(9,2)"];

export function Constant({ value, onChange, pointer, problems }: ConstantProps) {
  const id = useId();
  const type = typeof value.type === "string" ? value.type : "";
  const columns = columnsOf(type);
  const rows = rowsOf(value.value);
  const wrong = below(problems, pointer);
  return (
    <>
      <div className="field">
        <label htmlFor={id}>type</label>
        <input
          id={id}
          className="mono"
          value={type}
          spellCheck={false}
          onChange={(event) => onChange({ ...value, type: event.target.value }, "type")}
        />
      </div>
      {typeof value.bytes === "string" ? (
        <Bytes value={value.bytes} onChange={(bytes) => onChange({ ...value, bytes }, "bytes")} />
      ) : typeof value.ref === "string" ? (
        <p className="faint">
          What was stored as <code>{value.ref.slice(0, 19)}…</code>
        </p>
      ) : columns !== null && rows !== null ? (
        <Grid
          columns={columns}
          rows={rows}
          wrong={wrong}
          pointer={pointerTo(pointer, "value")}
          onChange={(nextColumns, nextRows, kind) =>
            onChange(
              { ...value, type: nextColumns === columns ? type : typeOfColumns(nextColumns), value: nextRows },
              kind,
            )
          }
        />
      ) : (
        <div className="field">
          <label htmlFor={`${id}-value`}>value</label>
          <JsonField
            id={`${id}-value`}
            label="value"
            value={value.value}
            onChange={(next) => onChange({ ...value, value: next ?? null }, "value")}
          />
        </div>
      )}
      {wrong.map((each) => (
        <p key={each.message + each.pointer} className="field-problem">
          {each.message}
        </p>
      ))}
    </>
  );
}

interface GridProps {
  columns: readonly Column[];
  rows: readonly Record<string, Json>[];
  wrong: readonly FlowProblem[];
  pointer: string;
  onChange: (columns: readonly Column[], rows: Record<string, Json>[], kind?: string) => void;
}

const MOST_ROWS = 200;

function Grid({ columns, rows, wrong, pointer, onChange }: GridProps) {
  const list = useId();
  const [fresh, setFresh] = useState("");
  const change = (position: number, column: Column, text: string): void =>
    onChange(
      columns,
      rows.map((row, at) => (at === position ? { ...row, [column.name]: cellValue(text, column.type) } : row)),
      `cell ${position} ${column.name}`,
    );
  const add = () => {
    if (fresh === "" || columns.some((each) => each.name === fresh)) return;
    onChange(
      [...columns, { name: fresh, type: "string" }],
      rows.map((row) => ({ ...row, [fresh]: null })),
    );
    setFresh("");
  };
  return (
    <div className="constant-grid">
      <div className="scroll" tabIndex={0} role="group" aria-label="Rows">
        <table>
          <thead>
            <tr>
              {columns.map((column, place) => (
                <th key={place}>
                  <span>{column.name}</span>
                  <input
                    value={column.type}
                    list={list}
                    className="mono"
                    aria-label={`Type of ${column.name}`}
                    spellCheck={false}
                    onChange={(event) =>
                      onChange(
                        columns.map((each, at) => (at === place ? { ...each, type: event.target.value } : each)),
                        [...rows],
                        `type ${place}`,
                      )
                    }
                  />
                  <button
                    type="button"
                    className="quiet field-remove"
                    aria-label={`Remove the column ${column.name}`}
                    onClick={() =>
                      onChange(
                        columns.filter((_, at) => at !== place),
                        rows.map((row) =>
                          Object.fromEntries(Object.entries(row).filter(([name]) => name !== column.name)),
                        ),
                      )
                    }
                  >
                    ×
                  </button>
                </th>
              ))}
              <th>
                <span className="unseen">Rows</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, MOST_ROWS).map((row, position) => (
              <tr key={position}>
                {columns.map((column) => (
                  <td key={column.name}>
                    <input
                      value={cellText(row[column.name])}
                      placeholder={row[column.name] == null ? "null" : ""}
                      aria-label={`${column.name} of row ${position + 1}`}
                      aria-invalid={below(wrong, pointerTo(pointer, position, column.name)).length > 0}
                      spellCheck={false}
                      onChange={(event) => change(position, column, event.target.value)}
                    />
                  </td>
                ))}
                <td>
                  <button
                    type="button"
                    className="quiet field-remove"
                    aria-label={`Remove row ${position + 1}`}
                    onClick={() =>
                      onChange(
                        columns,
                        rows.filter((_, at) => at !== position),
                      )
                    }
                  >
                    ×
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > MOST_ROWS ? <p className="faint">{rows.length - MOST_ROWS} more rows are in the text.</p> : null}
      <div className="row">
        <button
          type="button"
          onClick={() => onChange(columns, [...rows, Object.fromEntries(columns.map((each) => [each.name, null]))])}
        >
          + row
        </button>
        <input
          data-own
          value={fresh}
          placeholder="a column"
          aria-label="A name for a column"
          spellCheck={false}
          onChange={(event) => setFresh(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") add();
          }}
        />
        <button type="button" disabled={fresh === ""} onClick={add}>
          + column
        </button>
      </div>
      <datalist id={list}>
        {TYPES.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </div>
  );
}

/** Octets as the text that they are; those that are none stay base64. */
function Bytes({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const id = useId();
  const text = decoded(value);
  return (
    <div className="field">
      <label htmlFor={id}>{text === null ? "base64" : "text"}</label>
      <textarea
        id={id}
        rows={5}
        value={text ?? value}
        spellCheck={false}
        onChange={(event) => onChange(text === null ? event.target.value : encoded(event.target.value))}
      />
    </div>
  );
}

function decoded(base64: string): string | null {
  try {
    const octets = Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(octets);
  } catch {
    return null;
  }
}

function encoded(text: string): string {
  return btoa(Array.from(new TextEncoder().encode(text), (each) => String.fromCharCode(each)).join(""));
}
