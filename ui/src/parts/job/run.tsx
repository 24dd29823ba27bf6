// What the pages of a job's run and of a flow share: how they are read, their head, and the component that is chosen.
import { useRef, type ReactNode } from "react";
import { useGet, type Fetched } from "../../api";
import { useWorld } from "../../live";
import { PageHead, Panel, StateChip } from "../basics";
import { change, usePlace } from "../../router";
import type { ComponentView, JobGraphView, JobRunView, StreamView } from "../../types";
import { Graph } from "./graph";
import { RunLead } from "./lead";

/** Read a run again whenever the feed tells of it (a state, a claim, tasks of Spark, segments), and its plan once. */
export function useRun<T>(path: string, run: string | null): { found: Fetched<T>; graph: JobGraphView | null } {
  const known = useWorld().runs.get(run ?? "");
  const told = useRef({ known, times: 0 });
  if (told.current.known !== known) told.current = { known, times: told.current.times + 1 };
  const found = useGet<T>(run === null ? null : `${path}/${encodeURIComponent(run)}`, {}, told.current.times);
  const graph = useGet<JobGraphView>(run === null ? null : `jobs/runs/${encodeURIComponent(run)}/graph`);
  return { found, graph: graph.data };
}

export function JobHead({ run, children }: { run: JobRunView; children: ReactNode }) {
  return (
    <PageHead
      title={
        <>
          {run.job} <code className="faint">{run.id}</code> <StateChip state={run.state} />
        </>
      }
      lead={<RunLead run={run} />}
    >
      {children}
    </PageHead>
  );
}

/** The component that the address names, by the name that the plan has for it. */
export function useComponent(): string {
  return usePlace().params.component ?? "";
}

interface PlanProps {
  title: string;
  aside: string;
  graph: JobGraphView | null;
  components: readonly ComponentView[];
  streams?: readonly StreamView[];
  children?: ReactNode;
}

export function Plan({ title, aside, graph, components, streams, children }: PlanProps) {
  const chosen = useComponent();
  return (
    <Panel title={title} aside={aside}>
      {graph === null ? (
        <p className="loading">Reading …</p>
      ) : (
        <Graph
          graph={graph}
          components={components}
          streams={streams}
          chosen={chosen}
          onChoose={(component) => change({ component })}
        />
      )}
      {children}
    </Panel>
  );
}
