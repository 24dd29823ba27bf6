// What can be undone and done again. Changes of one kind that follow each other (typing, moving) are one step. Pure.

export interface History<T> {
  past: readonly T[];
  now: T;
  future: readonly T[];
  /** The kind of the last step; another step of the same kind is taken together with it. */
  kind: string;
}

const MOST = 300;

export function began<T>(now: T): History<T> {
  return { past: [], now, future: [], kind: "" };
}

/** Go on to another state. Steps of one kind are one step; those without a kind stay apart. */
export function stepped<T>(history: History<T>, next: T, kind = ""): History<T> {
  if (next === history.now) return history;
  if (kind !== "" && kind === history.kind) return { ...history, now: next, future: [] };
  return { past: [...history.past.slice(1 - MOST), history.now], now: next, future: [], kind };
}

export function undone<T>({ past, now, future }: History<T>): History<T> {
  const before = past.at(-1);
  if (before === undefined) return { past, now, future, kind: "" };
  return { past: past.slice(0, -1), now: before, future: [now, ...future], kind: "" };
}

export function redone<T>({ past, now, future }: History<T>): History<T> {
  const [next, ...rest] = future;
  if (next === undefined) return { past, now, future, kind: "" };
  return { past: [...past, now], now: next, future: rest, kind: "" };
}
