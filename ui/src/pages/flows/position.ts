// Where a JSON pointer leads to in a text, so that what is wrong can be shown at its place. Pure.

export interface Range {
  start: number;
  end: number;
  line: number;
}

/** Answer the range of what the pointer names, or of the last part of it that exists; null for a text that is no JSON. */
export function rangeOf(text: string, pointer: string): Range | null {
  const parts = pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  const reader = new Reader(text);
  let found: [number, number];
  try {
    found = reader.value(parts);
  } catch {
    return null;
  }
  return { start: found[0], end: found[1], line: lineOf(text, found[0]) };
}

export function lineOf(text: string, position: number): number {
  return text.slice(0, position).split("\n").length;
}

class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  /** Read a value; answer where it is, or where the part of it is that `parts` leads to. */
  value(parts: readonly string[] | null): [number, number] {
    this.blank();
    const start = this.at;
    const first = this.text[this.at];
    if (first === "{" || first === "[") return this.inside(start, parts, first === "{" ? "}" : "]");
    if (first === '"') this.string();
    else this.word();
    return [start, this.at];
  }

  private inside(start: number, parts: readonly string[] | null, last: string): [number, number] {
    let found: [number, number] | null = null;
    let index = 0;
    this.at += 1;
    this.blank();
    while (this.text[this.at] !== last) {
      let name = String(index);
      const keyAt = this.at;
      if (last === "}") {
        name = this.string();
        this.blank();
        this.expect(":");
      }
      const isWanted = parts !== null && parts[0] === name;
      const range = this.value(isWanted ? parts.slice(1) : null);
      // Of the last part the name is shown, too.
      if (isWanted) found = parts.length === 1 && last === "}" ? [keyAt, range[1]] : range;
      index += 1;
      this.blank();
      if (this.text[this.at] === ",") {
        this.at += 1;
        this.blank();
      }
    }
    this.at += 1;
    return found ?? [start, this.at];
  }

  private string(): string {
    const start = this.at;
    this.expect('"');
    while (this.text[this.at] !== '"') {
      if (this.text[this.at] === undefined) throw new Error("it ends inside a text");
      this.at += this.text[this.at] === "\\" ? 2 : 1;
    }
    this.at += 1;
    return JSON.parse(this.text.slice(start, this.at)) as string;
  }

  private word(): void {
    const match = /^[-+.\w]+/.exec(this.text.slice(this.at, this.at + 100));
    if (match === null) throw new Error("it is no JSON");
    this.at += match[0].length;
  }

  private expect(character: string): void {
    if (this.text[this.at] !== character) throw new Error(`${character} is missing`);
    this.at += 1;
  }

  private blank(): void {
    while (/\s/.test(this.text[this.at] ?? "")) this.at += 1;
  }
}
