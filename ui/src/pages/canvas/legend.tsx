import { Word } from "../../parts/word";

/** What the colours and the lines mean. */
export function Legend() {
  return (
    <div className="canvas-legend" aria-label="Legend">
      {(["idle", "queued", "running", "failed", "blocked"] as const).map((state) => (
        <span key={state} className="canvas-legend-item">
          <i className={`canvas-legend-field is-${state}`} aria-hidden="true" />
          <Word of={state}>{state}</Word>
        </span>
      ))}
      <span className="canvas-legend-item">
        <i className="canvas-legend-line demand-pull" aria-hidden="true" />
        <Word of="pull">pull</Word>
      </span>
      <span className="canvas-legend-item">
        <i className="canvas-legend-line demand-push" aria-hidden="true" />
        <Word of="push">push</Word>
      </span>
      <span className="canvas-legend-item" title="A solid line: what the reader asks for is there already.">
        <i className="canvas-legend-line is-ahead" aria-hidden="true" />
        source is ahead
      </span>
    </div>
  );
}
