// The tables of a Pond: columns and contract, expectations with their history, where the files are, and some rows.
import { useGet } from "../../api";
import { Empty, Facts, Loaded, Panel, StateChip } from "../../parts/basics";
import { Link } from "../../parts/link";
import { Word } from "../../parts/word";
import type { ChecksView, PondShow, PublishedView, RippleShow, RuleView } from "../../types";
import { countText, numberText, sizeText } from "../../words";
import { Partitions } from "./partitions";
import { SampleRows } from "./sample";

export function Tables({ show, ripple }: { show: PondShow; ripple: RippleShow }) {
  const checks = useGet<ChecksView>(
    "checks",
    { subject: `${show.key}.${ripple.name}`, most: 30 },
    show.current_run ?? "",
  );
  const published = ripple.published;
  return (
    <div className="stack">
      <div className="columns">
        <div className="stack">
          <Panel title={<Word of="contract">Columns</Word>} aside={`version ${show.version}`}>
            {published === null ? (
              <Empty title="Nothing is published yet" commands={[`pondage run ${show.name}`]}>
                The columns are known after the first Run.
              </Empty>
            ) : (
              <Columns published={published} major={show.key.split("@")[1] ?? ""} />
            )}
          </Panel>
          <Panel title={<Word of="expectation">Expectations</Word>}>
            <Loaded from={checks}>{(view) => <Rules rules={view.rules} name={show.name} />}</Loaded>
          </Panel>
        </div>
        <div className="stack">
          <Panel title="Where it is">
            <Facts
              facts={[
                ["In a query", <code key="q">{ripple.table}</code>],
                ["Rows", published === null ? null : numberText(published.rows)],
                ["Size", published === null ? null : sizeText(published.bytes)],
                ["Last Run", published?.upkeep?.said ?? null],
                ["Batches", published?.batches === null || published === null ? null : numberText(published.batches)],
                [
                  "Made by",
                  published === null ? null : (
                    <Link key="r" page="run" params={{ run: published.run }}>
                      {published.run}
                    </Link>
                  ),
                ],
                ["Snapshot", published === null ? null : <code key="s">{published.snapshot}</code>],
                ["Stable name", published === null ? null : <code key="n">{published.link ?? published.stable}</code>],
                ["Also as", ripple.formats.length === 0 ? null : ripple.formats.join(", ")],
                ["Fused into it", ripple.fused.length === 0 ? null : ripple.fused.join(", ")],
              ]}
            />
          </Panel>
        </div>
      </div>
      {ripple.partitions === null ? null : <Partitions found={ripple.partitions} at={show.at} />}
      <SampleRows table={ripple.table} isThere={published !== null} key={ripple.table} />
    </div>
  );
}

function Columns({ published, major }: { published: PublishedView; major: string }) {
  return (
    <>
      <div className="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Column</th>
              <th scope="col">Type</th>
              <th scope="col">May be empty</th>
            </tr>
          </thead>
          <tbody>
            {published.columns.map((column) => (
              <tr key={column.name}>
                <td className="mono">{column.name}</td>
                <td className="mono soft">{column.type}</td>
                <td className="soft">{column.nullable ? "yes" : "no"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="faint note">
        Readers of major {major} may rely on these: within it columns are only added, never taken away or changed.
      </p>
    </>
  );
}

function Rules({ rules, name }: { rules: readonly RuleView[]; name: string }) {
  if (rules.length === 0) {
    return (
      <p className="soft">
        None is declared. Rules such as <code>not_null(&quot;id&quot;)</code> are given to the Pond {name} with{" "}
        <code>expect=[…]</code>.
      </p>
    );
  }
  return (
    <ul className="rules">
      {rules.map((rule) => (
        <li key={rule.rule} className="rule">
          <div className="row">
            <StateChip state={rule.state} />
            <code>{rule.text}</code>
            {rule.trend === "better" || rule.trend === "worse" ? (
              <span className="faint">getting {rule.trend}</span>
            ) : null}
          </div>
          <div
            className="rule-past"
            role="img"
            aria-label={`kept in ${rule.kept} of ${countText(rule.outcomes.length, "Run")}`}
          >
            {[...rule.outcomes].reverse().map((outcome) => (
              <i
                key={`${outcome.run} ${outcome.at}`}
                className={outcome.is_set_aside ? "past-aside" : outcome.passed ? "past-kept" : "past-broken"}
                title={`Run #${outcome.number}: ${outcome.observed}`}
              />
            ))}
            <span className="faint">
              kept in {rule.kept} of {rule.outcomes.length}
            </span>
          </div>
        </li>
      ))}
    </ul>
  );
}
