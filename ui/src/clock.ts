// One tick a second for everything that says how old something is, and none for a tab that nobody sees.
import { useSyncExternalStore } from "react";
import { ledgerNow } from "./live";

const listeners = new Set<() => void>();
let shown = 0;

window.setInterval(() => {
  if (document.hidden || listeners.size === 0) return;
  shown = ledgerNow();
  for (const listener of [...listeners]) listener();
}, 1000);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function now(): number {
  const exact = ledgerNow();
  if (Math.abs(exact - shown) >= 1_000_000) shown = exact;
  return shown;
}

/** Now, by the clock of the ledger, in microseconds; renders again every second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, now);
}
