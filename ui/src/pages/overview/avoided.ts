// Runs that were not needed, beside a fixed schedule, and how that is counted. Pure.
import type { RhythmView } from "../../types";
import { countText, numberText } from "../../words";

export interface Avoided {
  value: string;
  made: number;
  text: string;
}

export function avoidedOf(data: RhythmView): Avoided {
  const made = data.ponds.reduce((sum, pond) => sum + pond.runs, 0);
  const avoided = data.scheduled_runs - made;
  const value = made === 0 && data.schedule === null ? "–" : numberText(Math.max(0, avoided));
  const needed = `${countText(made, "Run")} ${made === 1 ? "was" : "were"} made since midnight because somebody needed them.`;
  return { value, made, text: `${needed} ${ruleText(data)} ${resultText(data, avoided)}` };
}

function ruleText(data: RhythmView): string {
  if (data.schedule === null) {
    return "A pipeline that starts each of these Ponds again as soon as its slowest Ripple is free would have made";
  }
  return `The schedule ${data.schedule}, which the project compares with, came due ${countText(data.rounds, "time")} for ${countText(data.deployed, "Pond")} and would have made`;
}

function resultText(data: RhythmView, avoided: number): string {
  const would = countText(data.scheduled_runs, "Run");
  const more =
    avoided < 0 ? ` That is ${numberText(-avoided)} fewer than were needed: data would have been older.` : "";
  const hint =
    data.schedule === null
      ? ' Give the schedule that you would have in pondage.toml: [compare] schedule = "0 * * * *".'
      : "";
  return `${would}.${more}${hint}`;
}
