// Attempts as bars on one line of time: when each waited, ran and ended.
import type { ReactNode } from "react";
import { useNow } from "../../clock";
import { clockText, durationText } from "../../words";
import { marksOf } from "../../parts/scale";

export interface Bar {
  key: string;
  label: ReactNode;
  title: string;
  /** Waited from here. */
  from: number;
  /** Ran from here; null while it waits. */
  began: number | null;
  ended: number | null;
  state: string;
  aside?: ReactNode;
}

export function Gantt({ bars }: { bars: readonly Bar[] }) {
  const now = useNow();
  if (bars.length === 0) return null;
  const start = Math.min(...bars.map((bar) => bar.from));
  const end = Math.max(...bars.map((bar) => bar.ended ?? now), start + 1_000_000);
  const place = (at: number): string => `${(100 * (at - start)) / (end - start)}%`;
  const width = (from: number, to: number): string => `${Math.max(0.4, (100 * (to - from)) / (end - start))}%`;
  return (
    <div className="gantt" role="table" aria-label="Attempts over time">
      <div className="gantt-scale" aria-hidden="true">
        <span />
        <div className="gantt-track">
          {marksOf(start, end).map((at) => (
            <span key={at} className="gantt-mark" style={{ left: place(at) }}>
              {clockText(at)}
            </span>
          ))}
        </div>
        <span />
      </div>
      {bars.map((bar) => (
        <div key={bar.key} className="gantt-row" role="row" title={bar.title}>
          <span className="gantt-label" role="rowheader">
            {bar.label}
          </span>
          <div className="gantt-track" role="cell" aria-label={bar.title}>
            {bar.began === null || bar.began > bar.from ? (
              <i
                className="gantt-wait"
                style={{ left: place(bar.from), width: width(bar.from, bar.began ?? bar.ended ?? now) }}
              />
            ) : null}
            {bar.began === null ? null : (
              <i
                className={`gantt-bar bar-${bar.state.toLowerCase()}`}
                style={{ left: place(bar.began), width: width(bar.began, bar.ended ?? now) }}
              />
            )}
          </div>
          <span className="gantt-aside number" role="cell">
            {bar.aside ?? (bar.began === null ? "waits" : durationText((bar.ended ?? now) - bar.began))}
          </span>
        </div>
      ))}
    </div>
  );
}
