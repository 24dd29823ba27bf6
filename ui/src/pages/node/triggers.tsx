import { Age, Panel } from "../../parts/basics";
import { Word } from "../../parts/word";
import { change } from "../../router";
import type { PondView } from "../../types";
import { triggerText } from "../../words";

const ADVICE: readonly (readonly [string, "tap" | "pulse" | "wave" | "tide" | "schedule", string])[] = [
  ["I am about to look at it, but I do not want to wait.", "tap", "You read what is there, and the next reader gains."],
  ["I need it to be right up to this moment.", "pulse", "Everything on the way up is brought up to date, once."],
  ["Keep it as fresh as it can be.", "wave", "It runs all the time, in the rhythm of the slowest step."],
  ["It must never be older than an hour.", "tide", "It runs no more often than that needs."],
  ["At six every morning.", "schedule", "For when the clock on the wall matters. It is declared in the code."],
];

const PAUSED = { pause: "paused", sleep: "paused: it sleeps", kill: "paused: it was killed" } as const;

export function TriggersPanel({ pond }: { pond: PondView }) {
  return (
    <Panel title={<Word of="trigger">Triggers</Word>}>
      {pond.triggers.length === 0 ? (
        <p className="soft">None stands: it runs only when a Sink or a person asks.</p>
      ) : (
        <ul className="lines">
          {pond.triggers.map((trigger) => (
            <li key={`${trigger.kind} ${trigger.name}`} className="line">
              <strong>
                <Word of={trigger.kind}>{trigger.kind === "schedule" ? "Schedule" : triggerText(trigger)}</Word>
              </strong>
              <span className="line-text">
                {trigger.kind === "schedule" ? (
                  <code>{`${trigger.cron} ${trigger.tz}`}</code>
                ) : trigger.kind === "wave" ? (
                  trigger.pacing
                ) : (
                  trigger.name
                )}
              </span>
              <span className="line-end">
                {trigger.paused_by === null ? null : (
                  <button type="button" onClick={() => change({ do: "resume" })}>
                    <Word of="paused">{PAUSED[trigger.paused_by]}</Word>
                  </button>
                )}
                {trigger.next_at === null ? null : (
                  <>
                    next <Age at={trigger.next_at} />
                  </>
                )}
              </span>
            </li>
          ))}
        </ul>
      )}
      <details className="advice">
        <summary>Which one should I use?</summary>
        <ul>
          {ADVICE.map(([wish, verb, meaning]) => (
            <li key={verb}>
              <span className="advice-wish">“{wish}”</span>
              <span>
                {verb === "schedule" ? (
                  <strong>
                    <Word of="schedule" />
                  </strong>
                ) : (
                  <button type="button" onClick={() => change({ do: verb })}>
                    <Word of={verb} />
                  </button>
                )}{" "}
                <span className="soft">{meaning}</span>
              </span>
            </li>
          ))}
        </ul>
      </details>
    </Panel>
  );
}
