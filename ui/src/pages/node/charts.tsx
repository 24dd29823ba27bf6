import { useNow } from "../../clock";
import { Chart, TimeAxis } from "./chart";
import { go, here, hrefOf } from "../../router";
import type { PondView, TrendPoint } from "../../types";
import { countText, durationText, momentText, numberText, sizeText } from "../../words";
import { roundedUp, teeth } from "./sawtooth";

const HEIGHT = 150;
const TOP = 10;

/** Staleness over the last Runs, up to this second, with the limit of a Tide across it. */
export function Sawtooth({ points, pond }: { points: readonly TrendPoint[]; pond: PondView }) {
  const now = useNow();
  const found = teeth(points, now);
  const first = found[0];
  const last = found.at(-1);
  if (first === undefined || last === undefined) return <p className="soft">There is no completed Run yet.</p>;
  const limits = pond.triggers.flatMap((trigger) => trigger.limit_us ?? []);
  const limit = limits.length === 0 ? null : Math.min(...limits);
  const top = roundedUp(Math.max(...found.map((tooth) => tooth.high), limit ?? 0));
  const span = Math.max(1, now - first.from);
  const label = `Staleness over ${countText(found.length, "Run")}: now ${durationText(last.high)}, at most ${durationText(Math.max(...found.map((tooth) => tooth.high)))}`;
  return (
    <figure className="figure">
      <div className="figure-axis">
        <span>{durationText(top)}</span>
        <span>0</span>
      </div>
      <Chart
        height={HEIGHT}
        label={label}
        draw={(width) => {
          const x = (moment: number) => ((moment - first.from) / span) * width;
          const y = (stale: number) => HEIGHT - (stale / top) * (HEIGHT - TOP);
          const line = found
            .map((tooth) => `L${x(tooth.from)} ${y(tooth.low)}L${x(tooth.to)} ${y(tooth.high)}`)
            .join("");
          return (
            <>
              <path className="saw-area" d={`M${x(first.from)} ${HEIGHT}${line}L${width} ${HEIGHT}Z`} />
              <path className="saw-line" d={`M${x(first.from)} ${y(first.low)}${line}`} />
              {limit === null ? null : (
                <g>
                  <line className="saw-limit" x1={0} x2={width} y1={y(limit)} y2={y(limit)} />
                  <text className="saw-text" x={4} y={y(limit) - 4}>
                    Tide {durationText(limit)}
                  </text>
                </g>
              )}
              {found.length > width / 8
                ? null
                : found.map((tooth) => (
                    <circle
                      key={tooth.run}
                      className="saw-run"
                      cx={x(tooth.from)}
                      cy={y(tooth.low)}
                      r={3.2}
                      onClick={() => go(hrefOf(here(), "run", { run: tooth.run }))}
                    >
                      <title>{`Run #${tooth.number} published ${momentText(tooth.from)}: ${durationText(tooth.low)} stale`}</title>
                    </circle>
                  ))}
            </>
          );
        }}
      />
      <TimeAxis from={first.from} to={now} />
    </figure>
  );
}

export type Measure = "rows" | "bytes" | "time";

/** A bar for each of the last Runs. */
export function Bars({ points, ripple, measure }: { points: readonly TrendPoint[]; ripple: string; measure: Measure }) {
  const shown = points.filter((point) => point.ended_at !== null).slice(-60);
  const valueOf = (point: TrendPoint): number | null => {
    if (measure === "time") return (point.ended_at ?? 0) - point.started_at;
    const table = point.tables.find((each) => each.ripple === ripple);
    return table === undefined ? null : table[measure];
  };
  const text = measure === "time" ? durationText : measure === "bytes" ? sizeText : numberText;
  const top = Math.max(1, ...shown.map((point) => valueOf(point) ?? 0));
  const last = shown.at(-1);
  if (last === undefined) return <p className="soft">There is no Run yet.</p>;
  return (
    <figure className="figure">
      <div className="figure-axis">
        <span>{text(top)}</span>
        <span>0</span>
      </div>
      <Chart
        height={110}
        label={`${measure} of the last ${countText(shown.length, "Run")}, at most ${text(top)}`}
        draw={(width) => {
          const step = Math.min(28, width / shown.length);
          return shown.map((point, position) => {
            const value = valueOf(point);
            const table = point.tables.find((each) => each.ripple === ripple);
            const isReused = measure !== "time" && table?.is_reused === true;
            const height = value === null ? 4 : Math.max(2, (value / top) * 100);
            const state = point.state !== "completed" ? "bar-failed" : isReused ? "bar-reused" : "bar";
            return (
              <rect
                key={point.run}
                className={state}
                x={position * step + 1}
                y={110 - height}
                width={Math.max(1, step - 2)}
                height={height}
                rx={1.5}
                onClick={() => go(hrefOf(here(), "run", { run: point.run }))}
              >
                <title>{`Run #${point.number} ${point.state}${isReused ? ", reused" : ""}: ${value === null ? "nothing" : text(value)}${measure === "rows" ? " rows" : ""}`}</title>
              </rect>
            );
          });
        }}
      />
      <div className="time-axis" aria-hidden="true">
        <span>
          Run #{shown[0]?.number} to #{last.number}, the newest on the right
        </span>
      </div>
    </figure>
  );
}
