// Every verb as a button, with its command beside it. What was sent comes back over the feed.
import { useState, type FormEvent } from "react";
import { post, Refusal } from "../../api";
import { GLOSSARY } from "../../glossary";
import { spokenName } from "../../feed";
import { may, useWorld } from "../../live";
import { Command, Panel, Refused } from "../../parts/basics";
import { change, usePlace } from "../../router";
import type { PondView, StatusView } from "../../types";
import {
  bodyOf,
  commandOf,
  initialValues,
  isComplete,
  VERBS,
  verbOf,
  type Field,
  type Values,
  type Verb,
} from "./verbs";

const GROUPS = [...new Set(VERBS.map((verb) => verb.group))];

export function Act({ pond }: { pond: PondView }) {
  const { params } = usePlace();
  const chosen = verbOf(params.do ?? "");
  return (
    <Panel title="Tell it something">
      <div className="verbs">
        {GROUPS.map((group) => (
          <div key={group} className="verb-group" role="group" aria-label={group}>
            <span className="verb-label">{group}</span>
            {VERBS.filter((verb) => verb.group === group).map((verb) => (
              <button
                key={verb.id}
                type="button"
                className={verb.isGrave ? "danger" : ""}
                data-word={verb.id}
                aria-pressed={verb === chosen}
                onClick={() => change({ do: verb === chosen ? null : verb.id }, { replace: true })}
              >
                {GLOSSARY[verb.id][0]}
              </button>
            ))}
          </div>
        ))}
      </div>
      {chosen === undefined ? null : <Form key={`${chosen.id} ${pond.key}`} verb={chosen} pond={pond} />}
    </Panel>
  );
}

function Form({ verb, pond }: { verb: Verb; pond: PondView }) {
  const world = useWorld();
  const { params } = usePlace();
  const [values, setValues] = useState<Values>(() => initialValues(verb));
  const [isSending, setSending] = useState(false);
  const [done, setDone] = useState<string | null>(null);
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  const isAllowed = may(verb.level);
  const send = (event: FormEvent) => {
    event.preventDefault();
    setSending(true);
    setDone(null);
    setRefusal(null);
    post<StatusView>(`ponds/${encodeURIComponent(pond.key)}/${verb.id}`, bodyOf(verb, values))
      .then((status) => {
        const now = status.ponds[0];
        setDone(now === undefined ? "Done." : `Done. It is ${now.state}: ${now.next.text}.`);
      })
      .catch((error: unknown) => setRefusal(error instanceof Refusal ? error : null))
      .finally(() => setSending(false));
  };
  return (
    <form className="verb-form" onSubmit={send}>
      <p className="soft">{GLOSSARY[verb.id][1]}</p>
      {verb.fields.map((field) => (
        <FieldInput
          key={field.name}
          field={field}
          value={values[field.name] ?? ""}
          onChange={(value) => setValues({ ...values, [field.name]: value })}
        />
      ))}
      <Command text={commandOf(verb, spokenName(world, pond), values, params.env)} />
      <div className="row">
        <button
          type="submit"
          className={verb.isGrave ? "primary grave" : "primary"}
          disabled={!isAllowed || isSending || !isComplete(verb, values)}
        >
          {isSending ? "Sending …" : `${GLOSSARY[verb.id][0]} ${pond.name}`}
        </button>
        {isAllowed ? null : <span className="soft">Your token may not do this: it needs the level {verb.level}.</span>}
      </div>
      {done === null ? null : (
        <p role="status" className="done">
          {done}
        </p>
      )}
      {refusal === null ? null : <Refused refusal={refusal} />}
    </form>
  );
}

function FieldInput({ field, value, onChange }: { field: Field; value: string; onChange: (value: string) => void }) {
  if (field.kind === "check") {
    return (
      <label className="check">
        <input type="checkbox" checked={value !== ""} onChange={(event) => onChange(event.target.checked ? "1" : "")} />{" "}
        {field.label}
      </label>
    );
  }
  return (
    <label className="field">
      {field.label}
      {field.kind === "choice" ? (
        <select value={value} onChange={(event) => onChange(event.target.value)}>
          {(field.options ?? []).map((option) => (
            <option key={option}>{option}</option>
          ))}
        </select>
      ) : (
        <input
          value={value}
          placeholder={field.placeholder ?? ""}
          maxLength={200}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </label>
  );
}
