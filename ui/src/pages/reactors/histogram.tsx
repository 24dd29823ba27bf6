import { countText, durationText, numberText } from "../../words";
import type { Latency } from "./watch";

/** How long fires took, as bars; empty buckets at both ends are left out. */
export function Histogram({ latency }: { latency: Latency }) {
  const total = latency.counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return <p className="soft">No fire has ended since its host began.</p>;
  const first = latency.counts.findIndex((count) => count > 0);
  const last = latency.counts.findLastIndex((count) => count > 0);
  const most = Math.max(...latency.counts);
  const shown = latency.counts.map((count, at) => ({ count, at })).slice(Math.max(0, first - 1), last + 2);
  return (
    <figure className="histogram">
      <div
        className="histogram-bars"
        role="img"
        aria-label={`How long ${numberText(total)} fires took; the longest ${smallText(latency.longest_us)}`}
      >
        {shown.map(({ count, at }) => (
          <div key={at} className="histogram-bar" title={`${countText(count, "fire")} up to ${boundText(latency, at)}`}>
            <i style={{ height: `${(100 * count) / most}%` }} />
            <span>{boundText(latency, at)}</span>
          </div>
        ))}
      </div>
      <figcaption className="soft">
        {countText(total, "graph")} run; half within {smallText(quantile(latency, 0.5))}, 99 of 100 within{" "}
        {smallText(quantile(latency, 0.99))}, the longest {smallText(latency.longest_us)}.
      </figcaption>
    </figure>
  );
}

function boundText(latency: Latency, at: number): string {
  const bound = latency.bounds_us[at];
  return bound === undefined ? "more" : smallText(bound);
}

/** `250 µs`, `2.5 ms`, `3 s`. */
export function smallText(us: number): string {
  if (us < 1000) return `${us} µs`;
  if (us < 1_000_000) return `${String(Number((us / 1000).toPrecision(2)))} ms`;
  return durationText(us);
}

/** The upper end of the bucket that the share of all fires ends in. */
export function quantile(latency: Latency, share: number): number {
  const total = latency.counts.reduce((sum, count) => sum + count, 0);
  let seen = 0;
  for (const [at, count] of latency.counts.entries()) {
    seen += count;
    if (seen >= total * share) return Math.min(latency.bounds_us[at] ?? latency.longest_us, latency.longest_us);
  }
  return latency.longest_us;
}
