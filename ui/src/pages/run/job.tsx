// A run of a job: its components over time, the edges between them, why some were skipped, and how to go on.
import { useMemo } from "react";
import { Action } from "../../parts/action";
import { Facts, Loaded, Panel, StateChip } from "../../parts/basics";
import { Failure } from "../../parts/failure";
import { Link } from "../../parts/link";
import { Logs } from "../../parts/logs";
import { Word } from "../../parts/word";
import { go, here, hrefOf } from "../../router";
import type { ComponentView, JobGraphView, JobRunDetail, Started } from "../../types";
import { numberText } from "../../words";
import { causeText } from "../../parts/job/causes";
import { Gantt, type Bar } from "./gantt";
import { JobHead, Plan, useComponent, useRun } from "../../parts/job/run";
import { Stages, Working } from "./stages";
import { Streams } from "../../parts/job/streams";

export function JobRun({ run }: { run: string }) {
  const { found, graph } = useRun<JobRunDetail>("jobs/runs", run);
  return <Loaded from={found}>{(data) => <Detail data={data} graph={graph} />}</Loaded>;
}

function Detail({ data, graph }: { data: JobRunDetail; graph: JobGraphView | null }) {
  const { run, components } = data;
  const chosen = useComponent();
  const bars = useMemo(() => components.flatMap(barOf), [components]);
  return (
    <>
      <JobHead run={run}>
        <Verbs data={data} />
      </JobHead>
      <div className="stack">
        {run.halted === null ? null : (
          <section className="trouble" role="alert">
            {run.halted}
          </section>
        )}
        {components
          .filter((each) => each.state === "ERROR")
          .map((each) => (
            <Failure
              key={each.name}
              title={`${each.name} failed`}
              code={each.code}
              text={each.cause}
              trace={each.trace}
            />
          ))}
        <Plan
          title="How it unfolds"
          aside="solid: data · coloured: control"
          graph={graph}
          components={components}
          streams={data.streams}
        />
        <Streams streams={data.streams} />
        <Panel title={<Word of="component">Components</Word>} aside="hatched: it waited for a worker">
          <Gantt bars={bars} />
          <Working
            parts={components.filter((each) => each.work === "running" && (each.progress?.tasks_all ?? 0) > 0)}
          />
          <Components components={components} chosen={chosen} />
        </Panel>
        <div className="columns">
          <div className="stack">
            <Panel title="Log" aside={chosen === "" ? undefined : <>only {chosen}</>}>
              <Logs subject={run.id} ripple={chosen} isLive={run.ended_at === null} />
            </Panel>
            <Stages parts={components.filter((each) => each.work === "")} />
          </div>
          <Panel title="Plan">
            <Facts
              facts={[
                ["Version", data.version],
                ["Plan", <code key="plan">{data.plan.slice(0, 12)}</code>],
                ["Edges fired", numberText(data.metrics.edges_fired)],
                [
                  "Resumed from",
                  run.resumed_from === null ? null : (
                    <Link key="from" page="run" params={{ run: run.resumed_from, kind: "job" }}>
                      {run.resumed_from}
                    </Link>
                  ),
                ],
                ...Object.entries(data.context).map(
                  ([name, value]) => [<code key={name}>{name}</code>, valueText(value)] as const,
                ),
                ...Object.entries(data.globals).map(
                  ([name, value]) => [<code key={name}>{name}</code>, valueText(value)] as const,
                ),
              ]}
            />
          </Panel>
        </div>
      </div>
    </>
  );
}

function valueText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function Verbs({ data: { run } }: { data: JobRunDetail }) {
  const at = `jobs/runs/${encodeURIComponent(run.id)}`;
  const follow = (started: Started) => go(hrefOf(here(), "run", { run: started.run, kind: "job" }));
  if (run.ended_at === null) {
    return (
      <Action label="Kill" path={`${at}/kill`} level="operate" twin={`pondage job kill ${run.id}`} hasNote isDanger />
    );
  }
  if (run.state === "OK") {
    return (
      <Action<Started>
        label="Run again"
        path={`jobs/${encodeURIComponent(run.job)}/runs`}
        level="operate"
        twin={`pondage job run ${run.job}`}
        onDone={follow}
      />
    );
  }
  return (
    <Action<Started>
      label="Resume"
      path={`${at}/resume`}
      level="operate"
      twin={`pondage job resume ${run.id}`}
      hasNote
      onDone={follow}
    />
  );
}

function barOf(component: ComponentView): Bar[] {
  if (component.started_at === null) return [];
  return [
    {
      key: component.name,
      label: component.name,
      title: `${component.name}: ${component.state.toLowerCase()}`,
      from: component.started_at,
      began: component.started_at,
      ended: component.ended_at,
      state: component.state,
    },
  ];
}

function Components({ components, chosen }: { components: readonly ComponentView[]; chosen: string }) {
  return (
    <div className="scroll">
      <table>
        <thead>
          <tr>
            <th>Component</th>
            <th>Type</th>
            <th>State</th>
            <th>Why</th>
            <th className="right">Rows</th>
          </tr>
        </thead>
        <tbody>
          {components.map((each) => (
            <tr key={each.name} className={each.name === chosen ? "chosen" : ""}>
              <td>
                <strong>{each.name}</strong>
              </td>
              <td className="faint">{each.type}</td>
              <td>
                <StateChip state={each.work === "" ? each.state : each.work} />
              </td>
              <td>
                {causeText(each.cause)}
                {each.is_restored ? " taken over from the run before" : ""}
                {each.attempt > 1 ? ` attempt ${each.attempt}` : ""}
              </td>
              <td className="right number">{each.outputs.map((output) => numberText(output.rows)).join(" · ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
