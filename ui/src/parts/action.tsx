// A verb as a button: what it does, its twin on the command line, and a note where somebody will ask why.
import { useState } from "react";
import { post, Refusal, type Problem } from "../api";
import { may } from "../live";
import { Command, Trouble } from "./basics";

type Level = "read" | "demand" | "operate" | "admin";

interface ActionProps<T> {
  label: string;
  path: string;
  body?: Readonly<Record<string, unknown>>;
  level: Level;
  /** The same on the command line. */
  twin: string;
  /** Ask for a reason, which goes to the audit. */
  hasNote?: boolean;
  isDanger?: boolean;
  onDone?: (answer: T) => void;
}

export function Action<T>({
  label,
  path,
  body = {},
  level,
  twin,
  hasNote = false,
  isDanger = false,
  onDone,
}: ActionProps<T>) {
  const [isOpen, setOpen] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [note, setNote] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const isAllowed = may(level);
  const send = () => {
    setBusy(true);
    setProblem(null);
    post<T>(path, hasNote ? { ...body, note } : body)
      .then((answer) => {
        setOpen(false);
        setNote("");
        onDone?.(answer);
      })
      .catch((error: unknown) => {
        setProblem(
          error instanceof Refusal
            ? error.problem
            : { code: "FAILED", message: String(error), place: null, hint: null },
        );
      })
      .finally(() => setBusy(false));
  };
  const why = isAllowed ? twin : `Your token does not allow this: it needs the level ${level}.`;
  return (
    <div className="action">
      <button
        type="button"
        className={isDanger ? "danger" : ""}
        disabled={!isAllowed || isBusy}
        title={why}
        aria-expanded={hasNote ? isOpen : undefined}
        onClick={() => (hasNote ? setOpen(!isOpen) : send())}
      >
        {label}
      </button>
      {isOpen ? (
        <form
          className="action-note"
          onSubmit={(event) => {
            event.preventDefault();
            send();
          }}
        >
          <label>
            Why? The audit keeps it.
            <input value={note} maxLength={500} autoFocus onChange={(event) => setNote(event.target.value)} />
          </label>
          <Command text={note === "" ? twin : `${twin} --note ${quoted(note)}`} />
          <div className="row">
            <button type="submit" className="primary" disabled={isBusy}>
              {label}
            </button>
            <button type="button" className="quiet" onClick={() => setOpen(false)}>
              Cancel
            </button>
          </div>
        </form>
      ) : null}
      {problem === null ? null : <Trouble problem={problem} />}
    </div>
  );
}

/** A word for a shell. */
export function quoted(text: string): string {
  return /^[\w@.,:/=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
