// A reactor's state as its owner says it, read again whenever something happened to it, at most a few times a second.
import { useEffect, useState } from "react";
import { apiUrl, post, useGet, type Fetched } from "../../api";
import type { Ticket } from "../../types";

export interface SourceState {
  value: unknown;
  seen: number;
  consumed: number;
  dirty: boolean;
  queued: number;
  buffered: number;
  parked: number;
  health: string;
  dropped: number;
  rejected: number;
  dup: number;
}

export interface Latency {
  bounds_us: number[];
  counts: number[];
  longest_us: number;
}

export interface ReactorState {
  state: string;
  unhealthy: string[];
  hold: string | null;
  sources: Record<string, SourceState>;
  running: { fire: number; attempt: number; reason: string } | null;
  last_fire: [number, number, string, number] | null;
  retry_at: number | null;
  dead: number[];
  fires: number;
  ok: number;
  bad: number;
  freshness: number | null;
  latency?: Latency;
}

const AT_MOST_EVERY_MS = 300;

export function useReactorState(name: string, isOwned: boolean): Fetched<ReactorState> {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (!isOwned) return undefined;
    let isOver = false;
    let socket: WebSocket | null = null;
    let timer = 0;
    const happened = () => {
      if (timer !== 0) return;
      timer = window.setTimeout(() => {
        timer = 0;
        setTurn((before) => before + 1);
      }, AT_MOST_EVERY_MS);
    };
    const begin = async () => {
      const { ticket } = await post<Ticket>("tickets");
      if (isOver) return;
      const url = new URL(apiUrl(`ws/reactors/${encodeURIComponent(name)}`, { ticket }), document.baseURI);
      url.protocol = url.protocol.replace("http", "ws");
      socket = new WebSocket(url);
      socket.onmessage = happened;
    };
    // Without the socket the state is still read once, and after every command.
    begin().catch(() => undefined);
    return () => {
      isOver = true;
      window.clearTimeout(timer);
      socket?.close();
    };
  }, [name, isOwned]);
  return useGet<ReactorState>(isOwned ? `reactors/${encodeURIComponent(name)}/state` : null, {}, turn);
}
