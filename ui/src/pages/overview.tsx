// What people open every morning: what is wrong and why, what runs, what comes next, what was not needed.
import { useMemo, type ReactNode } from "react";
import { useGet } from "../api";
import { useNow } from "../clock";
import { useWorld } from "../live";
import { avoidedOf } from "./overview/avoided";
import { causesOf, nextOf, runningOf, type Cause } from "./overview/causes";
import { Age, Command, Elapsed, Empty, PageHead, Panel, StateChip } from "../parts/basics";
import { Link, PondLink } from "../parts/link";
import { Word } from "../parts/word";
import type { PondView, ProcessView, RhythmView } from "../types";
import { countText, durationText, listText, machineText, momentText, numberText, shortName } from "../words";
import type { Page } from "./page";

const MOST = 8;

function Overview() {
  const world = useWorld();
  const now = useNow();
  const minute = Math.floor(now / 60_000_000);
  const causes = useMemo(() => causesOf(world, minute * 60_000_000), [world, minute]);
  const running = useMemo(() => runningOf(world), [world]);
  const due = useMemo(() => nextOf(world), [world]);
  if (world.ponds.size === 0 && world.reactors.length === 0) return <NothingDeployed />;
  const blocked = [...world.ponds.values()].filter((pond) => pond.state === "blocked").length;
  const isBroken = causes.some((cause) => cause.kind !== "stale");
  return (
    <div className="overview">
      <PageHead
        title={isBroken ? "Something needs you" : causes.length > 0 ? "Some data is late" : "All is well"}
        lead={summary(world.ponds.size, causes, blocked, running.length)}
      />
      <div className="tiles">
        <Tile
          value={causes.length}
          label="need attention"
          tone={isBroken ? "failed" : causes.length > 0 ? "queued" : ""}
        />
        <Tile value={blocked} label={<Word of="blocked">blocked</Word>} tone={blocked > 0 ? "blocked" : ""} />
        <Tile
          value={running.length}
          label={<Word of="running">running now</Word>}
          tone={running.length > 0 ? "running" : ""}
        />
        <Tile
          value={due.filter((each) => each.pond.state === "queued").length}
          label={<Word of="queued">queued</Word>}
        />
        <Avoided />
      </div>
      <div className="columns">
        <div className="stack">
          <Panel title="What is wrong" aside={causes.length > 0 ? "by root cause" : undefined}>
            {causes.length === 0 ? (
              <p className="soft calm-line">Nothing failed, nothing is blocked, and no Tide is late.</p>
            ) : (
              <ul className="causes">
                {causes.slice(0, MOST * 2).map((cause) => (
                  <CauseLine key={cause.name} cause={cause} />
                ))}
              </ul>
            )}
          </Panel>
          <Panel title="Running now">
            {running.length === 0 ? (
              <p className="soft calm-line">No Run is under way.</p>
            ) : (
              <ul className="lines">
                {running.slice(0, MOST).map((pond) => (
                  <RunningLine key={pond.key} pond={pond} />
                ))}
              </ul>
            )}
          </Panel>
        </div>
        <div className="stack">
          <Panel title="What comes next">
            {due.length === 0 ? (
              <div className="calm-line soft stack-small">
                <p>Nobody asks for anything, and no trigger stands.</p>
                <Command text={`pondage pulse ${shortName([...world.ponds.keys()].at(-1) ?? "POND")}`} />
              </div>
            ) : (
              <ul className="lines">
                {due.slice(0, MOST).map((each) => (
                  <li key={each.pond.key} className="line">
                    <PondLink pond={each.pond.key} />
                    <span className="line-text">{each.text}</span>
                    <span className="line-end">
                      {each.at === null ? <StateChip state={each.pond.state} /> : <Age at={each.at} />}
                    </span>
                  </li>
                ))}
              </ul>
            )}
          </Panel>
          <Processes processes={world.processes} />
        </div>
      </div>
    </div>
  );
}

function summary(ponds: number, causes: readonly Cause[], blocked: number, running: number): ReactNode {
  const parts = [`${countText(ponds, "Pond")}`];
  if (causes.length > 0) parts.push(`${countText(causes.length, "root cause")} of trouble`);
  if (blocked > 0) parts.push(`${numberText(blocked)} blocked`);
  parts.push(running === 0 ? "nothing runs at the moment" : `${numberText(running)} running`);
  return `${listText(parts)}.`;
}

function Tile({ value, label, tone = "" }: { value: ReactNode; label: ReactNode; tone?: string }) {
  return (
    <div className={`tile ${tone === "" ? "" : `tile-${tone}`}`}>
      <span className="tile-value number">{typeof value === "number" ? numberText(value) : value}</span>
      <span className="tile-label">{label}</span>
    </div>
  );
}

/** Runs of today beside those that a fixed schedule would have made. */
function Avoided() {
  const world = useWorld();
  const midnight = new Date();
  midnight.setHours(0, 0, 0, 0);
  const ended = [...world.ponds.values()].reduce((sum, pond) => sum + (pond.last_run?.number ?? 0), 0);
  const { data } = useGet<RhythmView>(
    world.ponds.size > 0 ? "rhythm" : null,
    { since: midnight.getTime() * 1000 },
    ended,
  );
  if (data === null) return <Tile value="–" label="Runs today" />;
  const told = avoidedOf(data);
  const label = told.value === null ? "Runs made today" : "Runs avoided today";
  return (
    <div className="tile" tabIndex={0} data-tip={told.text} data-title={label} aria-label={`${label}: ${told.text}`}>
      <span className="tile-value number">{told.value ?? numberText(told.made)}</span>
      <span className="tile-label">
        <span className="word">{label}</span>
      </span>
      <span className="tile-label faint">
        {told.value === null
          ? "compared with no schedule"
          : `${numberText(told.made)} made · cron ${(data.schedule ?? "").replace(/ \(.*/, "")}`}
      </span>
    </div>
  );
}

function CauseLine({ cause }: { cause: Cause }) {
  return (
    <li className="cause">
      <div className="cause-head">
        <StateChip state={cause.kind === "reactor" ? (cause.reactor?.state ?? "failed") : cause.kind} />
        {cause.reactor !== null ? (
          <Link page="reactors" params={{ reactor: cause.name }} className="pond-link">
            {cause.name}
          </Link>
        ) : (
          <PondLink pond={cause.name} />
        )}
        {cause.pond?.last_run !== null && cause.pond !== null && cause.kind === "failed" ? (
          <span className="faint">
            <Age at={cause.pond.last_run.ended_at} />
          </span>
        ) : null}
      </div>
      <p className="cause-text">{reason(cause)}</p>
      {cause.blocks.length > 0 ? (
        <p className="cause-blocks">
          <Word of="blocked">blocks</Word>{" "}
          {cause.blocks.slice(0, 6).map((key, position) => (
            <span key={key}>
              {position > 0 ? ", " : ""}
              <PondLink pond={key} />
            </span>
          ))}
          {cause.blocks.length > 6 ? ` and ${cause.blocks.length - 6} more` : ""}
        </p>
      ) : null}
    </li>
  );
}

function reason(cause: Cause): ReactNode {
  const { pond, reactor } = cause;
  switch (cause.kind) {
    case "halted":
      return `Pondage met an error of its own: ${pond?.halted ?? ""}. Nothing is lost.`;
    case "failed":
      return pond?.last_run?.error?.message ?? "Its last Run failed.";
    case "killed":
      return "Somebody stopped it. It stays so until it is cleared.";
    case "missing":
      return "It is read by others, and is not deployed.";
    case "reactor":
      if (reactor?.error != null) return reactor.error;
      return reactor?.stuck == null
        ? `It is ${(reactor?.state ?? "").toLowerCase()}.`
        : `${reactor.stuck} does not go on since ${momentText(reactor.stuck_at ?? 0)}.`;
    case "stale": {
      const limit = Math.min(...(pond?.triggers ?? []).flatMap((trigger) => trigger.limit_us ?? []));
      return `It is older than its Tide of ${durationText(limit)} allows.`;
    }
  }
}

function RunningLine({ pond }: { pond: PondView }) {
  const run = pond.active.find((each) => each.ripples.some((ripple) => ripple.state === "running")) ?? pond.active[0];
  if (run === undefined) return null;
  const done = run.ripples.filter((ripple) => ripple.state === "done" || ripple.state === "reused").length;
  const at = run.ripples.filter((ripple) => ripple.state === "running").map((ripple) => ripple.name);
  return (
    <li className="line">
      <PondLink pond={pond.key} />
      <span className="line-text">
        <Link page="run" params={{ run: run.id }} className="number">
          #{run.number}
        </Link>{" "}
        at {listText(at)}
        {pond.active.length > 1 ? ` · ${pond.active.length} Runs at once` : ""}
      </span>
      <span className="line-end">
        {run.ripples.length > 1 ? (
          <span className="faint">
            {done} of {run.ripples.length} done ·{" "}
          </span>
        ) : null}
        <Elapsed since={run.started_at} />
      </span>
    </li>
  );
}

function Processes({ processes }: { processes: readonly ProcessView[] }) {
  const heard = processes.filter((each) => !each.is_silent);
  const slots = heard.reduce((sum, each) => sum + each.slots, 0);
  const busy = heard.reduce((sum, each) => sum + each.busy, 0);
  return (
    <Panel
      title={<Word of="process">Processes</Word>}
      aside={slots > 0 ? `${busy} of ${countText(slots, "slot")} taken` : undefined}
    >
      {processes.length === 0 ? (
        <div className="calm-line soft stack-small">
          <p>No process runs, so nothing is executed.</p>
          <Command text="pondage dev" />
        </div>
      ) : (
        <ul className="lines">
          {processes.slice(0, MOST).map((each) => (
            <li key={each.id} className="line">
              <strong>{each.role}</strong>
              <span className="line-text" title={each.machine}>
                {machineText(each.machine)} <span className="faint">pid {each.pid}</span>
              </span>
              <span className="line-end">
                {each.is_silent ? "silent" : each.slots > 0 ? `${each.busy} of ${each.slots} busy` : each.state}
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function NothingDeployed() {
  const { environment } = useWorld();
  return (
    <Panel>
      <Empty
        title={`Nothing is deployed in ${environment || "this environment"} yet`}
        commands={["pondage init my-pipeline", "pondage deploy"]}
      >
        A Pond is a Python function that makes a table. Make a project, then deploy it; this page shows it at once.
      </Empty>
    </Panel>
  );
}

export const overview: Page = {
  id: "overview",
  title: "Overview",
  shortcut: "o",
  icon: "M4 13h7V4H4zM13 20h7v-9h-7zM4 20h7v-5H4zM13 9h7V4h-7z",
  Component: Overview,
};
