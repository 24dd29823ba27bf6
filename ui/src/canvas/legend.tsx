import { Word } from "../parts/word";

/** What the colours and the lines mean. */
export function Legend() {
  return (
    <div className="legend" aria-label="Legend">
      {(["idle", "queued", "running", "failed", "blocked"] as const).map((state) => (
        <span key={state} className="legend-item">
          <i className={`legend-field is-${state}`} aria-hidden="true" />
          <Word of={state}>{state}</Word>
        </span>
      ))}
      <span className="legend-item">
        <i className="legend-line demand-pull" aria-hidden="true" />
        <Word of="pull">pull</Word>
      </span>
      <span className="legend-item">
        <i className="legend-line demand-push" aria-hidden="true" />
        <Word of="push">push</Word>
      </span>
      <span className="legend-item" title="A solid line: what the reader asks for is there already.">
        <i className="legend-line is-ahead" aria-hidden="true" />
        source is ahead
      </span>
    </div>
  );
}
