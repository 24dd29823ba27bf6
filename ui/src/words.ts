// Times, durations, sizes and counts in plain words, the way the command line says them (views/words.py).

import type { AwakeView, TriggerView } from "./types";

const SECOND = 1_000_000;
const UNITS: readonly (readonly [number, string])[] = [
  [86_400 * SECOND, "d"],
  [3_600 * SECOND, "h"],
  [60 * SECOND, "min"],
  [SECOND, "s"],
];

/** A machine's own name: the number of its pids' namespace tells two containers apart, and is of no use to people. */
export function machineText(machine: string): string {
  return machine.replace(/\/pid:\[\d+\]$/, "");
}

/** `850 ms`, `12 s`, `3 min 20 s`, `2 h 5 min`. */
export function durationText(lengthUs: number): string {
  if (lengthUs < 0) return `-${durationText(-lengthUs)}`;
  if (lengthUs < SECOND) return `${Math.floor(lengthUs / 1000)} ms`;
  if (lengthUs < 10 * SECOND) return `${(lengthUs / SECOND).toFixed(1)} s`.replace(".0 s", " s");
  for (const [position, [size, unit]] of UNITS.entries()) {
    if (lengthUs < size) continue;
    const whole = Math.floor(lengthUs / size);
    const smaller = UNITS[position + 1];
    const rest = smaller === undefined ? 0 : Math.floor((lengthUs - whole * size) / smaller[0]);
    return smaller !== undefined && rest > 0 ? `${whole} ${unit} ${rest} ${smaller[1]}` : `${whole} ${unit}`;
  }
  return "";
}

/** `12 s ago`, `in 3 min`, `now`. */
export function ageText(then: number, now: number): string {
  const distance = now - then;
  if (Math.abs(distance) < SECOND) return "now";
  const whole = Math.floor(Math.abs(distance) / SECOND) * SECOND;
  return distance > 0 ? `${durationText(whole)} ago` : `in ${durationText(whole)}`;
}

/** A moment in the time zone of whoever looks: `2026-03-01 14:05:09`. */
export function momentText(at: number): string {
  const moment = new Date(at / 1000);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${moment.getFullYear()}-${two(moment.getMonth() + 1)}-${two(moment.getDate())}`;
  return `${day} ${clockText(at)}`;
}

/** The time of day: `14:05:09`. */
export function clockText(at: number): string {
  const moment = new Date(at / 1000);
  return [moment.getHours(), moment.getMinutes(), moment.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
}

/** `512 B`, `1.4 MB`. */
export function sizeText(size: number): string {
  let amount = size;
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (amount < 1000)
      return unit === "B" || amount >= 10 ? `${amount.toFixed(0)} ${unit}` : `${amount.toFixed(1)} ${unit}`;
    amount /= 1000;
  }
  return `${amount.toFixed(1)} TB`;
}

export function numberText(value: number): string {
  return value.toLocaleString("en-US");
}

/** `1 row`, `2 rows`, `1,200 rows`, `2 queries`. */
export function countText(count: number, thing: string): string {
  if (count === 1) return `1 ${thing}`;
  if (/[^aeiou]y$/.test(thing)) return `${numberText(count)} ${thing.slice(0, -1)}ies`;
  return `${numberText(count)} ${thing}${/(s|ch)$/.test(thing) ? "es" : "s"}`;
}

/** `a`, `a and b`, `a, b and c`. */
export function listText(words: readonly string[], last = "and"): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} ${last} ${words[words.length - 1]}`;
}

let several: ReadonlySet<string> = new Set();

/** Note which Ponds are there: where a name has several major versions, each is called with its own. */
export function noteMajors(keys: Iterable<string>): void {
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const key of keys) {
    const name = key.split("@")[0] ?? key;
    (seen.has(name) ? twice : seen).add(name);
  }
  several = twice;
}

/** Whether a Pond of that name has more than one major version. */
export function hasMajors(name: string): boolean {
  return several.has(name);
}

/** A Pond as people call it: of `sales@2` `sales`, and `sales@2` where there is another major version. */
export function shortName(key: string): string {
  const name = key.split("@")[0] ?? key;
  return several.has(name) ? key : name;
}

/** Where a Run stands on Runs that read Sources which do not agree: `stands on board@1#31, spliced`. */
export function splicedText(above: readonly string[]): string {
  return `stands on ${above.join(", ")}, spliced`;
}

/** `Tide 10 min`, or the cron expression of a schedule; of one that asks for nothing that it is paused. */
export function triggerText(trigger: TriggerView): string {
  if (trigger.paused_by !== null) {
    return `${askingText(trigger)} (paused)`;
  }
  return trigger.awake === null ? askingText(trigger) : `${askingText(trigger)} (${awakeText(trigger.awake)})`;
}

/** `awake until 18:15`, or `resting until 08:21`, by the clock of the zone in which its readers are expected. */
function awakeText(awake: AwakeView): string {
  const word = awake.is_awake ? "awake" : "resting";
  if (awake.until === null) {
    return `${word} until somebody reads`;
  }
  const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: awake.tz } as const;
  return `${word} until ${new Intl.DateTimeFormat("en-GB", clock).format(awake.until / 1000)}`;
}

function askingText(trigger: TriggerView): string {
  switch (trigger.kind) {
    case "wave":
      return "Wave";
    case "tide":
      return trigger.limit_us === null ? "Tide" : `Tide ${durationText(trigger.limit_us)}`;
    case "schedule":
      return trigger.cron ?? "Schedule";
  }
}

/** The values of a partition as a person reads them. */
export function partitionText(values: readonly (string | number | boolean | null)[]): string {
  return values.map((value) => (value === null ? "null" : value === "" ? '""' : String(value))).join(", ");
}
