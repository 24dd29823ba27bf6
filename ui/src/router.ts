// Where somebody is: a page and its filters, all in the query, so that any port and any prefix of a proxy works.
import { useSyncExternalStore } from "react";

export interface Place {
  page: string;
  params: Readonly<Record<string, string>>;
}

export type Params = Readonly<Record<string, string | number | boolean | null | undefined>>;

export const HOME = "overview";

export function readPlace(search: string): Place {
  const params: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(search)) if (!(name in params)) params[name] = value;
  const page = params.page || HOME;
  delete params.page;
  return { page, params };
}

/** Answer a relative URL: always a query, never a path. Empty values are left out. */
export function writePlace(page: string, params: Params = {}): string {
  const query = new URLSearchParams();
  if (page !== HOME) query.set("page", page);
  for (const [name, value] of Object.entries(params)) {
    if (value !== null && value !== undefined && value !== "" && value !== false) {
      query.set(name, value === true ? "1" : String(value));
    }
  }
  return `?${query.toString()}`;
}

/** Answer where a link leads: the environment goes along, everything else is of one page only. */
export function hrefOf(from: Place, page: string, params: Params = {}): string {
  return writePlace(page, { env: from.params.env, ...params });
}

/** Answer the same page with some of its filters changed. */
export function changed(from: Place, params: Params): string {
  return writePlace(from.page, { ...from.params, ...params });
}

const listeners = new Set<() => void>();
let current: Place | null = null;
let read = "";

function place(): Place {
  if (current === null || read !== location.search) {
    read = location.search;
    current = readPlace(read);
  }
  return current;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(): void {
  for (const listener of [...listeners]) listener();
}

if (typeof window !== "undefined") window.addEventListener("popstate", tell);

export function usePlace(): Place {
  return useSyncExternalStore(subscribe, place);
}

export function here(): Place {
  return place();
}

/** Go to a URL of `hrefOf` or `changed`. `replace` leaves no step for the back button: for typing into a filter. */
export function go(href: string, { replace = false } = {}): void {
  if (href === location.search || (href === "?" && location.search === "")) return;
  const url = href === "?" ? location.pathname : href;
  if (replace) history.replaceState(null, "", url);
  else history.pushState(null, "", url);
  if (!replace) window.scrollTo(0, 0);
  tell();
}

/** Change filters of this page. */
export function change(params: Params, options: { replace?: boolean } = {}): void {
  go(changed(place(), params), options);
}
