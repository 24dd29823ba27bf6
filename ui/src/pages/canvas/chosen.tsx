// The panel beside the canvas: the chosen Pond in short, and why it does or does not run.
import { useGet } from "../../api";
import { spokenName } from "../../feed";
import { useWorld } from "../../live";
import { Choice, Elapsed, Fresh, StateChip } from "../../parts/basics";
import { Link } from "../../parts/link";
import { Word } from "../../parts/word";
import { change } from "../../router";
import type { PondView, WhyView } from "../../types";
import { listText, triggerText } from "../../words";

export type Way = "up" | "down" | "both";

export function Chosen({ pond, way, isOnly }: { pond: PondView; way: Way; isOnly: boolean }) {
  const world = useWorld();
  const why = useGet<WhyView>(`why/${encodeURIComponent(spokenName(world, pond))}`, {}, world.seq);
  return (
    <aside className="chosen panel" aria-label={`Pond ${pond.key}`}>
      <header>
        <h2>
          <Link page="node" params={{ pond: pond.key }}>
            {pond.key}
          </Link>
        </h2>
        <button
          type="button"
          className="quiet"
          onClick={() => change({ pond: null, way: null, only: null })}
          aria-label="Close"
        >
          ×
        </button>
      </header>
      <p className="row">
        <StateChip state={pond.state} />
        {pond.freshness === null ? (
          <span className="faint">no data yet</span>
        ) : (
          <span className="faint">
            <Word of="freshness">fresh as of</Word> <Fresh at={pond.freshness} />
          </span>
        )}
      </p>
      <ul className="chosen-why">
        {(why.data?.gates ?? []).map((gate, position) => (
          <li key={position}>{gate.text}</li>
        ))}
      </ul>
      {pond.active.map((run) => (
        <p key={run.id} className="soft">
          <Link page="run" params={{ run: run.id }}>
            Run #{run.number}
          </Link>{" "}
          for <Elapsed since={run.started_at} />
          {": "}
          {listText(
            run.ripples
              .filter((each) => each.state === "running" || each.state === "queued")
              .map((each) => `${each.name} ${each.state}`),
          )}
        </p>
      ))}
      {pond.triggers.length > 0 ? (
        <p className="soft">
          <Word of="trigger">Triggers</Word>: {listText(pond.triggers.map(triggerText))}
        </p>
      ) : null}
      <Choice
        label="Which way"
        value={way}
        options={[
          ["up", "Upstream"],
          ["both", "Both"],
          ["down", "Downstream"],
        ]}
        onChange={(next) => change({ way: next === "both" ? null : next })}
      />
      <label className="check">
        <input type="checkbox" checked={isOnly} onChange={(event) => change({ only: event.target.checked })} /> Show
        only these
      </label>
      <Link page="node" params={{ pond: pond.key }} className="button-link">
        Open {pond.name}
      </Link>
    </aside>
  );
}
