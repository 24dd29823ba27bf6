// How stale a Pond was over time: a second a second upwards, and down with every Run that completed. Pure.
import type { TrendPoint } from "../../types";

export interface Tooth {
  /** When its data came, and how stale it was then. */
  from: number;
  low: number;
  /** When newer data came (or now), and how stale it had become. */
  to: number;
  high: number;
  run: string;
  number: number;
}

/** Answer the teeth of completed Runs, oldest first; the last one goes on until now. */
export function teeth(points: readonly TrendPoint[], now: number): Tooth[] {
  const completed = points.filter((point) => point.state === "completed" && point.ended_at !== null);
  return completed.map((point, position) => {
    const from = point.ended_at ?? 0;
    const to = Math.max(from, completed[position + 1]?.ended_at ?? now);
    const staleAt = (moment: number) => Math.max(0, moment + point.delay - point.freshness);
    return { from, low: staleAt(from), to, high: staleAt(to), run: point.run, number: point.number };
  });
}

/** A round number at or above a value, for the top of an axis, in microseconds. */
export function roundedUp(value: number): number {
  const steps = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 2700, 3600, 4500, 5400, 7200, 10800, 21600, 43200, 86400,
  ].map((step) => step * 1_000_000);
  const found = steps.find((step) => step >= value);
  return found ?? Math.ceil(value / 86_400_000_000) * 86_400_000_000;
}
