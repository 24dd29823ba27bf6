// One Pond: why it runs or does not, how it did, what one may tell it, and everything about its tables and its code.
import { useGet } from "../api";
import { pondOf } from "../feed";
import { useWorld } from "../live";
import { Act } from "./node/act";
import { Bars, Sawtooth, type Measure } from "./node/charts";
import { Code } from "./node/code";
import { Lineage } from "./node/lineage";
import { Tables } from "./node/tables";
import { Ties } from "./node/ties";
import { TriggersPanel } from "./node/triggers";
import { Why } from "./node/why";
import {
  Choice,
  Elapsed,
  Empty,
  Facts,
  Fresh,
  Loaded,
  PageHead,
  Panel,
  StateChip,
  Tag,
  Trouble,
} from "../parts/basics";
import { Link } from "../parts/link";
import { Word } from "../parts/word";
import { change, usePlace } from "../router";
import type { PondShow, PondView, TrendView } from "../types";
import { countText, durationText, numberText } from "../words";
import type { Page } from "./page";
import { PondList } from "./node/list";

type Tab = "now" | "tables" | "code" | "lineage";
const TABS: readonly (readonly [Tab, string])[] = [
  ["now", "Now"],
  ["tables", "Tables"],
  ["code", "Code"],
  ["lineage", "Lineage"],
];

function NodePage() {
  const { params } = usePlace();
  const world = useWorld();
  if (params.pond === undefined) return <PondList />;
  const pond = pondOf(world, params.pond);
  if (pond === undefined) {
    return (
      <Panel>
        <Empty title={`There is no Pond “${params.pond}” in ${world.environment}`} commands={["pondage status"]}>
          It may have been removed, or is in another environment. <Link page="node">All Ponds</Link> are listed.
        </Empty>
      </Panel>
    );
  }
  return <PondPage pond={pond} key={pond.key} />;
}

function PondPage({ pond }: { pond: PondView }) {
  const { params } = usePlace();
  const tab = TABS.find(([each]) => each === params.tab)?.[0] ?? "now";
  const show = useGet<PondShow>(
    `show/${encodeURIComponent(pond.key)}`,
    {},
    `${pond.version} ${pond.last_run?.id ?? ""} ${pond.last_run?.state ?? ""}`,
  );
  return (
    <div className="node-page">
      <PageHead
        title={
          <span className="row">
            {pond.key} <StateChip state={pond.state} />
          </span>
        }
        lead={show.data?.description || undefined}
      >
        <Link page="canvas" params={{ pond: pond.key }} className="button-link">
          On the canvas
        </Link>
        <Link page="runs" params={{ pond: pond.name }} className="button-link">
          Its Runs
        </Link>
      </PageHead>
      <Choice
        label="Part"
        value={tab}
        options={TABS}
        onChange={(next) => change({ tab: next === "now" ? null : next, do: null })}
      />
      <div className="tab">
        <Loaded from={show}>
          {(shown) => (tab === "now" ? <Now pond={pond} show={shown} /> : <OfRipple show={shown} tab={tab} />)}
        </Loaded>
      </div>
    </div>
  );
}

function Now({ pond, show }: { pond: PondView; show: PondShow }) {
  const { params } = usePlace();
  const trend = useGet<TrendView>(
    `ponds/${encodeURIComponent(pond.key)}/trend`,
    { limit: 60 },
    `${pond.runs} ${pond.last_run?.id ?? ""}`,
  );
  const measure: Measure = params.measure === "bytes" || params.measure === "time" ? params.measure : "rows";
  const outlet =
    show.ripples.find((each) => each.name === params.ripple) ?? show.ripples.find((each) => each.is_outlet);
  const error = pond.state === "failed" ? pond.last_run?.error : null;
  return (
    <div className="columns">
      <div className="stack">
        <Why pond={pond} />
        {error == null ? null : (
          <Trouble
            title={`Run #${pond.last_run?.number} failed`}
            problem={{ code: error.code, message: error.message, place: error.place, hint: null }}
          />
        )}
        <Panel title={<Word of="staleness">Staleness</Word>} aside={<Staleness pond={pond} />}>
          <Loaded from={trend}>{(view) => <Sawtooth points={view.points} pond={pond} />}</Loaded>
        </Panel>
        <Panel
          title={`Its last Runs${show.ripples.length > 1 && measure !== "time" ? `: ${outlet?.name ?? ""}` : ""}`}
          aside={
            <Choice
              label="Measure"
              value={measure}
              options={[
                ["rows", "Rows"],
                ["bytes", "Bytes"],
                ["time", "Time"],
              ]}
              onChange={(next) => change({ measure: next === "rows" ? null : next }, { replace: true })}
            />
          }
        >
          <Loaded from={trend}>
            {(view) => <Bars points={view.points} ripple={outlet?.name ?? ""} measure={measure} />}
          </Loaded>
        </Panel>
      </div>
      <div className="stack">
        <Act pond={pond} />
        <ActiveRuns pond={pond} />
        <TriggersPanel pond={pond} />
        <Ties show={show} />
        <Panel title="About it">
          <Facts
            facts={[
              ["Owner", show.owner],
              [
                "Tags",
                show.tags.length === 0 ? null : (
                  <span key="t" className="row">
                    {show.tags.map((tag) => (
                      <Tag key={tag}>{tag}</Tag>
                    ))}
                  </span>
                ),
              ],
              ["Version", show.version],
              ["Project", show.project],
              ["Declared in", show.place === "" ? null : <code key="p">{show.place}</code>],
              [
                <Word key="w" of="window">
                  Windows
                </Word>,
                show.windows.join(", "),
              ],
              [<Word key="f" of="freshness" />, <Fresh key="a" at={pond.freshness} />],
              [<Word key="d" of="delay" />, pond.delay === null ? null : durationText(pond.delay)],
              ["Read from", show.read_from],
            ]}
          />
        </Panel>
      </div>
    </div>
  );
}

function Staleness({ pond }: { pond: PondView }) {
  if (pond.freshness === null) return <>no data yet</>;
  return (
    <>
      now <Elapsed since={pond.freshness - (pond.delay ?? 0)} />
    </>
  );
}

function ActiveRuns({ pond }: { pond: PondView }) {
  if (pond.active.length === 0) return null;
  return (
    <Panel title="Open Runs">
      <ul className="open-runs">
        {pond.active.map((run) => (
          <li key={run.id}>
            <p className="row">
              <Link page="run" params={{ run: run.id }} className="pond-link">
                #{run.number}
              </Link>
              <span className="soft">
                for <Elapsed since={run.started_at} />
              </span>
            </p>
            <ul className="open-ripples">
              {run.ripples.map((ripple) => (
                <li key={ripple.name} className="row">
                  <StateChip state={ripple.state} /> {ripple.name}
                  {ripple.progress !== null && ripple.progress.tasks_all > 0 ? (
                    <span className="faint number">
                      {numberText(ripple.progress.tasks_done)} of {countText(ripple.progress.tasks_all, "task")}
                    </span>
                  ) : null}
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function OfRipple({ show, tab }: { show: PondShow; tab: Tab }) {
  const { params } = usePlace();
  const ripple =
    show.ripples.find((each) => each.name === params.ripple) ??
    show.ripples.find((each) => each.is_outlet) ??
    show.ripples[0];
  if (ripple === undefined) return <Empty title="It has no Ripple of its own" />;
  return (
    <div className="stack">
      {show.ripples.length > 1 ? (
        <div className="row">
          <Word of="ripple" />
          <Choice
            label="Ripple"
            value={ripple.name}
            options={show.ripples.map((each) => [each.name, each.name] as const)}
            onChange={(name) => change({ ripple: name })}
          />
        </div>
      ) : null}
      {tab === "tables" ? (
        <Tables show={show} ripple={ripple} />
      ) : tab === "code" ? (
        <Code show={show} ripple={ripple} />
      ) : (
        <Lineage show={show} ripple={ripple} />
      )}
    </div>
  );
}

export const node: Page = {
  id: "node",
  title: "Ponds",
  shortcut: "n",
  icon: "M3 9c3 0 3 2 6 2s3-2 6-2 3 2 6 2M3 15c3 0 3 2 6 2s3-2 6-2 3 2 6 2",
  Component: NodePage,
};
