// The columns of a type, and cells of a constant as somebody types them. Pure.
import { inLine, isObject, parsed, Written, type Json } from "./json";

export interface Column {
  name: string;
  type: string;
}

/** The columns of `Table<{…}>` or `Stream<{…}>`; null for anything else. */
export function columnsOf(type: string): Column[] | null {
  const row = /^(?:Table|Stream)<\{(.*)\}>$/s.exec(type.trim())?.[1];
  if (row === undefined) return null;
  if (row.trim() === "") return [];
  const found: Column[] = [];
  for (const part of apart(row)) {
    const match = /^\s*(`(?:[^`]|``)*`|[^:`]+?)\s*:\s*(.*?)\s*$/s.exec(part);
    if (match === null) return null;
    const name = match[1] ?? "";
    found.push({ name: name.startsWith("`") ? name.slice(1, -1).replaceAll("``", "`") : name, type: match[2] ?? "" });
  }
  return found;
}

/** Write a table of columns as a type. */
export function typeOfColumns(columns: readonly Column[]): string {
  const parts = columns.map(({ name, type }) => {
    const isPlain = /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
    return `${isPlain ? name : `\`${name.replaceAll("`", "``")}\``}: ${type}`;
  });
  return `Table<{${parts.join(", ")}}>`;
}

/** Parts between commas that are inside of nothing. */
function apart(text: string): string[] {
  const found: string[] = [];
  let depth = 0;
  let isQuoted = false;
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? "";
    if (character === "`") isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if ("<{(".includes(character)) depth += 1;
    else if (">})".includes(character)) depth -= 1;
    else if ((character === "," || character === "|") && depth === 0) {
      found.push(text.slice(from, at));
      from = at + 1;
    }
  }
  found.push(text.slice(from));
  return found;
}

const TEXTS = /^(string|varchar|char|date|timestamp|timestamp_ntz|decimal|binary)/;

/** A cell as text; nothing for null. */
export function cellText(value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : inLine(value);
}

/** What somebody typed, as a value of a type: texts stay texts, numbers become numbers, and what is neither stays a text. */
export function cellValue(text: string, type: string): Json {
  const plain = type.replace(/ not null$/, "").trim();
  if (TEXTS.test(plain)) return text === "" && !plain.startsWith("string") ? null : text;
  if (text.trim() === "") return null;
  try {
    const value = parsed(text.trim());
    // A double that is written as a whole number is one.
    return /^(double|float)$/.test(plain) && value instanceof Written ? Number(value.text) : value;
  } catch {
    return text;
  }
}

/** The rows of a constant, when they can be shown as a grid. */
export function rowsOf(value: Json | undefined): Record<string, Json>[] | null {
  return Array.isArray(value) && value.every(isObject) ? value : null;
}
