import type { ReactNode } from "react";

interface FailureProps {
  title: ReactNode;
  code: string;
  /** What it said, or where. */
  text?: ReactNode;
  trace: string | null;
}

/** Why something failed, with its code and its traceback. */
export function Failure({ title, code, text, trace }: FailureProps) {
  return (
    <section className="trouble failure" role="alert">
      <p>
        <strong>{title}</strong> <code className="faint">{code}</code>
      </p>
      {text === undefined || text === "" ? null : <p className="soft">{text}</p>}
      {trace === null || trace === "" ? null : (
        <details open>
          <summary>Traceback</summary>
          <pre className="trace">{trace.trimEnd()}</pre>
        </details>
      )}
    </section>
  );
}
