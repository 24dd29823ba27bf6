// Parameters as a form, made from the JSON Schema of a program.
import { useId, useState, type ReactNode } from "react";
import type { FlowProblem } from "../../types";
import { inLine, isObject, parsed, Written, type Json } from "./json";
import { below, pointerTo } from "./problems";

type Schema = Readonly<Record<string, unknown>>;

/** Formats that only jobs may have: no tree can say them. */
const NEVER = new Set(["path", "url", "sql", "code"]);

export interface FieldProps {
  label: string;
  schema: Schema;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
  pointer: string;
  problems: readonly FlowProblem[];
  /** The columns that come in, to be chosen from. */
  columns: readonly string[];
  isRequired?: boolean;
}

export function shownProperties(schema: Schema): [string, Schema][] {
  return Object.entries(objectOf(schema.properties))
    .map(([name, each]): [string, Schema] => [name, objectOf(each)])
    .filter(([, each]) => typeof each.format !== "string" || !NEVER.has(each.format));
}

/** One value with its label, and what is wrong with it. */
export function Field(props: FieldProps) {
  const { label, schema, pointer, problems, isRequired = false } = props;
  const kind = kindOf(schema);
  const isGroup = kind === "list" || kind === "map" || kind === "object";
  const wrong = isGroup ? problems.filter((each) => each.pointer === pointer) : below(problems, pointer);
  const id = useId();
  const told = wrong.map((each) => (
    <p key={each.message} className="field-problem">
      {each.message}
    </p>
  ));
  const doc = typeof schema.description === "string" ? <p className="faint">{schema.description}</p> : null;
  const title = (
    <>
      {label}
      {isRequired ? <span className="field-must"> needed</span> : null}
      {typeof schema.format === "string" ? <span className="faint"> {schema.format}</span> : null}
    </>
  );
  if (isGroup) {
    return (
      <fieldset className="field">
        <legend>{title}</legend>
        {doc}
        {kind === "list" ? <List {...props} /> : kind === "map" ? <Pairs {...props} /> : <Properties {...props} />}
        {told}
      </fieldset>
    );
  }
  return (
    <div className="field">
      <label htmlFor={id}>{title}</label>
      {doc}
      <Plain {...props} id={id} kind={kind} />
      {told}
    </div>
  );
}

type Kind = "choice" | "check" | "number" | "text" | "list" | "map" | "object" | "json";

function kindOf(schema: Schema): Kind {
  if (Array.isArray(schema.enum)) return "choice";
  if (schema.type === "boolean") return "check";
  if (schema.type === "integer" || schema.type === "number") return "number";
  if (schema.type === "string") return "text";
  if (schema.type === "array")
    return ["string", "object"].includes(String(objectOf(schema.items).type)) ? "list" : "json";
  if (schema.type !== "object") return "json";
  if (shownProperties(schema).length > 0) return "object";
  return isPlainObject(schema.additionalProperties) ? "map" : "json";
}

function Plain({ id, kind, label, schema, value, onChange, columns }: FieldProps & { id: string; kind: Kind }) {
  const list = useId();
  if (kind === "check") {
    return (
      <select
        id={id}
        value={value === true ? "true" : value === false ? "false" : ""}
        onChange={(event) => onChange(event.target.value === "" ? undefined : event.target.value === "true")}
      >
        <option value="">as it is</option>
        <option value="true">yes</option>
        <option value="false">no</option>
      </select>
    );
  }
  if (kind === "choice") {
    const options = schema.enum as Json[];
    return (
      <select
        id={id}
        value={value === undefined ? "" : inLine(value)}
        onChange={(event) => onChange(event.target.value === "" ? undefined : parsed(event.target.value))}
      >
        <option value="">as it is</option>
        {options.map((each) => (
          <option key={inLine(each)} value={inLine(each)}>
            {typeof each === "string" ? each : inLine(each)}
          </option>
        ))}
      </select>
    );
  }
  if (kind === "number") {
    return (
      <input
        id={id}
        inputMode="decimal"
        value={value === undefined ? "" : typeof value === "string" ? value : inLine(value)}
        onChange={(event) => onChange(numberOf(event.target.value))}
      />
    );
  }
  if (kind === "json") return <JsonField id={id} label={label} value={value} onChange={onChange} />;
  const isExpression = schema.format === "expression";
  const text = value === undefined ? "" : typeof value === "string" ? value : inLine(value);
  const isColumn = schema.format === undefined && columns.length > 0;
  return (
    <>
      <input
        id={id}
        className={isExpression || schema.format === "type" ? "mono" : ""}
        value={text}
        spellCheck={false}
        list={isColumn ? list : undefined}
        onChange={(event) => onChange(event.target.value === "" ? undefined : event.target.value)}
      />
      {isColumn ? (
        <datalist id={list}>
          {columns.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      ) : null}
      {isExpression ? <Columns columns={columns} field={id} text={text} onChange={onChange} /> : null}
    </>
  );
}

/** The columns that an expression can name: one that is chosen is written where the cursor is. */
function Columns({
  columns,
  field,
  text,
  onChange,
}: {
  columns: readonly string[];
  field: string;
  text: string;
  onChange: (value: string) => void;
}) {
  const word = /[A-Za-z_][A-Za-z0-9_]*$/.exec(text)?.[0] ?? "";
  const fitting = columns.filter((each) => word === "" || each.toLowerCase().startsWith(word.toLowerCase()));
  const offered = (fitting.length > 0 ? fitting : columns).filter((each) => each !== word).slice(0, 12);
  if (offered.length === 0) return null;
  return (
    <div className="field-columns">
      {offered.map((each) => (
        <button
          key={each}
          type="button"
          aria-label={`Write ${each}`}
          onClick={() => {
            const input = document.getElementById(field) as HTMLInputElement;
            const at = input.selectionStart ?? text.length;
            const isCompleted = at === text.length && fitting.includes(each);
            const from = isCompleted ? text.length - word.length : at;
            onChange(text.slice(0, from) + each + text.slice(at));
            input.focus();
          }}
        >
          {each}
        </button>
      ))}
    </div>
  );
}

function List({ label, schema, value, onChange, pointer, problems, columns }: FieldProps) {
  const items = Array.isArray(value) ? value : [];
  const inner = objectOf(schema.items);
  return (
    <>
      {items.map((item, position) => (
        <div key={position} className="field-item">
          <Field
            label={`${label} ${position + 1}`}
            schema={inner}
            value={item}
            pointer={pointerTo(pointer, position)}
            problems={problems}
            columns={columns}
            onChange={(next) => onChange(items.map((each, at) => (at === position ? (next ?? "") : each)))}
          />
          <Remove
            label={`${label} ${position + 1}`}
            onClick={() => {
              const left = items.filter((_, at) => at !== position);
              onChange(left.length === 0 ? undefined : left);
            }}
          />
        </div>
      ))}
      <div className="field-columns">
        <button type="button" onClick={() => onChange([...items, inner.type === "object" ? {} : ""])}>
          + {label}
        </button>
        {inner.type === "string"
          ? columns
              .filter((each) => !items.includes(each))
              .slice(0, 12)
              .map((each) => (
                <button
                  key={each}
                  type="button"
                  aria-label={`Take ${each} for ${label}`}
                  onClick={() => onChange([...items, each])}
                >
                  {each}
                </button>
              ))
          : null}
      </div>
    </>
  );
}

function Pairs({ label, schema, value, onChange, pointer, problems, columns }: FieldProps) {
  const entries = isObject(value) ? Object.entries(value) : [];
  const inner = objectOf(schema.additionalProperties);
  const [fresh, setFresh] = useState("");
  const [wrong, setWrong] = useState("");
  const add = () => {
    if (entries.some(([key]) => key === fresh)) setWrong(`“${fresh}” is there already`);
    else if (fresh !== "") {
      onChange({ ...Object.fromEntries(entries), [fresh]: inner.type === "object" ? {} : "" });
      setFresh("");
      setWrong("");
    }
  };
  return (
    <>
      {entries.map(([key, item]) => (
        <div key={key} className="field-item">
          <Field
            label={key}
            schema={inner}
            value={item === "" ? undefined : item}
            pointer={pointerTo(pointer, key)}
            problems={problems}
            columns={columns}
            onChange={(next) =>
              onChange(Object.fromEntries(entries.map(([each, was]) => [each, each === key ? (next ?? "") : was])))
            }
          />
          <Remove
            label={key}
            onClick={() => {
              const left = entries.filter(([each]) => each !== key);
              onChange(left.length === 0 ? undefined : Object.fromEntries(left));
            }}
          />
        </div>
      ))}
      <div className="row">
        <input
          data-own
          value={fresh}
          placeholder="a name"
          aria-label={`A name for ${label}`}
          spellCheck={false}
          onChange={(event) => setFresh(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") add();
          }}
        />
        <button type="button" disabled={fresh === ""} onClick={add}>
          + {label}
        </button>
      </div>
      {wrong === "" ? null : <p className="field-problem">{wrong}</p>}
    </>
  );
}

function Properties({ schema, value, onChange, pointer, problems, columns }: FieldProps) {
  const given = isObject(value) ? value : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  return (
    <>
      {shownProperties(schema).map(([name, inner]) => (
        <Field
          key={name}
          label={name}
          schema={inner}
          value={given[name]}
          isRequired={required.includes(name)}
          pointer={pointerTo(pointer, name)}
          problems={problems}
          columns={columns}
          onChange={(next) => {
            const { [name]: _was, ...others } = given;
            void _was;
            onChange(next === undefined ? others : { ...given, [name]: next });
          }}
        />
      ))}
    </>
  );
}

/** Anything else is typed as JSON; what is none is not taken over. */
export function JsonField({
  id,
  label,
  value,
  onChange,
}: {
  id: string;
  label: string;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
}) {
  const said = value === undefined ? "" : inLine(value);
  const [typed, setTyped] = useState<{ text: string; said: string } | null>(null);
  const text = typed !== null && typed.said === said ? typed.text : said;
  let isWrong = false;
  try {
    if (text !== "") parsed(text);
  } catch {
    isWrong = true;
  }
  return (
    <>
      <textarea
        id={id}
        className="mono"
        rows={Math.min(8, 2 + Math.floor(text.length / 40))}
        value={text}
        spellCheck={false}
        aria-label={`${label}, as JSON`}
        onChange={(event) => {
          const next = event.target.value;
          try {
            const read = next.trim() === "" ? undefined : parsed(next);
            setTyped({ text: next, said: read === undefined ? "" : inLine(read) });
            onChange(read);
          } catch {
            setTyped({ text: next, said });
          }
        }}
      />
      {isWrong ? <p className="field-problem">This is no JSON yet.</p> : null}
    </>
  );
}

function Remove({ label, onClick }: { label: string; onClick: () => void }): ReactNode {
  return (
    <button type="button" className="quiet field-remove" aria-label={`Remove ${label}`} onClick={onClick}>
      ×
    </button>
  );
}

function numberOf(text: string): Json | undefined {
  if (text.trim() === "") return undefined;
  try {
    const value = parsed(text.trim());
    return typeof value === "number" || value instanceof Written ? value : text;
  } catch {
    return text;
  }
}

function objectOf(value: unknown): Schema {
  return isPlainObject(value) ? value : {};
}

function isPlainObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
