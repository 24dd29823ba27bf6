// Flows: trees that users build as data; write one, check it, run it, fetch what it gives.
import { useGet } from "../api";
import { Flow } from "./flows/detail";
import { Editor } from "./flows/editor";
import { useWorld } from "../live";
import { Age, Loaded, PageHead, Panel, StateChip } from "../parts/basics";
import { Link } from "../parts/link";
import { Word } from "../parts/word";
import { usePlace } from "../router";
import type { FlowsView } from "../types";
import type { Page } from "./page";

function Flows() {
  const { params } = usePlace();
  const world = useWorld();
  const found = useGet<FlowsView>(
    "flows",
    { limit: 50 },
    [...world.runs.values()].map((run) => run.id + run.state).join(),
  );
  const { run } = params;
  return (
    <>
      {run === undefined ? (
        <PageHead
          title={<Word of="flow">Flows</Word>}
          lead="A tree of programs that an author exposed, as data: no code, no SQL, no path. It is checked as a whole before anything runs."
        />
      ) : null}
      <div className="sided">
        <Panel title="Newest" className="picker">
          <Link params={{ run: null }} current={run === undefined} className="pick">
            <strong>+ New flow</strong>
          </Link>
          <Loaded from={found}>
            {(data) => (
              <ul>
                {data.runs.map((each) => (
                  <li key={each.id}>
                    <Link params={{ run: each.id }} current={each.id === run} className="pick">
                      <strong>{each.job}</strong> <StateChip state={each.state} />
                      <br />
                      <span className="faint">
                        <Age at={each.started_at} />
                      </span>
                    </Link>
                  </li>
                ))}
              </ul>
            )}
          </Loaded>
        </Panel>
        {run === undefined ? (
          <Panel title="New flow" aside="checked while you type">
            <Editor />
          </Panel>
        ) : (
          <Flow key={run} run={run} />
        )}
      </div>
    </>
  );
}

export const flows: Page = {
  id: "flows",
  title: "Flows",
  shortcut: "f",
  icon: "M4 6h5v4H4zM15 4h5v4h-5zM15 14h5v4h-5zM9 8h3v8h3M12 6h3",
  Component: Flows,
};
