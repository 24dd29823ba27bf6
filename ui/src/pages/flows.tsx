// Flows: trees that users build as data; write one, check it, run it, fetch what it gives.
import { useGet } from "../api";
import { Flow } from "./flows/detail";
import { Builder } from "./flows/builder";
import { useWorld } from "../live";
import { Age, Loaded, PageHead, Panel, StateChip } from "../parts/basics";
import { Link } from "../parts/link";
import { Word } from "../parts/word";
import { usePlace } from "../router";
import type { FlowsView, JobRunView } from "../types";
import type { Page } from "./page";

function Flows() {
  const { params } = usePlace();
  const world = useWorld();
  const found = useGet<FlowsView>(
    "flows",
    { limit: 50 },
    [...world.runs.values()].map((run) => run.id + run.state).join(),
  );
  if (params.run !== undefined) {
    return (
      <div className="sided">
        <Panel title="Newest" className="picker">
          <Link params={{ run: null }} className="pick">
            <strong>+ New flow</strong>
          </Link>
          <Loaded from={found}>{(data) => <Newest runs={data.runs} chosen={params.run} />}</Loaded>
        </Panel>
        <Flow key={params.run} run={params.run} />
      </div>
    );
  }
  return (
    <>
      <PageHead
        title={<Word of="flow">Flows</Word>}
        lead="A tree of programs that an author exposed, as data: no code, no SQL, no path. It is checked as a whole before anything runs."
      />
      <div className="stack">
        <Panel title="New flow" aside="checked while you build">
          <Builder />
        </Panel>
        <Panel title="Newest">
          <Loaded from={found}>{(data) => <Newest runs={data.runs} />}</Loaded>
        </Panel>
      </div>
    </>
  );
}

function Newest({ runs, chosen }: { runs: readonly JobRunView[]; chosen?: string | undefined }) {
  return (
    <ul className={chosen === undefined ? "flow-newest" : ""}>
      {runs.map((each) => (
        <li key={each.id}>
          <Link params={{ run: each.id }} current={each.id === chosen} className="pick">
            <strong>{each.job}</strong> <StateChip state={each.state} />
            <br />
            <span className="faint">
              <Age at={each.started_at} />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

export const flows: Page = {
  id: "flows",
  title: "Flows",
  shortcut: "f",
  icon: "M4 6h5v4H4zM15 4h5v4h-5zM15 14h5v4h-5zM9 8h3v8h3M12 6h3",
  Component: Flows,
};
