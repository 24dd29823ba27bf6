// Who is alive, what each of them holds, and why the rest of the work waits.
import { useGet } from "../api";
import { useWorld } from "../live";
import { Age, Duration, Elapsed, Empty, Loaded, PageHead, Panel, StateChip } from "../parts/basics";
import { Link, PondLink } from "../parts/link";
import { Word } from "../parts/word";
import type { PoolView, ProcessView, WorkListView, WorkView } from "../types";
import { countText, machineText, numberText } from "../words";
import type { Page } from "./page";

function Processes() {
  const world = useWorld();
  const busy = world.processes.map((each) => `${each.id}${each.busy}${each.state}`).join();
  const open = [...world.ponds.values()].flatMap((pond) =>
    pond.active.flatMap((run) => run.ripples.map((ripple) => `${run.id}${ripple.state}`)),
  );
  const found = useGet<WorkListView>(
    "work",
    {},
    `${busy}/${open.join()}/${[...world.runs.values()].map((run) => JSON.stringify(run.counts)).join()}`,
  );
  return (
    <>
      <PageHead
        title={<Word of="process">Processes</Word>}
        lead="Who is alive, what each of them holds, and what the rest waits for."
      />
      <Loaded from={found}>{(data) => <Shown data={data} />}</Loaded>
    </>
  );
}

function Shown({ data }: { data: WorkListView }) {
  const held = data.work.filter((each) => each.claimed_at !== null);
  const waiting = data.work.filter((each) => each.claimed_at === null);
  return (
    <div className="stack">
      <Panel title="Alive" aside={countText(data.processes.length, "process")}>
        {data.processes.length === 0 ? (
          <Empty title="No process runs, so nothing is executed" commands={["pondage dev", "pondage worker"]}>
            What is asked for is kept, and runs as soon as a worker is there.
          </Empty>
        ) : (
          <Alive processes={data.processes} />
        )}
      </Panel>
      <div className="halves">
        <Panel title={<Word of="claim">Held</Word>} aside={countText(held.length, "claim")}>
          {held.length === 0 ? <p className="soft">Nobody holds anything at the moment.</p> : null}
          <ul className="lines">
            {held.map((each) => (
              <li key={each.id} className="line">
                <Subject work={each} />
                <span className="line-text">
                  {each.progress === null || each.progress.tasks_all === 0 ? (
                    <code className="faint">{each.process}</code>
                  ) : (
                    <>
                      <progress
                        value={each.progress.tasks_done}
                        max={each.progress.tasks_all}
                        aria-label={`Tasks of ${each.node}`}
                      />{" "}
                      <span className="number">
                        {numberText(each.progress.tasks_done)} of {countText(each.progress.tasks_all, "task")}
                      </span>
                    </>
                  )}
                </span>
                <span className="line-end">
                  {each.claimed_at === null ? null : <Elapsed since={each.claimed_at} />}
                </span>
              </li>
            ))}
          </ul>
        </Panel>
        <Panel title="Waiting, and what for" aside={countText(waiting.length, "piece")}>
          {waiting.length === 0 ? <p className="soft">Nothing waits.</p> : null}
          <ul className="lines">
            {waiting.map((each) => (
              <li key={each.id} className="line">
                <Subject work={each} />
                <span className="line-text">{each.waits}</span>
                <span className="line-end">
                  <Elapsed since={each.created_at} />
                </span>
              </li>
            ))}
          </ul>
          {data.has_more ? <p className="faint">More waits behind these.</p> : null}
        </Panel>
      </div>
      {data.pools.length === 0 ? null : <Pools pools={data.pools} />}
    </div>
  );
}

function Subject({ work }: { work: WorkView }) {
  const name = work.subject.split("@")[0] ?? "";
  const suffix = work.node === name || work.node === "" ? "" : `.${work.node}`;
  if (work.kind === "ripple" || work.kind === "compact") {
    return (
      <span className="clip">
        <PondLink pond={work.subject}>{`${name}${suffix}`}</PondLink>
      </span>
    );
  }
  if (work.kind === "component" && work.run !== null) {
    return (
      <Link page="run" params={{ run: work.run, kind: "job" }} className="pond-link">
        {`${work.subject}${suffix}`}
      </Link>
    );
  }
  return <strong>{work.kind}</strong>;
}

function Alive({ processes }: { processes: readonly ProcessView[] }) {
  return (
    <div className="scroll">
      <table>
        <thead>
          <tr>
            <th>Role</th>
            <th>State</th>
            <th>Machine</th>
            <th>
              <Word of="slot">Slots</Word>
            </th>
            <th>
              <Word of="heartbeat">Heartbeat</Word>
            </th>
            <th>Alive since</th>
            <th>Code</th>
            <th>Labels</th>
          </tr>
        </thead>
        <tbody>
          {processes.map((each) => (
            <tr key={each.id}>
              <td>
                <strong>{each.role}</strong> <code className="faint">{each.id}</code>
              </td>
              <td>{each.state === "" ? <span className="faint">–</span> : <StateChip state={each.state} />}</td>
              <td className="nowrap" title={each.machine}>
                {machineText(each.machine)} <span className="faint">pid {each.pid}</span>
              </td>
              <td>
                {each.slots === 0 ? <span className="faint">none</span> : <Slots busy={each.busy} slots={each.slots} />}
              </td>
              <td>
                {each.silent_us === null ? (
                  <span className="faint">of another start of the machine</span>
                ) : each.is_silent ? (
                  <span className="late">
                    silent for <Duration us={each.silent_us} />
                  </span>
                ) : (
                  <span className="number">
                    <Duration us={each.silent_us} /> ago
                  </span>
                )}
              </td>
              <td className="nowrap">
                <Age at={each.registered_at} />
              </td>
              <td>
                <code className="faint">{each.code === "" ? "any" : each.code.slice(0, 12)}</code>
              </td>
              <td>{each.labels.join(", ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Slots({ busy, slots }: { busy: number; slots: number }) {
  const shown = Math.min(slots, 16);
  return (
    <span className="slots" title={`${busy} of ${slots} slots are taken`}>
      {Array.from({ length: shown }, (_, position) => (
        <i key={position} className={position < busy ? "taken" : ""} aria-hidden="true" />
      ))}
      <span className="number">
        {busy} of {slots}
      </span>
    </span>
  );
}

function Pools({ pools }: { pools: readonly PoolView[] }) {
  return (
    <Panel title={<Word of="pool">Pools</Word>}>
      <ul className="lines">
        {pools.map((pool) => (
          <li key={pool.name} className="line">
            <strong>{pool.name}</strong>
            <span className="line-text">
              <Slots busy={pool.taken} slots={pool.size} />
            </span>
            <span className="line-end">{pool.taken >= pool.size ? "full" : ""}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

export const processes: Page = {
  id: "processes",
  title: "Processes",
  shortcut: "p",
  icon: "M5 5h14v5H5zM5 14h14v5H5zM8 7.5h.01M8 16.5h.01",
  Component: Processes,
};
