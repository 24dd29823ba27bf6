// A flow built by hand: programs on a canvas, and the same tree as text beside it. Either is the other, always.
import { ReactFlowProvider } from "@xyflow/react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { postWritten, Refusal, useGet, type Problem } from "../../api";
import { may } from "../../live";
import { Action } from "../../parts/action";
import { Command, Loaded, StateChip, Trouble } from "../../parts/basics";
import { useRun } from "../../parts/job/run";
import { Link } from "../../parts/link";
import { change, usePlace } from "../../router";
import type { FlowDetail, KnownComponent, Started } from "../../types";
import { countText } from "../../words";
import { useDraft, type Draft } from "./draft";
import { Drawing, NOBODY, type Chosen } from "./drawing";
import { Inspector } from "./inspector";
import { Palette } from "./palette";
import { ACROSS, aligned, arranged, freePlace, WIDTH, type Point } from "./places";
import { portsOf, type Programs } from "./ports";
import { placedProblems } from "./problems";
import { TreeText, Types } from "./text";
import {
  EMPTY,
  freeName,
  partOf,
  pasted,
  programOf,
  textOf,
  treeOf,
  withNode,
  withoutNodes,
  type TreeNode,
} from "./tree";

const EXAMPLE = `{
  "version": 1,
  "nodes": {
    "orders": {"const": {"type": "Table<{id: bigint, amount: double}>",
                         "value": [{"id": 1, "amount": 120.0}, {"id": 2, "amount": 40.0}]}},
    "big": {"prog": "split@1", "params": {"where": "amount > 100"}},
    "rest": {"prog": "void_sink@1"}
  },
  "edges": [
    ["orders.out", "big.input"],
    ["big.reject", "rest.input"]
  ],
  "extract": {"big_orders": {"from": "big.main", "format": "csv"}}
}
`;

export function Builder() {
  const found = useGet<KnownComponent[]>("components");
  return (
    <Loaded from={found}>
      {(all) => (
        <ReactFlowProvider>
          <Bench all={all} />
        </ReactFlowProvider>
      )}
    </Loaded>
  );
}

function Bench({ all }: { all: readonly KnownComponent[] }) {
  const exposed = useMemo(() => all.filter((each) => each.exposed && each.kind === "plain"), [all]);
  const programs: Programs = useMemo(() => new Map(exposed.map((each) => [each.name, each])), [exposed]);
  const draft = useDraft(programs, EXAMPLE);
  const [chosen, setChosen] = useState<Chosen>(NOBODY);
  const [refused, setRefused] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [shape, setShape] = useState(0);
  const onShape = useCallback(() => setShape((before) => before + 1), []);
  const run = usePlace().params.live ?? null;
  const states = useStates(run);
  const problems = useMemo(() => placedProblems(draft.view?.problems ?? [], draft.tree), [draft.view, draft.tree]);
  const adding = useAdding(draft, programs, setChosen, onShape);
  useKeys(draft, chosen, setChosen, programs);
  useEffect(() => setRefused(""), [draft.text]);
  const { view } = draft;
  const submit = () => {
    postWritten<Started>("flows", `{"tree": ${draft.text}, "name": ${JSON.stringify(draft.name)}}`)
      .then((started) => {
        setProblem(null);
        change({ live: started.run });
      })
      .catch((error: unknown) => {
        if (error instanceof Refusal) setProblem(error.problem);
      });
  };
  return (
    <div className="flow-editor">
      <Bar draft={draft} chosen={chosen} onSubmit={submit} onShape={onShape} />
      {run === null ? null : <Live run={run} />}
      {problem === null ? null : <Trouble problem={problem} />}
      {draft.problem === null ? null : <Trouble problem={draft.problem} />}
      <div className="bench">
        <Palette programs={exposed} onAdd={adding} />
        <div className="bench-canvas">
          <Drawing
            draft={draft}
            chosen={chosen}
            onChoose={setChosen}
            problems={problems}
            states={states}
            onAdd={adding}
            onRefused={setRefused}
            shape={shape}
          />
          {draft.broken === null ? null : (
            <p className="bench-note is-unfit" role="status">
              The text is no tree now: {draft.broken}. The picture is that of the last one.
            </p>
          )}
          {refused === "" ? null : (
            <div className="bench-note is-unfit" role="alert">
              <span>{refused}</span>
              <button type="button" className="quiet" aria-label="Close" onClick={() => setRefused("")}>
                ×
              </button>
            </div>
          )}
        </div>
        <Inspector draft={draft} programs={programs} chosen={chosen} onChoose={setChosen} onRefused={setRefused} />
      </div>
      <TreeText text={draft.text} problems={view?.problems ?? []} onWrite={draft.write} />
      {view !== null && view.ok ? <Types view={view} /> : null}
    </div>
  );
}

interface BarProps {
  draft: Draft;
  chosen: Chosen;
  onSubmit: () => void;
  onShape: () => void;
}

function Bar({ draft, chosen, onSubmit, onShape }: BarProps) {
  const { view, name, tree } = draft;
  const several = [...chosen.nodes];
  return (
    <div className="row flow-bar">
      <label className="row">
        Name
        <input data-own value={name} onChange={(event) => draft.setName(event.target.value)} spellCheck={false} />
      </label>
      <button type="button" className="primary" disabled={!may("operate") || view?.ok !== true} onClick={onSubmit}>
        Submit
      </button>
      <span role="status" className={view !== null && !view.ok ? "failed-text" : "soft"}>
        {view === null
          ? "checking …"
          : view.ok
            ? `fits: ${countText(view.edges.length, "edge")}, plan ${view.plan.slice(0, 12)}`
            : countText(view.problems.length, "problem")}
      </span>
      <span className="row flow-tools">
        <button type="button" disabled={!draft.canUndo} onClick={draft.undo}>
          Undo
        </button>
        <button type="button" disabled={!draft.canRedo} onClick={draft.redo}>
          Redo
        </button>
        <button
          type="button"
          onClick={() => {
            draft.move(arranged(tree, draft.ports));
            onShape();
          }}
        >
          Arrange
        </button>
        {several.length < 2 ? null : (
          <>
            <button type="button" onClick={() => draft.move(aligned(draft.places, several, "x"))}>
              Align left
            </button>
            <button type="button" onClick={() => draft.move(aligned(draft.places, several, "y"))}>
              Align top
            </button>
          </>
        )}
        <button type="button" onClick={() => draft.write(textOf(EMPTY))}>
          Clear
        </button>
      </span>
      <Command text={`pondage flow submit ${name === "" ? "tree" : name}.json`} />
    </div>
  );
}

/** The flow that was submitted, over the canvas on which it was built. */
function Live({ run }: { run: string }) {
  const { found } = useRun<FlowDetail>("flows", run);
  const flow = found.data?.flow.run;
  const at = `flows/${encodeURIComponent(run)}`;
  return (
    <div className="row flow-live" role="status">
      <strong>{flow?.job ?? "The flow"}</strong> <code className="faint">{run}</code>
      {flow === undefined ? null : <StateChip state={flow.state} />}
      {found.data?.panics.map((panic) => (
        <span key={panic.node} className="failed-text">
          {panic.node}: {panic.message}
        </span>
      ))}
      <Link params={{ run, live: null }}>Open it: log, streams, what can be fetched</Link>
      {flow === undefined || flow.ended_at !== null ? (
        <button type="button" className="quiet" onClick={() => change({ live: null })}>
          Build on
        </button>
      ) : (
        <Action
          label="Stop"
          path={`${at}/stop`}
          level="operate"
          twin={`pondage flow stop ${run}`}
          onDone={found.reload}
        />
      )}
    </div>
  );
}

const NONE: ReadonlyMap<string, string> = new Map();

/** How the nodes of a flow fare. */
function useStates(run: string | null): ReadonlyMap<string, string> {
  const { found } = useRun<FlowDetail>("flows", run);
  const components = found.data?.flow.components;
  return useMemo(
    () => (components === undefined ? NONE : new Map(components.map((each) => [each.name, each.state.toLowerCase()]))),
    [components],
  );
}

/** Add a node: where it was dropped, else right of what is chosen or seen, and choose it. */
function useAdding(draft: Draft, programs: Programs, onChoose: (chosen: Chosen) => void, onShape: () => void) {
  const latest = useRef(draft);
  latest.current = draft;
  return useCallback(
    (node: TreeNode, at?: Point) => {
      const { tree, places, edit } = latest.current;
      const wanted = "prog" in node ? programOf(node) : "bytes" in node.const ? "text" : "rows";
      const name = freeName(tree.nodes, wanted);
      const ports = portsOf(withNode(tree, name, node), programs);
      const last = Object.keys(tree.nodes).at(-1);
      const beside = last === undefined ? undefined : places[last];
      const place = at ?? (beside === undefined ? { x: 0, y: 0 } : { x: beside.x + WIDTH + ACROSS, y: beside.y });
      const free = freePlace(places, { x: Math.round(place.x), y: Math.round(place.y) }, name, ports);
      edit((before) => withNode(before, name, node), "", { ...places, [name]: free });
      onChoose({ nodes: new Set([name]), edges: new Set() });
      if (at === undefined) onShape();
    },
    [programs, onChoose, onShape],
  );
}

/** Undo, redo, copy, cut and paste; what is copied is text, so that it goes to other windows, too. */
function useKeys(draft: Draft, chosen: Chosen, onChoose: (chosen: Chosen) => void, programs: Programs): void {
  const latest = useRef({ draft, chosen });
  latest.current = { draft, chosen };
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
      // What is typed there is no part of the tree yet, and the browser undoes it itself.
      if (event.target instanceof Element && event.target.closest("[data-own]") !== null) return;
      const key = event.key.toLowerCase();
      if (key === "z" && !event.shiftKey) latest.current.draft.undo();
      else if (key === "y" || (key === "z" && event.shiftKey)) latest.current.draft.redo();
      else return;
      event.preventDefault();
    };
    const copy = (event: ClipboardEvent) => {
      const { draft: now, chosen: picked } = latest.current;
      if (isInField(event.target) || picked.nodes.size === 0) return;
      event.clipboardData?.setData("text/plain", textOf(partOf(now.tree, picked.nodes)));
      event.preventDefault();
      if (event.type === "cut") now.edit((tree) => withoutNodes(tree, picked.nodes));
    };
    const paste = (event: ClipboardEvent) => {
      if (isInField(event.target)) return;
      const part = treeOf(event.clipboardData?.getData("text/plain") ?? "");
      if (typeof part === "string") return;
      event.preventDefault();
      const { draft: now } = latest.current;
      const { tree, names } = pasted(now.tree, part);
      const ports = portsOf(tree, programs);
      let places = now.places;
      for (const [from, to] of names) {
        const old = now.places[from] ?? { x: 0, y: 0 };
        places = { ...places, [to]: freePlace(places, { x: old.x + 40, y: old.y + 40 }, to, ports) };
      }
      now.edit(() => tree, "", places);
      onChoose({ nodes: new Set(names.values()), edges: new Set() });
    };
    document.addEventListener("keydown", press);
    document.addEventListener("copy", copy);
    document.addEventListener("cut", copy);
    document.addEventListener("paste", paste);
    return () => {
      document.removeEventListener("keydown", press);
      document.removeEventListener("copy", copy);
      document.removeEventListener("cut", copy);
      document.removeEventListener("paste", paste);
    };
  }, [onChoose, programs]);
}

function isInField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}
