import { Facts, Panel } from "../../parts/basics";
import { Word } from "../../parts/word";
import type { PondShow, RippleShow } from "../../types";

/** The function or the SQL of a Ripple as it is deployed. */
export function Code({ show, ripple }: { show: PondShow; ripple: RippleShow }) {
  return (
    <div className="columns columns-code">
      <Panel
        title={ripple.kind === "sql" ? "SQL" : "Code"}
        aside={show.place === "" ? undefined : <code>{show.place}</code>}
      >
        {ripple.source === "" ? (
          <p className="soft">Its text was not stored with the deploy.</p>
        ) : (
          <pre className="code" tabIndex={0}>
            <code>{ripple.source}</code>
          </pre>
        )}
      </Panel>
      <Panel title="This version">
        <Facts
          facts={[
            ["Version", show.version],
            ["Reads", ripple.reads.length === 0 ? "nothing: it brings data in" : ripple.reads.join(", ")],
            ["Entry", <code key="e">{show.entry}</code>],
            ["Project", show.project],
            ["Digest", <code key="d">{ripple.digest.slice(0, 16)}</code>],
            ["Archive", show.archive === "" ? null : <code key="a">{show.archive.slice(0, 16)}</code>],
            ["Mode", show.mode],
            ["Timeout", ripple.timeout_s === null ? null : `${ripple.timeout_s} s`],
            [<Word key="p" of="pool" />, show.pool],
            ["Labels", show.labels.join(", ")],
            ["Retries", `${show.retries_immediately} at once, ${show.retries_on_change} when a Source moves on`],
          ]}
        />
        <p className="faint note">
          The digest covers the code and everything of the project that it uses: when it is the same and the inputs are,
          nothing is computed again.
        </p>
      </Panel>
    </div>
  );
}
