// Who changed what, when, and why.
import { useEffect, useState } from "react";
import { get, useGet } from "../api";
import { useWorld } from "../live";
import { Age, Empty, Loaded, PageHead, Panel, Tag } from "../parts/basics";
import { Filters, Find, fits, Only, Select } from "../parts/filters";
import { Link } from "../parts/link";
import { Word } from "../parts/word";
import { usePlace } from "../router";
import type { AuditLine, AuditView } from "../types";
import { momentText } from "../words";
import type { Page } from "./page";

const VERBS = [
  "tap",
  "pulse",
  "wave",
  "tide",
  "calm",
  "clear",
  "kill",
  "wake",
  "sleep",
  "pause",
  "resume",
  "force",
  "deploy",
  "job run",
  "job kill",
  "job resume",
  "token create",
  "token revoke",
];

function Audit() {
  const { params } = usePlace();
  const world = useWorld();
  const query = { verb: params.verb, target: params.target, limit: 100 };
  const found = useGet<AuditView>("audit", query, world.seq);
  return (
    <>
      <PageHead title={<Word of="audit">Audit</Word>} lead="Who did what, when, and why. Rows are only ever added." />
      <Panel>
        <Filters>
          <Find hint="a person, a Pond or a note" />
          <Select of="verb" label="Verb" none="any" options={VERBS} />
          <Only of="target">{params.target}</Only>
        </Filters>
        <Loaded from={found}>{(data) => <Lines first={data} />}</Loaded>
      </Panel>
    </>
  );
}

function Lines({ first }: { first: AuditView }) {
  const { params } = usePlace();
  const [more, setMore] = useState<AuditView | null>(null);
  useEffect(() => setMore(null), [params.verb, params.target]);
  const lines =
    more === null
      ? first.lines
      : [...first.lines, ...more.lines.filter((line) => !first.lines.some((each) => each.id === line.id))];
  const shown = lines.filter((line) => fits(params.find, line.who, line.verb, line.target, line.note));
  const last = lines.at(-1);
  const hasMore = more === null ? first.has_more : more.has_more;
  if (shown.length === 0) {
    return (
      <Empty title="Nobody did anything of this kind" commands={["pondage force POND --note 'why'"]}>
        Every trigger, verb, deploy and token leaves a row here.
      </Empty>
    );
  }
  const readOn = async () => {
    if (last === undefined) return;
    const next = await get<AuditView>("audit", {
      verb: params.verb,
      target: params.target,
      limit: 500,
      before: last.id,
    });
    setMore((before) => ({ ...next, lines: [...(before?.lines ?? []), ...next.lines] }));
  };
  return (
    <>
      <div className="scroll">
        <table>
          <thead>
            <tr>
              <th>When</th>
              <th>Who</th>
              <th>Did</th>
              <th>To</th>
              <th>Why</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((line) => (
              <Line key={line.id} line={line} />
            ))}
          </tbody>
        </table>
      </div>
      {hasMore ? (
        <button type="button" onClick={() => void readOn()}>
          Read older ones
        </button>
      ) : null}
    </>
  );
}

function Line({ line }: { line: AuditLine }) {
  const world = useWorld();
  const isPond = world.ponds.has(line.target);
  const run = world.runs.get(line.target);
  return (
    <tr>
      <td className="nowrap" title={momentText(line.at)}>
        <Age at={line.at} />
      </td>
      <td>{line.who === "" ? <span className="faint">by itself</span> : line.who}</td>
      <td>
        <Tag>{line.verb}</Tag>
        {line.refused ? <Tag>refused: {line.refused}</Tag> : null}
      </td>
      <td className="nowrap">
        {isPond ? (
          <Link page="node" params={{ pond: line.target }} className="pond-link">
            {line.target}
          </Link>
        ) : run !== undefined ? (
          <Link
            page={run.is_flow ? "flows" : "run"}
            params={run.is_flow ? { run: run.id } : { run: run.id, kind: "job" }}
          >
            {line.target}
          </Link>
        ) : (
          line.target
        )}
      </td>
      <td className="wrap">{line.note === "" ? <span className="faint">–</span> : line.note}</td>
    </tr>
  );
}

export const audit: Page = {
  id: "audit",
  title: "Audit",
  shortcut: "a",
  icon: "M6 4h9l4 4v12H6zM9 12h7M9 16h7M9 8h3",
  Component: Audit,
};
