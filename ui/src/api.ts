// The HTTP API with the token of this tab. The token comes in the fragment of the URL, which no server ever sees.
import { useCallback, useEffect, useRef, useState } from "react";
import { here, type Params } from "./router";
import type { ProblemsProblem as Problem } from "./types";

const KEY = "pondage.token";

export type { Problem };

export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem,
    /** What the server said, where that is no problem: the answer to a push that was refused. */
    readonly content: unknown = null,
  ) {
    super(problem.message);
  }
}

/** Take the token out of the address, so that it is neither bookmarked nor shown on a projector. */
export function takeToken(): void {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!given) return;
  sessionStorage.setItem(KEY, given);
  history.replaceState(null, "", location.pathname + location.search);
}

export function setToken(token: string): void {
  sessionStorage.setItem(KEY, token);
}

export function token(): string | null {
  return sessionStorage.getItem(KEY);
}

export function hasToken(): boolean {
  return sessionStorage.getItem(KEY) !== null;
}

export function forgetToken(): void {
  sessionStorage.removeItem(KEY);
}

/** Answer a URL of the API, relative to wherever the page is; the environment of the address goes along. */
export function apiUrl(path: string, query: Params = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries({ env: here().params.env, ...query })) {
    if (value !== null && value !== undefined && value !== "") parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return `v1/${path}${text ? `?${text}` : ""}`;
}

class WrittenBody {
  constructor(readonly json: string) {}
}

async function ask<T>(
  method: string,
  path: string,
  query: Params,
  body: unknown,
  signal: AbortSignal | null,
): Promise<T> {
  const headers: Record<string, string> = {};
  const token = sessionStorage.getItem(KEY);
  if (token !== null) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const sent = body === undefined ? null : body instanceof WrittenBody ? body.json : JSON.stringify(body);
  let answer: Response;
  try {
    answer = await fetch(apiUrl(path, query), { method, headers, body: sent, signal, cache: "no-store" });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refusal(0, problem("NO_ANSWER", "the server does not answer", "pondage serve"));
  }
  const content: unknown = await answer.json().catch(() => null);
  if (answer.ok) return content as T;
  throw new Refusal(
    answer.status,
    isProblem(content) ? content : problem("FAILED", `the server said ${answer.status}`),
    content,
  );
}

function problem(code: string, message: string, hint: string | null = null): Problem {
  return { code, message, hint, place: null };
}

function isProblem(value: unknown): value is Problem {
  return typeof value === "object" && value !== null && "code" in value && "message" in value;
}

export function get<T>(path: string, query: Params = {}, signal: AbortSignal | null = null): Promise<T> {
  return ask<T>("GET", path, query, undefined, signal);
}

export function post<T>(path: string, body?: unknown, query: Params = {}): Promise<T> {
  return ask<T>("POST", path, query, body, null);
}

/** Send JSON that is written already: numbers that JavaScript cannot hold stay as they are. */
export function postWritten<T>(path: string, json: string): Promise<T> {
  return ask<T>("POST", path, {}, new WrittenBody(json), null);
}

export function remove<T>(path: string, query: Params = {}): Promise<T> {
  return ask<T>("DELETE", path, query, undefined, null);
}

export interface Fetched<T> {
  data: T | null;
  refusal: Refusal | null;
  isLoading: boolean;
  reload: () => void;
}

/**
 * Read something when the page opens and whenever `version` changes; what was read before stays while it loads.
 * `path` null reads nothing. Put what the feed knows into `version` (a Run's id, a state): then it is never polled.
 */
export function useGet<T>(path: string | null, query: Params = {}, version: string | number = ""): Fetched<T> {
  const [found, setFound] = useState<{ url: string; data: T | null; refusal: Refusal | null }>({
    url: "",
    data: null,
    refusal: null,
  });
  const [turn, setTurn] = useState(0);
  const [isLoading, setLoading] = useState(path !== null);
  const url = path === null ? "" : apiUrl(path, query);
  const asked = useRef({ path, query });
  asked.current = { path, query };
  useEffect(() => {
    const { path: wanted, query: parameters } = asked.current;
    if (wanted === null) return undefined;
    const stop = new AbortController();
    setLoading(true);
    get<T>(wanted, parameters, stop.signal)
      .then((data) => setFound({ url, data, refusal: null }))
      .catch((error: unknown) => {
        if (stop.signal.aborted) return;
        const refusal = error instanceof Refusal ? error : new Refusal(0, problem("FAILED", String(error)));
        setFound((before) => ({ url, data: before.url === url ? before.data : null, refusal }));
      })
      .finally(() => {
        if (!stop.signal.aborted) setLoading(false);
      });
    return () => stop.abort();
  }, [url, version, turn]);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  const isOf = found.url === url;
  return { data: isOf ? found.data : null, refusal: isOf ? found.refusal : null, isLoading, reload };
}
