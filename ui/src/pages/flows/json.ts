// JSON that loses nothing: numbers that JavaScript cannot hold stay as they are written, a key that stands twice is refused. Pure.

/** A number as it is written, where reading it would change it: `9007199254740993`, `1.0`. */
export class Written {
  constructor(readonly text: string) {}
}

export type Json = null | boolean | number | string | Written | Json[] | { [key: string]: Json };

const WIDTH = 110;

/** Read a text; throws SyntaxError, also for a key that stands twice in one object. */
export function parsed(text: string): Json {
  return new Reader(text).whole();
}

/** Write a value: in one line where it is short, else one line for each part. */
export function printed(value: Json, indent = "", width = WIDTH): string {
  const flat = inLine(value);
  if (indent.length + flat.length <= width || value === null || typeof value !== "object" || value instanceof Written)
    return flat;
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    return `[\n${value.map((each) => inner + printed(each, inner, width)).join(",\n")}\n${indent}]`;
  }
  const lines = Object.entries(value).map(
    ([key, each]) => `${inner}${JSON.stringify(key)}: ${printed(each, inner, width - key.length - 4)}`,
  );
  return `{\n${lines.join(",\n")}\n${indent}}`;
}

/** Write a value in one line. */
export function inLine(value: Json): string {
  if (value instanceof Written) return value.text;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(inLine).join(", ")}]`;
  const parts = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${inLine(each)}`);
  return `{${parts.join(", ")}}`;
}

export function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Written);
}

const NUMBER = /-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\.)*"/y;
const BLANK = /[ \t\n\r]*/y;

class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  whole(): Json {
    const value = this.value();
    this.take(BLANK);
    if (this.at < this.text.length) throw this.wrong();
    return value;
  }

  private value(): Json {
    this.take(BLANK);
    const first = this.text[this.at];
    if (first === "{") return this.object();
    if (first === "[") return this.list();
    if (first === '"') return this.string();
    for (const [word, value] of [
      ["true", true],
      ["false", false],
      ["null", null],
    ] as const) {
      if (!this.text.startsWith(word, this.at)) continue;
      this.at += word.length;
      return value;
    }
    const number = this.take(NUMBER);
    if (number === "") throw this.wrong();
    return String(Number(number)) === number ? Number(number) : new Written(number);
  }

  private object(): Json {
    const entries = new Map<string, Json>();
    this.items("}", () => {
      this.take(BLANK);
      const key = this.string();
      if (entries.has(key)) throw new SyntaxError(`the key “${key}” stands twice in one object`);
      this.expect(":");
      entries.set(key, this.value());
    });
    return Object.fromEntries(entries);
  }

  private list(): Json {
    const found: Json[] = [];
    this.items("]", () => found.push(this.value()));
    return found;
  }

  private items(end: string, read: () => void): void {
    this.at += 1;
    this.take(BLANK);
    if (this.text[this.at] === end) {
      this.at += 1;
      return;
    }
    for (;;) {
      read();
      this.take(BLANK);
      const next = this.text[this.at];
      this.at += 1;
      if (next === end) return;
      if (next !== ",") throw this.wrong();
    }
  }

  private string(): string {
    const found = this.take(STRING);
    if (found === "") throw this.wrong();
    return JSON.parse(found) as string;
  }

  private expect(character: string): void {
    this.take(BLANK);
    if (this.text[this.at] !== character) throw this.wrong();
    this.at += 1;
  }

  private take(what: RegExp): string {
    what.lastIndex = this.at;
    const found = what.exec(this.text)?.[0] ?? "";
    this.at += found.length;
    return found;
  }

  private wrong(): SyntaxError {
    const line = this.text.slice(0, this.at).split("\n").length;
    return new SyntaxError(`line ${line} is no JSON`);
  }
}
