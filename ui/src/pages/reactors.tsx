// Reactors: are they well, what has arrived, how fast do they fire, what went wrong; and their commands.
import { useState, type FormEvent } from "react";
import { post, Refusal, useGet, type Problem } from "../api";
import { may, useWorld } from "../live";
import { Action, quoted } from "../parts/action";
import { Age, Command, Empty, Facts, Loaded, PageHead, Panel, StateChip, Tag, Trouble } from "../parts/basics";
import { Link } from "../parts/link";
import { Word } from "../parts/word";
import { Histogram } from "./reactors/histogram";
import { useReactorState, type ReactorState, type SourceState } from "./reactors/watch";
import { usePlace } from "../router";
import type { HistoryLine, ReactorView, ReactorWhyView } from "../types";
import { countText, numberText } from "../words";
import type { Page } from "./page";

function Reactors() {
  const { reactors } = useWorld();
  const { params } = usePlace();
  const chosen = reactors.find((each) => each.name === params.reactor) ?? reactors[0];
  return (
    <>
      <PageHead
        title={<Word of="reactor">Reactors</Word>}
        lead="They fire as data arrives, without waiting for anybody to ask."
      />
      {chosen === undefined ? (
        <Panel>
          <Empty title="No reactor is deployed here" commands={["pondage reactor list", "pondage deploy"]}>
            Declare one with Reactor(…) and a graph; `docs/reactors.md` has an example.
          </Empty>
        </Panel>
      ) : (
        <div className="sided">
          <Panel title={countText(reactors.length, "reactor")} className="picker">
            <ul>
              {reactors.map((each) => (
                <li key={each.name}>
                  <Link params={{ reactor: each.name }} current={each === chosen} className="pick">
                    <strong>{each.name}</strong> <StateChip state={each.state} />{" "}
                    {each.stuck === null ? null : <Tag>stuck</Tag>}
                    <br />
                    <span className="faint">{each.sources.join(", ")}</span>
                  </Link>
                </li>
              ))}
            </ul>
          </Panel>
          <Reactor key={chosen.name} reactor={chosen} />
        </div>
      )}
    </>
  );
}

interface Letter {
  id: number | string;
  error: string;
  at: number | null;
  raw: string | null;
  inputs: Record<string, unknown>;
}

function Reactor({ reactor }: { reactor: ReactorView }) {
  const at = `reactors/${encodeURIComponent(reactor.name)}`;
  const state = useReactorState(reactor.name, reactor.is_owned);
  const known = state.data;
  const why = useGet<ReactorWhyView>(
    `why/${encodeURIComponent(reactor.name)}`,
    {},
    `${reactor.state}/${reactor.stuck ?? ""}/${known?.fires ?? 0}/${known?.hold ?? ""}`,
  );
  const dead = useGet<Letter[]>(reactor.is_owned ? `${at}/dead` : null, {}, known?.dead.length ?? 0);
  const history = useGet<HistoryLine[]>(
    `${at}/history`,
    { limit: 30 },
    `${reactor.epoch}/${reactor.state}/${known?.hold ?? ""}`,
  );
  return (
    <div className="stack">
      <Panel
        title={
          <>
            {reactor.name} <span className="faint">{reactor.version}</span>{" "}
            <StateChip state={known?.state ?? reactor.state} />
          </>
        }
        aside={<Commands at={at} name={reactor.name} state={known} onDone={state.reload} />}
      >
        {reactor.error === null ? null : <p className="trouble">{reactor.error}</p>}
        <Loaded from={why}>
          {(data) =>
            data.reasons.length === 0 ? (
              <p className="soft">It fires as soon as something arrives.</p>
            ) : (
              <ul className="reasons">
                {data.reasons.map((reason) => (
                  <li key={reason.gate + reason.text}>
                    <span>{reason.text}</span> {reason.hint === null ? null : <Command text={reason.hint} />}
                  </li>
                ))}
              </ul>
            )
          }
        </Loaded>
        <Facts
          facts={[
            [
              <Word key="fire" of="fire">
                Fires
              </Word>,
              known === null
                ? null
                : `${numberText(known.fires)}, ${numberText(known.ok)} well, ${numberText(known.bad)} badly`,
            ],
            ["Last fire", known?.last_fire ? <LastFire key="last" last={known.last_fire} /> : null],
            [
              <Word key="criteria" of="criteria">
                Fires when
              </Word>,
              reactor.criteria === "all" ? "every source has something new" : "any source has something new",
            ],
            [<Word key="strategy" of="strategy" />, reactor.strategy],
            ["Durable", reactor.durable],
            [
              "Graphs",
              reactor.graphs.join(", ") + (reactor.is_rebound ? " (of a later deploy, bound while it runs)" : ""),
            ],
            [<Word key="epoch" of="epoch" />, reactor.is_owned ? String(reactor.epoch) : null],
          ]}
        />
      </Panel>
      <Panel
        title={<Word of="accumulator">Sources</Word>}
        aside={known === null ? undefined : `${countText(depth(known), "item")} waiting`}
      >
        {known === null ? <p className="soft">No live host answers for it, so nobody knows. Start one:</p> : null}
        {known === null ? <Command text="pondage dev" /> : <Sources sources={known.sources} />}
        <PushForm at={at} name={reactor.name} sources={reactor.sources} onDone={state.reload} />
      </Panel>
      <div className="halves">
        <Panel title="How long fires take">
          {known?.latency === undefined ? (
            <p className="soft">Its host does not say.</p>
          ) : (
            <Histogram latency={known.latency} />
          )}
        </Panel>
        <Panel title={<Word of="deadLetter">Dead letters</Word>} aside={countText(dead.data?.length ?? 0, "letter")}>
          {dead.data === null || dead.data.length === 0 ? <p className="soft">None: every fire went through.</p> : null}
          <ul className="stack-small letters">
            {(dead.data ?? []).map((letter) => (
              <li key={letter.id}>
                <div className="row">
                  <strong>{typeof letter.id === "number" ? `fire ${letter.id}` : letter.id}</strong>{" "}
                  {letter.at === null ? null : <Age at={letter.at} />}
                  {letter.raw !== null && !/^(result|publication)@/.test(String(letter.id)) ? null : (
                    <Action
                      label="Send again"
                      path={`${at}/commands`}
                      body={{ command: "redrive", arg: letter.id }}
                      level="operate"
                      twin={`pondage reactor redrive ${reactor.name} ${letter.id}`}
                      onDone={() => {
                        state.reload();
                        dead.reload();
                      }}
                    />
                  )}
                </div>
                <p className="failed-text">{letter.error}</p>
                <pre className="value">{letter.raw ?? JSON.stringify(letter.inputs, null, 1)}</pre>
              </li>
            ))}
          </ul>
        </Panel>
      </div>
      <Panel title="What happened to it">
        <Loaded from={history}>
          {(lines) =>
            lines.length === 0 ? (
              <p className="soft">Nothing out of the ordinary: no recovery, no hold, no start that failed.</p>
            ) : (
              <ul className="lines">
                {lines.toReversed().map((line, position) => (
                  <li key={position} className="line">
                    <span className="line-text">{line.text}</span>
                    <span className="line-end">
                      <Age at={line.at} />
                    </span>
                  </li>
                ))}
              </ul>
            )
          }
        </Loaded>
      </Panel>
    </div>
  );
}

function depth(state: ReactorState): number {
  return Object.values(state.sources).reduce((sum, source) => sum + source.queued + source.buffered + source.parked, 0);
}

function LastFire({ last: [id, attempt, outcome, at] }: { last: [number, number, string, number] }) {
  return (
    <>
      {id}
      {attempt > 1 ? `, attempt ${attempt}` : ""}: {outcome}, <Age at={at} />
    </>
  );
}

function Commands({
  at,
  name,
  state,
  onDone,
}: {
  at: string;
  name: string;
  state: ReactorState | null;
  onDone: () => void;
}) {
  if (state === null) return null;
  const isHeld = state.hold !== null;
  const hasFailed =
    state.state === "Failed" || Object.values(state.sources).some((source) => source.health === "Failed");
  const shared = { path: `${at}/commands`, level: "operate", onDone } as const;
  return (
    <div className="row">
      <Action label="Fire now" body={{ command: "force_fire" }} twin={`pondage reactor fire ${name}`} {...shared} />
      {isHeld ? (
        <Action label="Resume" body={{ command: "resume" }} twin={`pondage reactor resume ${name}`} {...shared} />
      ) : (
        <Action label="Pause" body={{ command: "pause" }} twin={`pondage reactor pause ${name}`} hasNote {...shared} />
      )}
      {hasFailed ? (
        <Action label="Revive" body={{ command: "revive" }} twin={`pondage reactor revive ${name}`} {...shared} />
      ) : null}
    </div>
  );
}

function Sources({ sources }: { sources: Readonly<Record<string, SourceState>> }) {
  return (
    <div className="scroll">
      <table>
        <thead>
          <tr>
            <th>Source</th>
            <th>
              <Word of="health" />
            </th>
            <th>
              <Word of="dirty">News</Word>
            </th>
            <th className="right">Waiting</th>
            <th className="right">Seen</th>
            <th className="right">Taken</th>
            <th className="right">Refused</th>
            <th>Newest value</th>
          </tr>
        </thead>
        <tbody>
          {Object.entries(sources).map(([name, source]) => (
            <tr key={name}>
              <td>
                <strong>{name}</strong>
              </td>
              <td>
                <StateChip state={source.health} />
              </td>
              <td>{source.dirty ? <Tag>new</Tag> : <span className="faint">none</span>}</td>
              <td className="right number">{numberText(source.queued + source.buffered + source.parked)}</td>
              <td className="right number">{numberText(source.seen)}</td>
              <td className="right number">{numberText(source.consumed)}</td>
              <td className="right number">{numberText(source.rejected + source.dropped)}</td>
              <td className="clip">
                <code>{source.value === null ? "–" : JSON.stringify(source.value)}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface Pushed {
  accepted: boolean;
  seq?: number;
  error?: string;
  path?: string;
}

function PushForm({
  at,
  name,
  sources,
  onDone,
}: {
  at: string;
  name: string;
  sources: readonly string[];
  onDone: () => void;
}) {
  const [source, setSource] = useState(sources[0] ?? "");
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [answer, setAnswer] = useState<Pushed | null>(null);
  if (!may("demand") || sources.length === 0) return null;
  const send = (event: FormEvent) => {
    event.preventDefault();
    setAnswer(null);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      setProblem({
        code: "NOT_JSON",
        message: `This is no JSON: ${error instanceof Error ? error.message : ""}`,
        place: null,
        hint: null,
      });
      return;
    }
    setProblem(null);
    post<Pushed>(`${at}/sources/${encodeURIComponent(source)}`, { value })
      .then((said) => {
        setAnswer(said);
        onDone();
      })
      .catch((error: unknown) => {
        if (!(error instanceof Refusal)) return;
        const said = error.content as Partial<Pushed> | null;
        if (said?.accepted === false) setAnswer(said as Pushed);
        else setProblem(error.problem);
      });
  };
  return (
    <form className="push" onSubmit={send}>
      <label>
        <span>Push to</span>
        <select value={source} onChange={(event) => setSource(event.target.value)}>
          {sources.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <label className="grow">
        <span>a value, as JSON</span>
        <input value={text} onChange={(event) => setText(event.target.value)} placeholder='{"number": 7}' />
      </label>
      <button type="submit" disabled={text.trim() === ""}>
        Push
      </button>
      {text.trim() === "" ? null : <Command text={`pondage reactor push ${name} ${source} ${quoted(text)}`} />}
      {answer === null ? null : answer.accepted ? (
        <span className="soft" role="status">
          Accepted{answer.seq === undefined ? "" : ` as number ${answer.seq}`}: it is durable.
        </span>
      ) : (
        <span className="failed-text" role="status">
          Refused: {answer.error} {answer.path ?? ""}
        </span>
      )}
      {problem === null ? null : <Trouble problem={problem} />}
    </form>
  );
}

export const reactors: Page = {
  id: "reactors",
  title: "Reactors",
  shortcut: "e",
  icon: "M13 3 5 14h6l-1 7 8-11h-6z",
  Component: Reactors,
};
