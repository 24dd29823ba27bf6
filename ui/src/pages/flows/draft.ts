// The tree that somebody builds: its text, where its nodes stand, what was before, and what the server says about it.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { post, Refusal, type Problem } from "../../api";
import type { FlowCheckView } from "../../types";
import { began, redone, stepped, undone, type History } from "./history";
import { completed, type Places } from "./places";
import { portsOf, type NodePorts, type Programs } from "./ports";
import { EMPTY, textOf, treeOf, type Tree } from "./tree";

const KEY = "pondage.tree";
const PLACES = "pondage.tree.places";
const PAUSE_MS = 300;

interface State {
  text: string;
  places: Places;
}

export interface Draft {
  text: string;
  tree: Tree;
  /** Why the text cannot be drawn; the picture is then that of the last text that could. */
  broken: string | null;
  places: Places;
  ports: ReadonlyMap<string, NodePorts>;
  name: string;
  setName: (name: string) => void;
  /** The answer to exactly this text; null while it is on its way. */
  view: FlowCheckView | null;
  /** The last answer, whatever has been changed since. */
  lastView: FlowCheckView | null;
  problem: Problem | null;
  canUndo: boolean;
  canRedo: boolean;
  write: (text: string) => void;
  edit: (change: (tree: Tree) => Tree, kind?: string, places?: Places) => void;
  move: (places: Places, kind?: string) => void;
  undo: () => void;
  redo: () => void;
}

function begin(example: string): State {
  const text = sessionStorage.getItem(KEY) ?? example;
  try {
    return { text, places: JSON.parse(sessionStorage.getItem(PLACES) ?? "{}") as Places };
  } catch {
    return { text, places: {} };
  }
}

export function useDraft(programs: Programs, example: string): Draft {
  const [history, setHistory] = useState<History<State>>(() => began(begin(example)));
  const [name, setName] = useState("flow");
  const { text, places: given } = history.now;
  const read = useMemo(() => treeOf(text), [text]);
  const drawable = useRef<Tree>(EMPTY);
  if (typeof read !== "string") drawable.current = read;
  const tree = drawable.current;
  const ports = useMemo(() => portsOf(tree, programs), [tree, programs]);
  const places = useMemo(() => completed(given, tree, ports), [given, tree, ports]);
  const { checked, problem } = useChecked(text, name);
  useEffect(() => {
    sessionStorage.setItem(KEY, text);
    sessionStorage.setItem(PLACES, JSON.stringify(places));
  }, [text, places]);
  const isBroken = typeof read === "string";
  const now = useRef({ tree, places, text, isBroken });
  now.current = { tree, places, text, isBroken };
  const go = useCallback((next: State, kind?: string) => setHistory((before) => stepped(before, next, kind)), []);
  const write = useCallback((next: string) => go({ text: next, places: now.current.places }, "text"), [go]);
  const move = useCallback((next: Places, kind?: string) => go({ text: now.current.text, places: next }, kind), [go]);
  const edit = useCallback(
    (change: (tree: Tree) => Tree, kind?: string, next?: Places) => {
      // A text that is no tree yet is being written by hand: nothing may be written over it.
      if (now.current.isBroken) return;
      const changed = change(now.current.tree);
      if (changed === now.current.tree && next === undefined) return;
      go({ text: textOf(changed), places: next ?? now.current.places }, kind);
      // Two edits of one moment: the second begins with the first.
      now.current = { tree: changed, places: next ?? now.current.places, text: textOf(changed), isBroken: false };
    },
    [go],
  );
  return {
    text,
    tree,
    broken: typeof read === "string" ? read : null,
    places,
    ports,
    name,
    setName,
    view: checked?.text === text ? checked.view : null,
    lastView: checked?.view ?? null,
    problem,
    canUndo: history.past.length > 0,
    canRedo: history.future.length > 0,
    write,
    edit,
    move,
    undo: useCallback(() => setHistory(undone), []),
    redo: useCallback(() => setHistory(redone), []),
  };
}

function useChecked(text: string, name: string) {
  const [checked, setChecked] = useState<{ text: string; view: FlowCheckView } | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    let isOver = false;
    const timer = window.setTimeout(() => {
      check(text, name)
        .then((view) => {
          if (isOver) return;
          setChecked({ text, view });
          setProblem(null);
        })
        .catch((error: unknown) => {
          if (!isOver && error instanceof Refusal) setProblem(error.problem);
        });
    }, PAUSE_MS);
    return () => {
      isOver = true;
      window.clearTimeout(timer);
    };
  }, [text, name]);
  return { checked, problem };
}

/** Ask what is wrong with a text; and of a port (`node.port`) what may be connected with it. */
export function check(text: string, name = "flow", port = ""): Promise<FlowCheckView> {
  return post<FlowCheckView>("flows/check", { text, name: name === "" ? "flow" : name, port });
}
