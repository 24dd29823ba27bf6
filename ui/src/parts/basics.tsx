// The small pieces that every page is made of.
import { useState, type ReactNode } from "react";
import type { Fetched, Problem, Refusal } from "../api";
import { useNow } from "../clock";
import { isTerm } from "../glossary";
import { ageText, durationText, momentText } from "../words";
import { Word } from "./word";

export function Panel({
  title,
  aside,
  children,
  className,
}: {
  title?: ReactNode;
  aside?: ReactNode;
  children: ReactNode;
  className?: string;
}) {
  return (
    <section className={`panel ${className ?? ""}`}>
      {title === undefined ? null : (
        <header className="panel-head">
          <h2>{title}</h2>
          {aside === undefined ? null : <div className="panel-aside">{aside}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

/** The state of a Pond, a Run, an attempt: one look everywhere. */
export function StateChip({ state }: { state: string }) {
  const word = state.toLowerCase();
  return (
    <span className={`chip state-${word.replace(/[^a-z]+/g, "-")}`}>
      <i className="dot" aria-hidden="true" />
      {isTerm(word) ? <Word of={word}>{state}</Word> : state}
    </span>
  );
}

export function Tag({ children }: { children: ReactNode }) {
  return <span className="tag">{children}</span>;
}

/** How long ago, or how soon; counts on by itself. */
export function Age({ at }: { at: number }) {
  const now = useNow();
  return (
    <time className="number" dateTime={new Date(at / 1000).toISOString()} title={momentText(at)}>
      {ageText(at, now)}
    </time>
  );
}

/** Up to which moment data is complete. Of a Window that is still open that is its end: nothing newer can be had. */
export function Fresh({ at }: { at: number | null | undefined }) {
  const now = useNow();
  if (at == null) return <span className="faint">never</span>;
  if (at > now) return <span title={`complete until ${momentText(at)}`}>up to date</span>;
  return <Age at={at} />;
}

/** How old something is, without the word: of a freshness, of a start. */
export function Elapsed({ since }: { since: number }) {
  const now = useNow();
  return <span className="number">{durationText(Math.max(0, Math.floor((now - since) / 1_000_000) * 1_000_000))}</span>;
}

export function Duration({ us }: { us: number }) {
  return <span className="number">{durationText(us)}</span>;
}

/** A command to type, with a button that copies it. */
export function Command({ text }: { text: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = () => {
    void copyText(text).then(() => {
      setCopied(true);
      window.setTimeout(() => setCopied(false), 1500);
    });
  };
  return (
    <span className="command">
      <code>{text}</code>
      <button type="button" className="copy" onClick={copy} aria-label={`Copy: ${text}`}>
        {isCopied ? "copied" : "copy"}
      </button>
    </span>
  );
}

async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  // Without https there is no clipboard; the old way works everywhere.
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
  return undefined;
}

/** Nothing to show: says why, and what to type. */
export function Empty({
  title,
  children,
  commands = [],
}: {
  title: ReactNode;
  children?: ReactNode;
  commands?: readonly string[];
}) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children === undefined ? null : <p>{children}</p>}
      {commands.map((command) => (
        <Command key={command} text={command} />
      ))}
    </div>
  );
}

export function Trouble({ problem, title }: { problem: Problem; title?: ReactNode }) {
  return (
    <div className="trouble" role="alert">
      <p>
        <strong>{title ?? problem.message}</strong> <code className="faint">{problem.code}</code>
      </p>
      {title === undefined ? null : <p>{problem.message}</p>}
      {problem.place ? <p className="faint">at {problem.place}</p> : null}
      {problem.hint ? (
        problem.hint.startsWith("pondage ") ? (
          <Command text={problem.hint} />
        ) : (
          <p>{problem.hint}</p>
        )
      ) : null}
    </div>
  );
}

/** A refusal of the API in the place where its answer would be. */
export function Refused({ refusal }: { refusal: Refusal }) {
  if (refusal.status === 403) return <Trouble problem={refusal.problem} title="Your token does not allow this" />;
  return <Trouble problem={refusal.problem} />;
}

/** What was read, or why not; nothing flickers while it is read again. */
export function Loaded<T>({ from, children }: { from: Fetched<T>; children: (data: T) => ReactNode }) {
  if (from.data !== null) return <>{children(from.data)}</>;
  if (from.refusal !== null) return <Refused refusal={from.refusal} />;
  return <p className="loading">Reading …</p>;
}

/** Names and values, aligned. Values that are missing are left out. */
export function Facts({ facts }: { facts: readonly (readonly [ReactNode, ReactNode])[] }) {
  const shown = facts.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return (
    <dl className="facts">
      {shown.map(([name, value], position) => (
        <div key={position}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A choice of a few, as a row of buttons. */
export function Choice<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: T;
  options: readonly (readonly [T, ReactNode])[];
  onChange: (value: T) => void;
}) {
  return (
    <div className="choice" role="group" aria-label={label}>
      {options.map(([each, text]) => (
        <button key={each} type="button" aria-pressed={each === value} onClick={() => onChange(each)}>
          {text}
        </button>
      ))}
    </div>
  );
}

export function PageHead({ title, lead, children }: { title: ReactNode; lead?: ReactNode; children?: ReactNode }) {
  return (
    <div className="page-head">
      <div>
        <h1>{title}</h1>
        {lead === undefined ? null : <p className="lead">{lead}</p>}
      </div>
      {children === undefined ? null : <div className="page-actions">{children}</div>}
    </div>
  );
}
