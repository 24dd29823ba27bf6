// Runs that were not needed, beside the schedule that the project compares with, and how that is counted. Pure.
import type { RhythmView } from "../../types";
import { countText, numberText } from "../../words";

export interface Avoided {
  /** How many; nothing without a schedule to compare with. */
  value: string | null;
  made: number;
  text: string;
}

export function avoidedOf(data: RhythmView): Avoided {
  const made = data.ponds.reduce((sum, pond) => sum + pond.runs, 0);
  const needed = `${countText(made, "Run")} ${made === 1 ? "was" : "were"} made since midnight because somebody needed them.`;
  if (data.scheduled_runs === null) {
    const hint =
      'Give the schedule that you would have in pondage.toml to compare with: [compare] schedule = "0 * * * *".';
    return { value: null, made, text: `${needed} ${hint}` };
  }
  const avoided = data.scheduled_runs - made;
  const would = `The schedule ${data.schedule ?? ""}, which the project compares with, came due ${countText(data.rounds, "time")} for ${countText(data.deployed, "Pond")} and would have made ${countText(data.scheduled_runs, "Run")}.`;
  const more =
    avoided < 0 ? ` That is ${numberText(-avoided)} fewer than were needed: data would have been older.` : "";
  return { value: numberText(Math.max(0, avoided)), made, text: `${needed} ${would}${more}` };
}
