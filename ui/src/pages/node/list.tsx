// Every Pond in a table, with filters that are in the address.
import { useMemo } from "react";
import { useWorld } from "../../live";
import { Age, Choice, Empty, Fresh, PageHead, Panel, StateChip } from "../../parts/basics";
import { PondLink } from "../../parts/link";
import { Word } from "../../parts/word";
import { change, usePlace } from "../../router";
import type { PondView } from "../../types";
import { countText } from "../../words";

const STATES = ["all", "running", "queued", "failed", "blocked", "killed", "idle"] as const;
const MOST = 500;

export function PondList() {
  const world = useWorld();
  const { params } = usePlace();
  const state = STATES.find((each) => each === params.state) ?? "all";
  const wanted = (params.find ?? "").toLowerCase();
  const ponds = useMemo(
    () =>
      [...world.ponds.values()].filter(
        (pond) => (state === "all" || pond.state === state) && pond.key.toLowerCase().includes(wanted),
      ),
    [world.ponds, state, wanted],
  );
  const counts = useMemo(() => {
    const found = new Map<string, number>();
    for (const pond of world.ponds.values()) found.set(pond.state, (found.get(pond.state) ?? 0) + 1);
    return found;
  }, [world.ponds]);
  if (world.ponds.size === 0) {
    return (
      <Panel>
        <Empty title="No Pond is deployed yet" commands={["pondage init my-pipeline", "pondage deploy"]}>
          A Pond is a Python function that makes a table.
        </Empty>
      </Panel>
    );
  }
  return (
    <>
      <PageHead title="Ponds" lead={`${countText(world.ponds.size, "Pond")} in ${world.environment}.`}>
        <input
          type="search"
          aria-label="Filter by name"
          placeholder="Filter by name"
          value={params.find ?? ""}
          onChange={(event) => change({ find: event.target.value }, { replace: true })}
        />
        <Choice
          label="State"
          value={state}
          options={STATES.filter((each) => each === "all" || each === state || counts.has(each)).map(
            (each) => [each, each === "all" ? "all" : `${each} ${counts.get(each) ?? 0}`] as const,
          )}
          onChange={(next) => change({ state: next === "all" ? null : next })}
        />
      </PageHead>
      <Panel>
        {ponds.length === 0 ? (
          <Empty title="No Pond is like that">Take a filter away.</Empty>
        ) : (
          <div className="scroll">
            <table className="pond-table">
              <thead>
                <tr>
                  <th scope="col">Pond</th>
                  <th scope="col">State</th>
                  <th scope="col">
                    <Word of="freshness">Fresh as of</Word>
                  </th>
                  <th scope="col">
                    <Word of="demand">Asked for</Word>
                  </th>
                  <th scope="col">What happens next</th>
                  <th scope="col" className="right">
                    Last Run
                  </th>
                </tr>
              </thead>
              <tbody>
                {ponds.slice(0, MOST).map((pond) => (
                  <PondRow key={pond.key} pond={pond} />
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Panel>
    </>
  );
}

function PondRow({ pond }: { pond: PondView }) {
  const asks = [
    ...(pond.demand.pull ? ["pull"] : []),
    ...(pond.demand.targets.length > 0 ? ["push"] : []),
    ...pond.triggers.map((trigger) => trigger.kind),
  ];
  return (
    <tr>
      <td>
        <PondLink pond={pond.key} />
      </td>
      <td>
        <StateChip state={pond.state} />
      </td>
      <td>
        <Fresh at={pond.freshness} />
      </td>
      <td className="soft">{asks.length === 0 ? <span className="faint">–</span> : [...new Set(asks)].join(", ")}</td>
      <td className="soft">
        {pond.next.text} {pond.next.at === null ? null : <Age at={pond.next.at} />}
      </td>
      <td className="right">
        {pond.last_run === null ? <span className="faint">–</span> : <Age at={pond.last_run.ended_at} />}
      </td>
    </tr>
  );
}
