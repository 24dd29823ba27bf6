// Everything that one may tell a Pond: what each verb means, what it asks for, and what it is on the command line. Pure.
import type { Term } from "../../glossary";

export type Values = Readonly<Record<string, string>>;

export interface Field {
  name: string;
  label: string;
  kind: "text" | "check" | "choice";
  options?: readonly string[];
  placeholder?: string;
  initial: string;
  isRequired?: boolean;
  /** On the command line it stands by itself, without `--name`. */
  isArgument?: boolean;
}

export interface Verb {
  id: Term;
  level: "demand" | "operate";
  group: "Ask once" | "Keep it fresh" | "Mend" | "Stop";
  fields: readonly Field[];
  isGrave?: boolean;
}

const NOTE: Field = {
  name: "note",
  label: "Why (for the audit)",
  kind: "text",
  placeholder: "why you do it",
  initial: "",
};

const TRIGGER: Field = {
  name: "name",
  label: "Only the one called",
  kind: "text",
  placeholder: "all of them",
  initial: "",
  isArgument: true,
};

export const VERBS: readonly Verb[] = [
  { id: "tap", level: "demand", group: "Ask once", fields: [] },
  { id: "pulse", level: "demand", group: "Ask once", fields: [] },
  {
    id: "wave",
    level: "demand",
    group: "Keep it fresh",
    fields: [{ name: "pacing", label: "Pacing", kind: "choice", options: ["eager", "just-in-time"], initial: "eager" }],
  },
  {
    id: "tide",
    level: "demand",
    group: "Keep it fresh",
    fields: [
      {
        name: "limit",
        label: "Never older than",
        kind: "text",
        placeholder: "15m, 1h, 1d",
        initial: "1h",
        isRequired: true,
        isArgument: true,
      },
      { name: "name", label: "Its name", kind: "text", initial: "tide" },
    ],
  },
  {
    id: "calm",
    level: "demand",
    group: "Keep it fresh",
    fields: [{ name: "name", label: "Only the one called", kind: "text", placeholder: "all of them", initial: "" }],
  },
  { id: "resume", level: "operate", group: "Keep it fresh", fields: [TRIGGER] },
  { id: "clear", level: "operate", group: "Mend", fields: [] },
  { id: "wake", level: "operate", group: "Mend", fields: [] },
  {
    id: "force",
    level: "operate",
    group: "Mend",
    fields: [{ name: "full", label: "Compute everything anew", kind: "check", initial: "" }, NOTE],
  },
  { id: "pause", level: "operate", group: "Stop", fields: [TRIGGER] },
  {
    id: "sleep",
    level: "operate",
    group: "Stop",
    fields: [{ name: "upstream", label: "Everything above it, too", kind: "check", initial: "" }],
  },
  { id: "kill", level: "operate", group: "Stop", fields: [NOTE], isGrave: true },
];

export function verbOf(id: string): Verb | undefined {
  return VERBS.find((verb) => verb.id === id);
}

export function initialValues(verb: Verb): Values {
  return Object.fromEntries(verb.fields.map((field) => [field.name, field.initial]));
}

export function isComplete(verb: Verb, values: Values): boolean {
  return verb.fields.every((field) => !field.isRequired || (values[field.name] ?? "").trim() !== "");
}

/** The body of `POST v1/ponds/POND/VERB`. */
export function bodyOf(verb: Verb, values: Values): Record<string, string | boolean> {
  const body: Record<string, string | boolean> = {};
  for (const field of verb.fields) {
    const value = (values[field.name] ?? "").trim();
    if (field.kind === "check") body[field.name] = value !== "";
    else if (value !== "") body[field.name] = value;
  }
  return body;
}

/** The same on the command line. */
export function commandOf(verb: Verb, pond: string, values: Values, environment: string | undefined): string {
  const words = ["pondage", verb.id, pond];
  for (const field of verb.fields) {
    const value = (values[field.name] ?? "").trim();
    if (field.isArgument === true) words.push(...[value === "" ? field.initial : value].filter(Boolean).map(quoted));
    else if (field.kind === "check") words.push(...(value === "" ? [] : [`--${field.name}`]));
    else if (value !== "" && value !== defaultOf(verb, field)) words.push(`--${field.name}`, quoted(value));
  }
  if (environment !== undefined) words.push("--env", quoted(environment));
  return words.join(" ");
}

function defaultOf(verb: Verb, field: Field): string {
  return verb.id === "calm" ? "" : field.initial;
}

function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
