// The one connection to the feed and the one store behind every page: each message is one change and one render.
import { useSyncExternalStore } from "react";
import { apiUrl, hasToken, post, Refusal, type Problem } from "./api";
import { isGap, NOTHING, reduce, type FeedMessage, type World } from "./feed";
import { here } from "./router";
import type { Ticket } from "./types";
import { noteMajors } from "./words";

/** `refused` asks for another token; `lost` tries again by itself. */
export type Connection = "connecting" | "live" | "lost" | "refused";

export interface Live {
  world: World;
  connection: Connection;
  problem: Problem | null;
  who: Ticket | null;
}

const LONGEST_WAIT_MS = 15_000;
const REVOKED = 4401;
let state: Live = { world: NOTHING, connection: "connecting", problem: null, who: null };
const listeners = new Set<() => void>();
let socket: WebSocket | null = null;
let turn = 0;
let waitMs = 500;
/** How far the clock of the ledger is ahead of this machine's, in microseconds. */
let offset = 0;

function set(change: Partial<Live>): void {
  if (change.world !== undefined && change.world.ponds !== state.world.ponds) noteMajors(change.world.ponds.keys());
  state = { ...state, ...change };
  for (const listener of [...listeners]) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useLive(): Live {
  return useSyncExternalStore(subscribe, () => state);
}

export function useWorld(): World {
  return useLive().world;
}

/** Now, by the clock of the ledger, in microseconds. */
export function ledgerNow(): number {
  return Date.now() * 1000 + offset;
}

/** Connect anew: at the start, with another token, for another environment. */
export function connect(): void {
  turn += 1;
  socket?.close();
  socket = null;
  waitMs = 500;
  if (!hasToken()) {
    set({ world: NOTHING, connection: "refused", problem: null, who: null });
    return;
  }
  set({ world: NOTHING, connection: "connecting", problem: null });
  void open(turn);
}

async function open(mine: number): Promise<void> {
  let who: Ticket;
  try {
    who = await post<Ticket>("tickets");
  } catch (error) {
    if (mine === turn) failed(mine, error);
    return;
  }
  if (mine !== turn) return;
  const after = state.world.seq < 0 ? null : state.world.seq;
  const url = new URL(apiUrl("ws/feed", { ticket: who.ticket, after, graph: true }), document.baseURI);
  url.protocol = url.protocol.replace("http", "ws");
  const opened = new WebSocket(url);
  socket = opened;
  state = { ...state, who };
  opened.onmessage = ({ data }) => {
    if (mine === turn) receive(opened, JSON.parse(String(data)) as FeedMessage);
  };
  opened.onclose = ({ code }) => {
    if (mine === turn) failed(mine, code === REVOKED ? new Refusal(401, revoked) : null);
  };
}

const revoked: Problem = {
  code: "BAD_TOKEN",
  message: "the token was revoked",
  place: null,
  hint: "pondage token create --level read",
};

function receive(from: WebSocket, message: FeedMessage): void {
  if (isGap(state.world, message)) {
    from.close();
    return;
  }
  const world = reduce(state.world, message);
  if (message.type !== "reset") offset = world.at - Date.now() * 1000;
  waitMs = 500;
  set({ world, connection: "live", problem: null });
}

function failed(mine: number, error: unknown): void {
  socket = null;
  if (error instanceof Refusal && error.status >= 400 && error.status < 429) {
    set({ connection: "refused", problem: error.problem });
    return;
  }
  set({ connection: "lost", problem: error instanceof Refusal ? error.problem : null });
  window.setTimeout(() => {
    if (mine === turn) void open(mine);
  }, waitMs);
  waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
}

let environment: string | undefined | null = null;

/** Follow the environment of the address. */
export function followEnvironment(): void {
  if (here().params.env === environment) return;
  environment = here().params.env;
  connect();
}

const LEVELS = ["read", "demand", "operate", "admin"];

/** Whether the token of this tab may do what needs this level. */
export function may(level: "read" | "demand" | "operate" | "admin"): boolean {
  return state.who !== null && LEVELS.indexOf(state.who.level) >= LEVELS.indexOf(level);
}
