// One Run in full: what was tried and when, what it read and wrote, its log, and what can be done now.
import { useGet } from "../api";
import { useWorld } from "../live";
import { Action } from "../parts/action";
import { Empty, Facts, Loaded, PageHead, Panel, StateChip, Tag } from "../parts/basics";
import { Failure } from "../parts/failure";
import { Link, PondLink } from "../parts/link";
import { Logs } from "../parts/logs";
import { Word } from "../parts/word";
import { usePlace } from "../router";
import { Gantt, type Bar } from "./run/gantt";
import { JobRun } from "./run/job";
import { RunLead } from "../parts/job/lead";
import { Stages, Working } from "./run/stages";
import type { AttemptView, ExecutionView, FailureView, RunDetailView } from "../types";
import { countText, momentText, numberText, shortName, sizeText, splicedText } from "../words";
import type { Page } from "./page";

function Run() {
  const { params } = usePlace();
  const { run, kind } = params;
  if (run === undefined) {
    return (
      <Empty title="Which Run?" commands={["pondage runs"]}>
        Choose one on the page of all Runs.
      </Empty>
    );
  }
  return kind === "job" ? <JobRun key={run} run={run} /> : <PondRun key={run} run={run} />;
}

function PondRun({ run }: { run: string }) {
  const world = useWorld();
  const open = [...world.ponds.values()].flatMap((pond) => pond.active).find((each) => each.id === run);
  // What the feed knows of it: while it is open every message about it, afterwards nothing.
  const found = useGet<RunDetailView>(
    `runs/${encodeURIComponent(run)}`,
    {},
    open === undefined ? "" : JSON.stringify(open.ripples),
  );
  return <Loaded from={found}>{(data) => <Detail data={data} reload={found.reload} />}</Loaded>;
}

function Detail({ data, reload }: { data: RunDetailView; reload: () => void }) {
  const { run, code, pins, attempts, outputs } = data;
  const isOpen = run.ended_at === null;
  const trace = newestTrace(attempts) ?? run.error;
  return (
    <>
      <PageHead
        title={
          <>
            <PondLink pond={run.pond} /> <span className="faint">#{run.number}</span> <StateChip state={run.state} />
          </>
        }
        lead={<RunLead run={run} />}
      >
        <RunActions pond={run.pond} state={run.state} onDone={reload} />
      </PageHead>
      <div className="stack">
        {trace === null ? null : (
          <Failure title={trace.message} code={trace.code} text={placeText(trace, run.ripple)} trace={trace.trace} />
        )}
        <Panel title={<Word of="attempt">Attempts</Word>} aside="hatched: it waited">
          {attempts.length === 0 ? (
            <p className="soft">Nothing had to be executed: every result was taken again.</p>
          ) : null}
          <Gantt bars={attempts.flatMap((attempt) => barsOf(attempt, numberOf(attempt, attempts)))} />
          <Working
            parts={attempts.flatMap((attempt) =>
              attempt.executions
                .filter((each) => each.outcome === null)
                .map((each) => ({ name: attempt.ripple, progress: each.progress })),
            )}
          />
        </Panel>
        <div className="columns">
          <div className="stack">
            <Panel title="Log">
              <Logs subject={run.id} isLive={isOpen} />
            </Panel>
            <Stages
              parts={attempts.flatMap((attempt) =>
                attempt.executions
                  .filter((each) => each.outcome !== null)
                  .map((each) => ({
                    name: labelOf(attempt, numberOf(attempt, attempts), each),
                    progress: each.progress,
                  })),
              )}
            />
          </div>
          <div className="stack">
            <Panel title={<Word of="pin">What it reads</Word>}>
              {pins.length === 0 ? <p className="soft">An Inlet: it reads from outside.</p> : null}
              <ul className="lines">
                {pins.map((pin) => (
                  <li key={pin.source} className="line">
                    <PondLink pond={pin.source} />
                    <span className="line-text">
                      {pin.run === null ? (
                        "had nothing yet"
                      ) : (
                        <Link page="run" params={{ run: pin.run }}>
                          #{pin.number}
                        </Link>
                      )}
                    </span>
                    <span className="line-end">
                      {pin.freshness === null || pin.freshness < 0 ? "" : momentText(pin.freshness).slice(5, 16)}
                    </span>
                  </li>
                ))}
              </ul>
            </Panel>
            <Panel title={<Word of="snapshot">What it wrote</Word>}>
              {outputs.length === 0 ? (
                <p className="soft">{isOpen ? "Nothing yet." : "Nothing: what was published before stays."}</p>
              ) : null}
              <ul className="lines">
                {outputs.map((output) => (
                  <li key={output.ripple} className="line">
                    <strong>{output.ripple}</strong>
                    <span className="line-text number">
                      {countText(output.rows, "row")}
                      {output.table_rows !== null && output.table_rows !== output.rows
                        ? ` of ${numberText(output.table_rows)}`
                        : ""}
                    </span>
                    <span className="line-end">{sizeText(output.bytes)}</span>
                    {output.upkeep === null ? null : <p className="soft">{output.upkeep.said}</p>}
                  </li>
                ))}
              </ul>
            </Panel>
            <Panel title="Code">
              <Facts
                facts={[
                  ["Version", run.version],
                  ["Project", code.project],
                  ["Place", code.place === "" ? null : <code key="place">{code.place}</code>],
                  ["Archive", <code key="archive">{code.archive.slice(0, 12)}</code>],
                  ["Deployed", code.deployed_at === null ? null : momentText(code.deployed_at)],
                  [<Word key="freshness" of="freshness" />, momentText(run.freshness)],
                  ["Run", <code key="run">{run.id}</code>],
                  ["Shows", run.shows],
                  [
                    "Marks",
                    marksOf(run).length === 0 ? null : marksOf(run).map((mark) => <Tag key={mark}>{mark}</Tag>),
                  ],
                ]}
              />
            </Panel>
          </div>
        </div>
      </div>
    </>
  );
}

function marksOf(run: RunDetailView["run"]): string[] {
  const marks = [];
  if (run.is_forced) marks.push("forced");
  if (run.is_spliced) marks.push("spliced");
  if (run.spliced_from.length > 0) marks.push(splicedText(run.spliced_from));
  if (run.rolled_back_to !== null) marks.push(`shows #${run.rolled_back_to} again`);
  return marks;
}

function RunActions({ pond, state, onDone }: { pond: string; state: string; onDone: () => void }) {
  const name = shortName(pond);
  const at = `ponds/${encodeURIComponent(pond)}`;
  if (state === "running") {
    return (
      <Action
        label="Kill"
        path={`${at}/kill`}
        level="operate"
        twin={`pondage kill ${name}`}
        hasNote
        isDanger
        onDone={onDone}
      />
    );
  }
  if (state === "failed" || state === "killed") {
    return (
      <>
        <Action label="Clear" path={`${at}/clear`} level="operate" twin={`pondage clear ${name}`} onDone={onDone} />
        <Action
          label="Retry now"
          path={`${at}/force`}
          level="operate"
          twin={`pondage force ${name}`}
          hasNote
          onDone={onDone}
        />
      </>
    );
  }
  return (
    <Action label="Run again" path={`${at}/pulse`} level="demand" twin={`pondage pulse ${name}`} onDone={onDone} />
  );
}

function placeText(error: FailureView, ripple: string | null): string {
  return [ripple === null ? "" : `Ripple ${ripple}`, error.place === null ? "" : `at ${error.place}`]
    .filter((text) => text !== "")
    .join(" ");
}

function newestTrace(attempts: readonly AttemptView[]): FailureView | null {
  const errors = attempts
    .flatMap((attempt) => attempt.executions)
    .flatMap((each) => (each.error === null ? [] : [each.error]));
  return errors.at(-1) ?? null;
}

/** The machine counts attempts of a Ripple over all Runs; people count those of this one. */
function numberOf(attempt: AttemptView, all: readonly AttemptView[]): number {
  return all.filter((each) => each.ripple === attempt.ripple && each.number <= attempt.number).length;
}

function barsOf(attempt: AttemptView, number: number): Bar[] {
  if (attempt.executions.length === 0) {
    return [
      {
        key: `${attempt.ripple}/${attempt.number}`,
        label:
          attempt.job_run === null ? (
            attempt.ripple
          ) : (
            <Link page="run" params={{ run: attempt.job_run, kind: "job" }}>
              {attempt.ripple}
            </Link>
          ),
        title: `${attempt.ripple}: ${attempt.outcome ?? "open"}`,
        from: attempt.created_at,
        began: attempt.job_run === null ? null : attempt.created_at,
        ended: attempt.closed_at,
        state: attempt.outcome ?? "running",
        aside: attempt.outcome === "reused" ? "taken again" : undefined,
      },
    ];
  }
  return attempt.executions.map((each) => ({
    key: `${attempt.ripple}/${attempt.number}/${each.epoch}`,
    label: labelOf(attempt, number, each),
    title: `${attempt.ripple}, attempt ${number}, try ${each.epoch}: ${each.outcome ?? "open"}${each.process === null ? "" : ` in ${each.process}`}`,
    from: attempt.created_at,
    began: each.claimed_at,
    ended: each.completed_at,
    state: each.outcome ?? "running",
  }));
}

function labelOf(attempt: AttemptView, number: number, each: ExecutionView): string {
  const tries = [number > 1 ? `attempt ${number}` : "", each.epoch > 1 ? `try ${each.epoch}` : ""];
  return [attempt.ripple, ...tries.filter((text) => text !== "")].join(" · ");
}

export const run: Page = { id: "run", title: "Run", under: "runs", Component: Run };
