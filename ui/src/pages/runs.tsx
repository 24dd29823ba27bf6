// Every Pond with its newest Runs as a grid, or all Runs as a list; both narrowed by what the address says.
import { useMemo } from "react";
import { useGet } from "../api";
import type { World } from "../feed";
import { useWorld } from "../live";
import { Age, Choice, Duration, Elapsed, Empty, Loaded, PageHead, Panel, StateChip } from "../parts/basics";
import { Action } from "../parts/action";
import { Filters, Find, fits, Only, Select } from "../parts/filters";
import { Link, PondLink } from "../parts/link";
import { Word } from "../parts/word";
import { change, go, here, hrefOf, usePlace } from "../router";
import type { JobRunView, JobsView, JobView, RunsView, RunView, Started } from "../types";
import { countText, durationText, momentText, shortName, splicedText } from "../words";
import type { Page } from "./page";

const COLUMNS = 24;
const LIMIT = 1000;
const STATES = ["completed", "failed", "running", "dropped", "subsumed", "killed"];
const JOB_STATES = ["RUNNING", "OK", "ERROR", "ABORTED"];
type View = "grid" | "list" | "jobs";
const LEADS: Record<View, string> = {
  grid: "Each bar is one time that a Pond was computed. The newest are on the right.",
  list: "Each line is one time that a Pond was computed, the newest first.",
  jobs: "What is deployed, and what was run of it, the newest first.",
};

function Runs() {
  const { params } = usePlace();
  const world = useWorld();
  const view: View =
    params.job !== undefined ? "jobs" : params.view === "list" || params.view === "jobs" ? params.view : "grid";
  const runs = useGet<RunsView>("runs", { limit: LIMIT, state: params.state, pond: params.pond }, versionOf(world));
  return (
    <>
      <PageHead title={<Word of="run">Runs</Word>} lead={LEADS[view]}>
        <Choice
          label="How to show them"
          value={view}
          options={[
            ["grid", "Grid"],
            ["list", "List"],
            ["jobs", "Jobs"],
          ]}
          onChange={(chosen) =>
            change({
              view: chosen === "grid" ? null : chosen,
              job: null,
              state: (chosen === "jobs") === (view === "jobs") ? params.state : null,
            })
          }
        />
      </PageHead>
      {view === "jobs" ? (
        <Jobs world={world} />
      ) : (
        <Panel>
          <RunFilters />
          <Loaded from={runs}>
            {(data) => (view === "list" ? <List data={data} /> : <Grid data={data} world={world} />)}
          </Loaded>
        </Panel>
      )}
    </>
  );
}

/** Changes when a Run began or ended: then the list is read again. */
function versionOf(world: World): string {
  let ended = 0;
  let open = 0;
  for (const pond of world.ponds.values()) {
    ended += pond.last_run?.ended_at ?? 0;
    for (const run of pond.active) open += run.number;
  }
  return `${ended}/${open}`;
}

function RunFilters() {
  const { params } = usePlace();
  return (
    <Filters>
      <Find hint="a Pond or a reason" />
      <Select of="state" label="State" none="any" options={STATES} />
      <Only of="pond">{shortName(params.pond ?? "")}</Only>
    </Filters>
  );
}

function matches(run: RunView, find: string | undefined): boolean {
  return fits(find, run.pond, run.reason, run.id, run.error?.message ?? "");
}

function Grid({ data, world }: { data: RunsView; world: World }) {
  const { params } = usePlace();
  const rows = useMemo(() => {
    const byPond = new Map<string, RunView[]>();
    for (const run of data.runs) {
      const known = byPond.get(run.pond);
      if (known === undefined) byPond.set(run.pond, [run]);
      else if (known.length < COLUMNS) known.push(run);
    }
    const asked = params.state !== undefined || params.pond !== undefined;
    const keys = asked ? [...byPond.keys()] : [...new Set([...world.ponds.keys(), ...byPond.keys()])];
    return keys.sort().map((key) => [key, (byPond.get(key) ?? []).toReversed()] as const);
  }, [data, world.ponds, params.state, params.pond]);
  const shown = rows.filter(([key, runs]) => fits(params.find, key) || runs.some((run) => matches(run, params.find)));
  if (shown.length === 0) return <NoRuns />;
  return (
    <div className="scroll">
      <table className="run-grid">
        <thead>
          <tr>
            <th>Pond</th>
            <th>Newest {COLUMNS} Runs</th>
            <th className="right">Last took</th>
            <th className="right">Last ended</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(([key, runs]) => (
            <GridRow key={key} pond={key} runs={runs} state={world.ponds.get(key)?.state ?? ""} />
          ))}
        </tbody>
      </table>
      {data.has_more ? (
        <p className="faint">Older Runs are not shown: pick a Pond or a state to see more of them.</p>
      ) : null}
    </div>
  );
}

function GridRow({ pond, runs, state }: { pond: string; runs: readonly RunView[]; state: string }) {
  const longest = Math.max(1, ...runs.map((run) => run.duration_us ?? 0));
  const last = runs.findLast((run) => run.ended_at !== null);
  return (
    <tr>
      <td className="nowrap">
        <PondLink pond={pond} /> {state === "" || state === "idle" ? null : <StateChip state={state} />}
      </td>
      <td>
        <div className="cells">
          {runs.length === 0 ? <span className="faint">no Run yet</span> : null}
          {runs.map((run) => (
            <Link
              key={run.id}
              page="run"
              params={{ run: run.id }}
              className={`cell cell-${run.state}`}
              title={titleOf(run)}
            >
              <i
                style={{
                  height: `${run.duration_us === null ? 100 : Math.max(18, (100 * run.duration_us) / longest)}%`,
                }}
              />
              <span className="unseen">
                {shortName(run.pond)} #{run.number} {run.state}
              </span>
            </Link>
          ))}
        </div>
      </td>
      <td className="right">{last?.duration_us == null ? null : <Duration us={last.duration_us} />}</td>
      <td className="right">{last?.ended_at == null ? null : <Age at={last.ended_at} />}</td>
    </tr>
  );
}

function titleOf(run: RunView): string {
  const took = run.duration_us === null ? "is not over" : `took ${durationText(run.duration_us)}`;
  const error = run.error === null ? "" : `\n${run.error.message}`;
  return `${shortName(run.pond)} #${run.number} ${run.state}, ${took}\n${momentText(run.started_at)} · ${run.reason}${error}`;
}

function List({ data }: { data: RunsView }) {
  const { params } = usePlace();
  const shown = data.runs.filter((run) => matches(run, params.find)).slice(0, 200);
  if (shown.length === 0) return <NoRuns />;
  return (
    <div className="scroll">
      <table>
        <thead>
          <tr>
            <th>Run</th>
            <th>State</th>
            <th>Because of</th>
            <th>Began</th>
            <th className="right">Took</th>
            <th>What went wrong</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((run) => (
            <tr key={run.id}>
              <td className="nowrap">
                <Link page="run" params={{ run: run.id }} className="pond-link">
                  {shortName(run.pond)}#{run.number}
                </Link>
              </td>
              <td>
                <StateChip state={run.state} />
              </td>
              <td>
                {run.reason}
                {run.is_forced ? <span className="faint"> · forced</span> : null}
                {run.is_spliced || run.spliced_from.length > 0 ? (
                  <span className="faint">
                    {" "}
                    ·{" "}
                    <Word of="spliced">{run.spliced_from.length > 0 ? splicedText(run.spliced_from) : "Spliced"}</Word>
                  </span>
                ) : null}
              </td>
              <td className="nowrap">
                <Age at={run.started_at} />
              </td>
              <td className="right">
                {run.duration_us === null ? <Elapsed since={run.started_at} /> : <Duration us={run.duration_us} />}
              </td>
              <td className="clip">{run.error?.message ?? ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {data.has_more || shown.length === 200 ? <p className="faint">Older Runs are not shown.</p> : null}
    </div>
  );
}

function NoRuns() {
  const world = useWorld();
  const name = shortName([...world.ponds.keys()].at(-1) ?? "POND");
  return (
    <Empty title="No Run fits" commands={[`pondage pulse ${name}`]}>
      Nothing has run yet, or the filters leave nothing over.
    </Empty>
  );
}

function Jobs({ world }: { world: World }) {
  const { params } = usePlace();
  const runs = [...world.runs.values()]
    .filter((run) => !run.is_flow)
    .filter((run) => params.job === undefined || run.job === params.job)
    .filter((run) => params.state === undefined || run.state === params.state)
    .filter((run) => fits(params.find, run.job, run.id, run.reason, run.code ?? ""))
    .sort((one, other) => other.started_at - one.started_at);
  const deployed = useGet<JobsView>("jobs", { limit: 1 }, world.runs.size);
  return (
    <div className="stack">
      <Deployed jobs={deployed.data?.jobs ?? []} />
      <JobRuns runs={runs} />
    </div>
  );
}

function Deployed({ jobs }: { jobs: readonly JobView[] }) {
  if (jobs.length === 0) return null;
  return (
    <Panel title={<Word of="job">Deployed jobs</Word>}>
      <ul className="lines">
        {jobs.map((job) => (
          <li key={job.name} className="line">
            <Link params={{ job: job.name }} className="pond-link">
              {job.name}
            </Link>
            <span className="line-text">
              {job.version} · {countText(job.components, "component")}
              {job.schedule === null ? "" : ` · ${job.schedule}`}
              {job.next_at === null ? null : (
                <>
                  {" "}
                  · next <Age at={job.next_at} />
                </>
              )}
            </span>
            <Action<Started>
              label="Run"
              path={`jobs/${encodeURIComponent(job.name)}/runs`}
              level="operate"
              twin={`pondage job run ${job.name}`}
              onDone={(started) => go(hrefOf(here(), "run", { run: started.run, kind: "job" }))}
            />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function JobRuns({ runs }: { runs: readonly JobRunView[] }) {
  const { params } = usePlace();
  return (
    <Panel title={<Word of="job">Runs of jobs</Word>} aside={countText(runs.length, "run")}>
      <Filters>
        <Find hint="a job, a run or a reason" />
        <Select of="state" label="State" none="any" options={JOB_STATES} />
        <Only of="job">{params.job}</Only>
      </Filters>
      {runs.length === 0 ? (
        <Empty title="No run of a job fits" commands={["pondage job list", "pondage job run JOB"]}>
          No job has run yet, or the filters leave nothing over. Jobs are files in the directory “jobs” of a project.
        </Empty>
      ) : (
        <div className="scroll">
          <table>
            <thead>
              <tr>
                <th>Run</th>
                <th>State</th>
                <th>Because of</th>
                <th>Components</th>
                <th>Began</th>
                <th className="right">Took</th>
              </tr>
            </thead>
            <tbody>
              {runs.map((run) => (
                <JobLine key={run.id} run={run} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

function JobLine({ run }: { run: JobRunView }) {
  return (
    <tr>
      <td className="nowrap">
        <Link page="run" params={{ run: run.id, kind: "job" }} className="pond-link">
          {run.job}
        </Link>{" "}
        <code className="faint">{run.id}</code>
      </td>
      <td>
        <StateChip state={run.state} />
      </td>
      <td>{run.reason}</td>
      <td>
        {Object.entries(run.counts)
          .map(([state, count]) => `${count} ${state.toLowerCase()}`)
          .join(", ")}
      </td>
      <td className="nowrap">
        <Age at={run.started_at} />
      </td>
      <td className="right">
        {run.ended_at === null ? <Elapsed since={run.started_at} /> : <Duration us={run.ended_at - run.started_at} />}
      </td>
    </tr>
  );
}

export const runs: Page = {
  id: "runs",
  title: "Runs",
  shortcut: "r",
  icon: "M4 5h4v4H4zM10 5h4v4h-4zM16 5h4v4h-4zM4 11h4v4H4zM10 11h4v4h-4zM4 17h4v3H4z",
  Component: Runs,
};
