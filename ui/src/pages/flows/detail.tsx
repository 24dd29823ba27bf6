// One flow: its tree with types and states, why nodes failed, what can be fetched, and how to stop it or go on.
import { useState } from "react";
import { apiUrl, Refusal, token, type Problem } from "../../api";
import { Action } from "../../parts/action";
import { Command, Loaded, Panel, StateChip, Trouble } from "../../parts/basics";
import { Failure } from "../../parts/failure";
import { Link } from "../../parts/link";
import { Logs } from "../../parts/logs";
import { go, here, hrefOf } from "../../router";
import { causeText } from "../../parts/job/causes";
import { JobHead, Plan, useComponent, useRun } from "../../parts/job/run";
import { Streams } from "../../parts/job/streams";
import type { ExtractView, FlowDetail, JobGraphView, Started } from "../../types";
import { momentText, numberText, sizeText } from "../../words";

export function Flow({ run }: { run: string }) {
  const { found, graph } = useRun<FlowDetail>("flows", run);
  return <Loaded from={found}>{(data) => <Shown data={data} graph={graph} reload={found.reload} />}</Loaded>;
}

function Shown({ data, graph, reload }: { data: FlowDetail; graph: JobGraphView | null; reload: () => void }) {
  const { run, components, streams } = data.flow;
  const chosen = useComponent();
  const isOpen = run.ended_at === null;
  const at = `flows/${encodeURIComponent(run.id)}`;
  return (
    <div className="stack">
      <JobHead run={run}>
        {isOpen ? (
          <Action
            label="Stop"
            path={`${at}/stop`}
            level="operate"
            twin={`pondage flow stop ${run.id}`}
            onDone={reload}
          />
        ) : run.state === "OK" ? null : (
          <Action<Started>
            label="Resume"
            path={`jobs/runs/${encodeURIComponent(run.id)}/resume`}
            level="operate"
            twin={`pondage flow resume ${run.id}`}
            hasNote
            onDone={(started) => go(hrefOf(here(), "flows", { run: started.run }))}
          />
        )}
        {isOpen || data.cleaned_at !== null ? null : (
          <Action
            label="Clean up"
            path={`${at}/cleanup`}
            level="operate"
            twin={`pondage flow cleanup ${run.id}`}
            onDone={reload}
          />
        )}
      </JobHead>
      {data.panics.map((panic) => (
        <Failure
          key={panic.node}
          title={`${panic.node} failed: ${panic.message}`}
          code={panic.code}
          trace={panic.detail}
        />
      ))}
      <Plan
        title="The tree"
        aside="what travels is on the edges"
        graph={graph}
        components={components}
        streams={streams}
      >
        <ul className="lines">
          {components
            .filter((each) => each.cause !== "" && each.state !== "ERROR")
            .map((each) => (
              <li key={each.name} className="line">
                <strong>{each.name}</strong>
                <span className="line-text">{causeText(each.cause)}</span>
                <StateChip state={each.state} />
              </li>
            ))}
        </ul>
      </Plan>
      <Streams streams={streams} />
      <Panel title="What can be fetched">
        {data.extracts.length === 0 ? (
          <p className="soft">The tree names no extract.</p>
        ) : (
          <Extracts run={run.id} extracts={data.extracts} />
        )}
      </Panel>
      <Panel title="Log" aside={chosen === "" ? undefined : <>only {chosen}</>}>
        <Logs subject={run.id} ripple={chosen} isLive={isOpen} />
      </Panel>
      <p>
        <Link page="run" params={{ run: run.id, kind: "job" }}>
          The same run as a job
        </Link>
        : attempts over time, and every table.
      </p>
    </div>
  );
}

function Extracts({ run, extracts }: { run: string; extracts: readonly ExtractView[] }) {
  return (
    <div className="scroll">
      <table>
        <thead>
          <tr>
            <th>Name</th>
            <th>State</th>
            <th>From</th>
            <th>Type</th>
            <th className="right">Rows</th>
            <th className="right">Kept until</th>
            <th>Fetch it</th>
          </tr>
        </thead>
        <tbody>
          {extracts.map((each) => (
            <tr key={each.name}>
              <td>
                <strong>{each.name}</strong> <span className="faint">{each.format}</span>
              </td>
              <td>
                <StateChip state={each.state} />
              </td>
              <td>
                <code>{each.source}</code>
              </td>
              <td className="wrap">
                <code>{each.type}</code>
              </td>
              <td className="right number">
                {each.rows === null ? "" : numberText(each.rows)}{" "}
                {each.bytes === null ? null : <span className="faint">{sizeText(each.bytes)}</span>}
              </td>
              <td className="right">{each.until === null ? "" : momentText(each.until)}</td>
              <td className="right">{each.state === "ready" ? <Fetch run={run} extract={each} /> : null}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A link cannot carry the token, so the bytes are fetched and then saved. */
function Fetch({ run, extract }: { run: string; extract: ExtractView }) {
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isBusy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    const answer = await fetch(
      apiUrl(`flows/${encodeURIComponent(run)}/extracts/${encodeURIComponent(extract.name)}`),
      {
        headers: { Authorization: `Bearer ${token() ?? ""}` },
        cache: "no-store",
      },
    );
    if (!answer.ok) throw new Refusal(answer.status, (await answer.json()) as Problem);
    const url = URL.createObjectURL(await answer.blob());
    const link = document.createElement("a");
    link.href = url;
    link.download = `${extract.name}.${extract.format}`;
    link.click();
    URL.revokeObjectURL(url);
  };
  return (
    <div className="stack-small">
      <button
        type="button"
        disabled={isBusy}
        onClick={() => {
          save()
            .catch((error: unknown) => {
              if (error instanceof Refusal) setProblem(error.problem);
            })
            .finally(() => setBusy(false));
        }}
      >
        Extract
      </button>
      <Command text={`pondage flow extract ${run} ${extract.name}`} />
      {problem === null ? null : <Trouble problem={problem} />}
    </div>
  );
}
