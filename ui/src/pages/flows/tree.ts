// A tree as a value, and everything that can be done to one. The text is the tree: each change gives another text. Pure.
import { isObject, parsed, printed, type Json } from "./json";

export type TreeNode = { prog: string; params?: Record<string, Json> } | { const: Record<string, Json> };
export type TreeEdge = [source: string, target: string, ...limits: Json[]];
export interface TreeExtract {
  from: string;
  format: string;
  retention?: string;
}

/** What a document says; keys that nobody knows here stay in `rest`, so that nothing is lost by drawing. */
export interface Tree {
  nodes: Readonly<Record<string, TreeNode>>;
  edges: readonly TreeEdge[];
  extract: Readonly<Record<string, TreeExtract>>;
  rest: Readonly<Record<string, Json>>;
}

export const EMPTY: Tree = { nodes: {}, edges: [], extract: {}, rest: { version: 1 } };
export const PANIC = "panic";
export const STOP = "stop";

/** Read a tree; answers why it cannot be drawn instead. Whether it makes sense is not asked. */
export function treeOf(text: string): Tree | string {
  let value: Json;
  try {
    value = parsed(text);
  } catch (error) {
    return error instanceof SyntaxError ? error.message : String(error);
  }
  if (!isObject(value)) return "a tree is an object";
  const { nodes = {}, edges = [], extract = {}, ...rest } = value;
  if (!isObject(nodes) || !Object.values(nodes).every(isNode)) return "“nodes” names programs and constants";
  if (!Array.isArray(edges) || !edges.every(isEdge)) return "“edges” is a list of [from, to]";
  if (!isObject(extract) || !Object.values(extract).every(isExtract)) return "“extract” names outputs";
  return {
    nodes: nodes as Tree["nodes"],
    edges: edges as unknown as TreeEdge[],
    extract: extract as unknown as Tree["extract"],
    rest,
  };
}

function isNode(value: Json): boolean {
  if (!isObject(value)) return false;
  const { prog, params } = value;
  return (typeof prog === "string" && (params === undefined || isObject(params))) || isObject(value.const);
}

function isEdge(value: Json): boolean {
  return Array.isArray(value) && value.length >= 2 && value.slice(0, 2).every(isEnd);
}

function isEnd(value: Json | undefined): boolean {
  return typeof value === "string" && /^[^.]+\..+$/.test(value);
}

function isExtract(value: Json): boolean {
  return isObject(value) && isEnd(value.from) && typeof value.format === "string";
}

/** Write a tree: what is short in one line, one line for each node, edge and extract else. */
export function textOf(tree: Tree): string {
  const { version = 1, ...rest } = tree.rest;
  const parts: [string, Json][] = [["version", version]];
  parts.push(["nodes", tree.nodes], ["edges", tree.edges as unknown as Json]);
  if (Object.keys(tree.extract).length > 0) parts.push(["extract", tree.extract as unknown as Json]);
  parts.push(...Object.entries(rest));
  const lines = parts.map(([key, value]) => `  "${key}": ${section(value)}`);
  return `{\n${lines.join(",\n")}\n}\n`;
}

/** A list or an object with one line for each part, each of which may be long. */
function section(value: Json): string {
  if (Array.isArray(value) && value.length > 0) {
    return `[\n${value.map((each) => `    ${printed(each, "    ")}`).join(",\n")}\n  ]`;
  }
  if (!isObject(value) || Object.keys(value).length === 0) return printed(value);
  const lines = Object.entries(value).map(([key, each]) => `    ${JSON.stringify(key)}: ${printed(each, "    ")}`);
  return `{\n${lines.join(",\n")}\n  }`;
}

export function programOf(node: TreeNode): string {
  return "prog" in node ? (node.prog.split("@")[0] ?? node.prog) : "const";
}

/** The node and the port of an end: `a.main` is `["a", "main"]`. */
export function endOf(end: string): [node: string, port: string] {
  const at = end.indexOf(".");
  return [end.slice(0, at), end.slice(at + 1)];
}

/** A name that nobody has: `filter`, `filter_2`, … */
export function freeName(taken: Readonly<Record<string, unknown>>, wanted: string): string {
  const plain = wanted.replaceAll(/[^A-Za-z0-9_]/g, "_").replace(/^[^A-Za-z]+/, "") || "node";
  const stem = plain.replace(/_\d+$/, "");
  if (!(plain in taken)) return plain;
  for (let number = 2; ; number += 1) if (!(`${stem}_${number}` in taken)) return `${stem}_${number}`;
}

export function withNode(tree: Tree, name: string, node: TreeNode): Tree {
  return { ...tree, nodes: { ...tree.nodes, [name]: node } };
}

/** Without some nodes, and whatever hung on them. */
export function withoutNodes(tree: Tree, names: ReadonlySet<string>): Tree {
  const stays = (end: string): boolean => !names.has(endOf(end)[0]);
  return {
    ...tree,
    nodes: kept(tree.nodes, (name) => !names.has(name)),
    edges: tree.edges.filter(([source, target]) => stays(source) && stays(target)),
    extract: kept(tree.extract, (_, extract) => stays(extract.from)),
  };
}

/** The same node by another name, at the same place of the text. */
export function renamed(tree: Tree, from: string, to: string): Tree {
  const end = (given: string): string => (endOf(given)[0] === from ? `${to}.${endOf(given)[1]}` : given);
  return {
    ...tree,
    nodes: Object.fromEntries(Object.entries(tree.nodes).map(([name, node]) => [name === from ? to : name, node])),
    edges: tree.edges.map(([source, target, ...limits]) => [end(source), end(target), ...limits]),
    extract: Object.fromEntries(
      Object.entries(tree.extract).map(([name, extract]) => [name, { ...extract, from: end(extract.from) }]),
    ),
  };
}

export function connected(tree: Tree, source: string, target: string): Tree {
  if (tree.edges.some(([from, to]) => from === source && to === target)) return tree;
  return { ...tree, edges: [...tree.edges, [source, target]] };
}

export function withoutEdges(tree: Tree, ids: ReadonlySet<string>): Tree {
  return { ...tree, edges: tree.edges.filter((edge) => !ids.has(edgeId(edge))) };
}

export function edgeId([source, target]: TreeEdge): string {
  return `${source} ${target}`;
}

/** Another value of one parameter; `undefined` takes it out. */
export function withParam(tree: Tree, name: string, param: string, value: Json | undefined): Tree {
  const node = tree.nodes[name];
  if (node === undefined || !("prog" in node)) return tree;
  const params = { ...node.params, ...(value === undefined ? {} : { [param]: value }) };
  if (value === undefined) delete params[param];
  return withNode(tree, name, Object.keys(params).length === 0 ? { prog: node.prog } : { prog: node.prog, params });
}

export function withConst(tree: Tree, name: string, value: Record<string, Json>): Tree {
  return withNode(tree, name, { const: value });
}

export function withExtract(tree: Tree, name: string, extract: TreeExtract): Tree {
  return { ...tree, extract: { ...tree.extract, [name]: extract } };
}

export function withoutExtract(tree: Tree, name: string): Tree {
  return { ...tree, extract: kept(tree.extract, (each) => each !== name) };
}

/** Some nodes with the edges between them: what is copied. */
export function partOf(tree: Tree, names: ReadonlySet<string>): Tree {
  const inside = (end: string): boolean => names.has(endOf(end)[0]);
  return {
    nodes: kept(tree.nodes, (name) => names.has(name)),
    edges: tree.edges.filter(([source, target]) => inside(source) && inside(target)),
    extract: {},
    rest: { version: 1 },
  };
}

/** A tree with another one in it, whose nodes get names that are free; `names` says which. */
export function pasted(tree: Tree, part: Tree): { tree: Tree; names: ReadonlyMap<string, string> } {
  const names = new Map<string, string>();
  const nodes = { ...tree.nodes };
  for (const [name, node] of Object.entries(part.nodes)) {
    const free = freeName(nodes, name);
    names.set(name, free);
    nodes[free] = node;
  }
  const end = (given: string): string => `${names.get(endOf(given)[0]) ?? endOf(given)[0]}.${endOf(given)[1]}`;
  const edges = part.edges.map(([source, target, ...limits]): TreeEdge => [end(source), end(target), ...limits]);
  return { tree: { ...tree, nodes, edges: [...tree.edges, ...edges] }, names };
}

function kept<T>(given: Readonly<Record<string, T>>, stays: (name: string, value: T) => boolean): Record<string, T> {
  return Object.fromEntries(Object.entries(given).filter(([name, value]) => stays(name, value)));
}
