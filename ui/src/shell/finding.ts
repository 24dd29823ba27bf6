// What the search box finds. Pure, so that its order can be tested.
import type { Params } from "../router";
import type { World } from "../feed";
import { GLOSSARY } from "../glossary";
import type { Page } from "../pages/page";
import { shortName } from "../words";

export interface Hit {
  kind: string;
  text: string;
  detail: string;
  page: string;
  params: Params;
}

export const MOST_HITS = 12;

/** Everything that can be gone to: Ponds, their Ripples and Runs, jobs, processes, reactors, pages, words. */
export function everything(world: World, pages: readonly Page[]): Hit[] {
  const hits: Hit[] = [];
  for (const pond of world.ponds.values()) {
    hits.push({ kind: "Pond", text: pond.key, detail: pond.state, page: "node", params: { pond: pond.key } });
    for (const run of pond.active) {
      hits.push({
        kind: "Run",
        text: `${pond.name}#${run.number}`,
        detail: "open",
        page: "run",
        params: { run: run.id },
      });
    }
    if (pond.last_run !== null) {
      const { id, number, state } = pond.last_run;
      hits.push({ kind: "Run", text: `${pond.name}#${number}`, detail: state, page: "run", params: { run: id } });
    }
  }
  for (const pond of world.graph?.ponds ?? []) {
    const name = shortName(pond.key);
    for (const ripple of pond.ripples) {
      if (ripple.name === name) continue;
      hits.push({
        kind: "Ripple",
        text: `${name}.${ripple.name}`,
        detail: ripple.kind,
        page: "node",
        params: { pond: pond.key, tab: "code", ripple: ripple.name },
      });
    }
  }
  for (const job of world.graph?.jobs ?? []) {
    hits.push({
      kind: "Job",
      text: job.name,
      detail: `version ${job.version}`,
      page: "runs",
      params: { view: "jobs", job: job.name },
    });
  }
  for (const process of world.processes) {
    hits.push({
      kind: "Process",
      text: `${process.role} ${process.id}`,
      detail: process.machine,
      page: "processes",
      params: {},
    });
  }
  for (const reactor of world.reactors) {
    hits.push({
      kind: "Reactor",
      text: reactor.name,
      detail: reactor.state,
      page: "reactors",
      params: { reactor: reactor.name },
    });
  }
  for (const run of world.runs.values()) {
    const at = run.is_flow
      ? { kind: "Flow", page: "flows", params: { run: run.id } }
      : { kind: "Job run", page: "run", params: { run: run.id, kind: "job" } };
    hits.push({ ...at, text: `${run.job} ${run.id}`, detail: run.state });
  }
  for (const page of pages) {
    if (page.icon !== undefined) hits.push({ kind: "Page", text: page.title, detail: "", page: page.id, params: {} });
  }
  for (const [term, [word, meaning]] of Object.entries(GLOSSARY)) {
    hits.push({ kind: "Word", text: word, detail: meaning, page: "words", params: { word: term } });
  }
  const known = new Set(pages.map((page) => page.id));
  return hits.filter((hit) => known.has(hit.page) || hit.kind === "Word");
}

/** Answer the best hits: names that begin with what was typed, then those that contain it, then its letters in order. */
export function search(hits: readonly Hit[], typed: string): Hit[] {
  const wanted = typed.trim().toLowerCase();
  if (wanted === "") return hits.filter((hit) => hit.kind === "Page" || hit.kind === "Pond").slice(0, MOST_HITS);
  const ranked: [number, number, Hit][] = [];
  for (const [position, hit] of hits.entries()) {
    const rank = rankOf(hit.text.toLowerCase(), wanted);
    if (rank >= 0) ranked.push([rank, position, hit]);
  }
  // A Run can be named although it is long over: `sales#12`, or its id.
  if (/^([a-z]\w*(@\d+)?#\d+|r[0-9a-f]{16})$/.test(wanted) && !ranked.some(([rank]) => rank === 0)) {
    ranked.push([0, -1, { kind: "Run", text: wanted, detail: "", page: "run", params: { run: wanted } }]);
  }
  ranked.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
  return ranked.slice(0, MOST_HITS).map(([, , hit]) => hit);
}

function rankOf(text: string, wanted: string): number {
  if (text === wanted) return 0;
  if (text.startsWith(wanted)) return 1;
  const at = text.indexOf(wanted);
  if (at > 0) return /[^a-z0-9]/.test(text[at - 1] ?? "") ? 2 : 3;
  let from = 0;
  for (const letter of wanted) {
    from = text.indexOf(letter, from) + 1;
    if (from === 0) return -1;
  }
  return 4;
}
