// Places of nodes, from the worker or from those that were computed before for the same graph.
import { useEffect, useMemo, useState } from "react";
import code from "layout-worker";
import { placed, taskOf, type Positions } from "./arrange";
import type { CanvasGraph } from "./graph";

const KEY = "pondage.layouts";
const KEPT = 6;
const known = new Map<string, Positions>(read());
const waiting = new Map<string, (corners: Positions) => void>();
let worker: Worker | null = null;

function read(): [string, Positions][] {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "[]") as [string, Positions][];
  } catch {
    return [];
  }
}

function remember(hash: string, corners: Positions): void {
  known.set(hash, corners);
  try {
    localStorage.setItem(KEY, JSON.stringify([...known].slice(-KEPT)));
  } catch {
    // A browser that keeps nothing computes again.
  }
}

function started(): Worker {
  if (worker === null) {
    worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
    worker.onmessage = ({ data }: MessageEvent<{ hash: string; corners: Positions }>) => {
      remember(data.hash, data.corners);
      waiting.get(data.hash)?.(data.corners);
      waiting.delete(data.hash);
    };
  }
  return worker;
}

/** Answer where every node is; null while that is computed. */
export function useLayout(graph: CanvasGraph): Positions | null {
  const { task, hash } = useMemo(() => taskOf(graph), [graph]);
  const [, setTurn] = useState(0);
  useEffect(() => {
    if (known.has(hash)) return;
    waiting.set(hash, () => setTurn((before) => before + 1));
    started().postMessage({ hash, task });
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the hash is what the task says
  }, [hash]);
  const corners = known.get(hash) ?? null;
  return useMemo(() => (corners === null ? null : placed(graph, corners)), [graph, corners]);
}
