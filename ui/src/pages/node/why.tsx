import { useGet } from "../../api";
import { useNow } from "../../clock";
import { spokenName } from "../../feed";
import { useWorld } from "../../live";
import { Command, Loaded, Panel } from "../../parts/basics";
import type { GateView, PondView, WhyView } from "../../types";

const TITLES: Record<PondView["state"], string> = {
  idle: "Why it is not running",
  queued: "Why it is not running yet",
  running: "Why it is running",
  failed: "Why it is not running",
  blocked: "Why it is not running",
  killed: "Why it is not running",
};

/** The object that `pondage why` prints: every gate between the Pond and its next Run, the machine's first. */
export function Why({ pond }: { pond: PondView }) {
  const world = useWorld();
  // Its sentences say how long ago things were, so they are read again now and then.
  const quarter = Math.floor(useNow() / 15_000_000);
  const name = spokenName(world, pond);
  const why = useGet<WhyView>(`why/${encodeURIComponent(name)}`, {}, `${world.seq} ${quarter}`);
  return (
    <Panel title={TITLES[pond.state]} aside={<code>pondage why {name}</code>} className="why">
      <Loaded from={why}>
        {({ gates }) =>
          gates.length === 0 ? (
            <p className="soft">Nothing stands between it and its next Run.</p>
          ) : (
            <ol className="gates">
              {gates.map((gate, position) => (
                <Gate key={`${gate.gate} ${position}`} gate={gate} />
              ))}
            </ol>
          )
        }
      </Loaded>
    </Panel>
  );
}

function Gate({ gate }: { gate: GateView }) {
  return (
    <li className={`gate gate-${gate.gate.replaceAll(" ", "-")}`}>
      <div>
        <span className="gate-name">{gate.gate}</span>
        <p>{gate.text}</p>
      </div>
      {gate.hint === null ? null : <Command text={gate.hint} />}
    </li>
  );
}
