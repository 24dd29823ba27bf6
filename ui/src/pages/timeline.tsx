// Everything on one line of time: Runs, runs of jobs, acts of people, what comes; and a simulation beside it.
import { useMemo } from "react";
import { useGet } from "../api";
import { useNow } from "../clock";
import { useWorld } from "../live";
import { Choice, Empty, Loaded, PageHead, Panel } from "../parts/basics";
import { Filters, Find, Select } from "../parts/filters";
import { Link, PondLink } from "../parts/link";
import { Word } from "../parts/word";
import { change, usePlace } from "../router";
import { marksOf } from "../parts/scale";
import { compared, lanesOf, type Lane } from "./timeline/lanes";
import type { SavedSimulation, SavedSimulations, SavedSpan, Span, TimelineView } from "../types";
import { clockText, countText, durationText, momentText, shortName } from "../words";
import type { Page } from "./page";

const HOUR = 3_600_000_000;
const RANGES = ["1", "6", "24", "168"] as const;
type Range = (typeof RANGES)[number];
const RANGE_TEXT: Record<Range, string> = { "1": "1 h", "6": "6 h", "24": "24 h", "168": "7 d" };
const MOST_LANES = 250;

function Timeline() {
  const { params } = usePlace();
  const world = useWorld();
  const now = useNow();
  const range: Range = RANGES.find((each) => each === params.hours) ?? "6";
  const length = Number(range) * HOUR;
  const chosen = Number(params.until ?? 0);
  const isNow = chosen === 0;
  // Read anew once for each thirtieth of what is shown, and when something began or ended.
  const step = length / 30;
  const until = isNow ? Math.ceil(now / step) * step : chosen;
  const since = until - length;
  const version = [...world.ponds.values()].reduce(
    (sum, pond) => sum + pond.runs + (pond.last_run?.ended_at ?? 0) / 1e6 + pond.active.length,
    0,
  );
  const found = useGet<TimelineView>("timeline", { since, until: isNow ? null : until }, version + world.runs.size);
  const saved = useGet<SavedSimulations>("simulations");
  const simulation = useGet<SavedSimulation>(
    params.simulation === undefined ? null : `simulations/${encodeURIComponent(params.simulation)}`,
  );
  const planned = simulation.data?.spans ?? [];
  const names = saved.data?.simulations ?? [];
  return (
    <>
      <PageHead
        title="Timeline"
        lead={`${momentText(since)} to ${isNow ? "now" : momentText(until)}. A bar is a Run; a mark is somebody’s act.`}
      >
        <div className="row">
          <button type="button" onClick={() => change({ until: String(until - length / 2) })} aria-label="Earlier">
            ←
          </button>
          <button
            type="button"
            disabled={isNow}
            onClick={() => change({ until: until + length / 2 >= now ? null : String(until + length / 2) })}
            aria-label="Later"
          >
            →
          </button>
          <button type="button" disabled={isNow} onClick={() => change({ until: null })}>
            Now
          </button>
          <Choice
            label="How long"
            value={range}
            options={RANGES.map((each) => [each, RANGE_TEXT[each]] as const)}
            onChange={(hours) => change({ hours })}
          />
        </div>
      </PageHead>
      <Panel>
        <Filters>
          <Find hint="a Pond or a job" />
          <Select
            of="simulation"
            label="Beside it"
            none="no simulation"
            options={names.map((each) => [each.id, each.name] as const)}
          />
          <Legend hasSimulation={planned.length > 0} />
        </Filters>
        <Loaded from={found}>
          {(data) => (
            <Lanes
              data={data}
              planned={planned}
              since={since}
              until={until}
              now={now}
              isNow={isNow}
              find={params.find ?? ""}
            />
          )}
        </Loaded>
      </Panel>
    </>
  );
}

function Legend({ hasSimulation }: { hasSimulation: boolean }) {
  return (
    <span className="timeline-legend" aria-hidden="true">
      <i className="bar-completed" /> done <i className="bar-running" /> runs <i className="bar-failed" /> failed
      {hasSimulation ? (
        <>
          <i className="bar-planned" /> simulated
        </>
      ) : null}
    </span>
  );
}

interface LanesProps {
  data: TimelineView;
  planned: readonly SavedSpan[];
  since: number;
  until: number;
  now: number;
  isNow: boolean;
  find: string;
}

function Lanes({ data, planned, since, until, now, isNow, find }: LanesProps) {
  const lanes = useMemo(() => lanesOf(data, planned, find), [data, planned, find]);
  // A little of the future, so that what comes next has a place.
  const end = isNow ? Math.max(until, now) + (until - since) * 0.06 : until;
  const place = (at: number): string => `${(100 * (at - since)) / (end - since)}%`;
  if (lanes.length === 0) {
    return (
      <Empty title="Nothing ran in this time" commands={["pondage status", "pondage runs"]}>
        Look at a longer time, or ask for something.
      </Empty>
    );
  }
  const difference = planned.length === 0 ? null : compared(data, planned, since, Math.min(until, now));
  return (
    <div className="timeline">
      {difference === null ? null : (
        <p className="soft">
          In this time {countText(difference.real, "Run")} began; the simulation has{" "}
          {countText(difference.planned, "Run")} here.
        </p>
      )}
      <div className="timeline-row timeline-scale" aria-hidden="true">
        <span />
        <div className="timeline-track">
          {marksOf(since, end).map((at) => (
            <span key={at} className="gantt-mark" style={{ left: place(at) }}>
              {until - since > 24 * HOUR ? momentText(at).slice(5, 16) : clockText(at).slice(0, 5)}
            </span>
          ))}
        </div>
      </div>
      <div className="timeline-row">
        <span className="timeline-name faint">acts of people</span>
        <div className="timeline-track">
          {data.moments.map((moment, position) => (
            <i
              key={position}
              className={`moment moment-${moment.kind.split(" ")[0]}`}
              style={{ left: place(moment.at) }}
              title={`${moment.kind} ${moment.text}\n${momentText(moment.at)}`}
            />
          ))}
          <Now at={now} place={place} isShown={isNow} />
        </div>
      </div>
      {lanes.slice(0, MOST_LANES).map((lane) => (
        <LaneRow
          key={`${lane.kind} ${lane.name}`}
          lane={lane}
          place={place}
          since={since}
          end={end}
          now={now}
          isNow={isNow}
        />
      ))}
      {lanes.length > MOST_LANES ? (
        <p className="faint">{lanes.length - MOST_LANES} more; narrow them by name.</p>
      ) : null}
      {data.has_more ? <p className="faint">There was too much to show all of it: the oldest is left out.</p> : null}
    </div>
  );
}

function Now({ at, place, isShown }: { at: number; place: (at: number) => string; isShown: boolean }) {
  return isShown ? <i className="now-line" style={{ left: place(at) }} title="now" /> : null;
}

interface LaneProps {
  lane: Lane;
  place: (at: number) => string;
  since: number;
  end: number;
  now: number;
  isNow: boolean;
}

function LaneRow({ lane, place, since, end, now, isNow }: LaneProps) {
  const width = (from: number, to: number): string =>
    `max(3px, ${(100 * (to - Math.max(from, since))) / (end - since)}%)`;
  return (
    <div className={`timeline-row ${lane.planned.length > 0 ? "has-planned" : ""}`}>
      <span className="timeline-name">
        {lane.kind === "pond" ? (
          <PondLink pond={lane.name} />
        ) : (
          <span>
            <Word of="job">{lane.name}</Word>
          </span>
        )}
      </span>
      <div className="timeline-track">
        {lane.planned.map((span, position) =>
          span.end < since || span.start > end ? null : (
            <i
              key={position}
              className="bar bar-planned"
              style={{ left: place(Math.max(span.start, since)), width: width(span.start, span.end) }}
              title="simulated"
            />
          ),
        )}
        {lane.spans.map((span) => (
          <Link
            key={span.id}
            page="run"
            params={span.kind === "job" ? { run: span.id, kind: "job" } : { run: span.id }}
            className={`bar bar-${span.state.toLowerCase()}`}
            title={titleOf(span, now)}
            style={{
              left: place(Math.max(span.start, since)),
              width: width(span.start, Math.max(span.end ?? now, span.start)),
            }}
          >
            <span className="unseen">{titleOf(span, now)}</span>
          </Link>
        ))}
        {lane.coming
          .filter((at) => at < end)
          .map((at) => (
            <i key={at} className="coming" style={{ left: place(at) }} title={`its schedule, ${momentText(at)}`} />
          ))}
        <Now at={now} place={place} isShown={isNow} />
      </div>
    </div>
  );
}

function titleOf(span: Span, now: number): string {
  const number = span.number === undefined || span.number === null ? "" : ` #${span.number}`;
  const took =
    span.end === null ? `since ${durationText(Math.max(0, now - span.start))}` : durationText(span.end - span.start);
  return `${shortName(span.lane)}${number} ${span.state.toLowerCase()}, ${took}, ${clockText(span.start)}`;
}

export const timeline: Page = {
  id: "timeline",
  title: "Timeline",
  shortcut: "t",
  icon: "M4 6h9M7 12h10M4 18h6M18 3v18",
  Component: Timeline,
};
