// What a Pond reads (and which Runs of it it has pinned), and who reads it.
import { useGet } from "../../api";
import { useWorld } from "../../live";
import { Fresh, Panel, StateChip } from "../../parts/basics";
import { Link, PondLink } from "../../parts/link";
import { Word } from "../../parts/word";
import type { PondShow, RunDetailView } from "../../types";

export function Ties({ show }: { show: PondShow }) {
  const world = useWorld();
  const run = useGet<RunDetailView>(show.current_run === null ? null : `runs/${show.current_run}`);
  const pins = new Map((run.data?.pins ?? []).map((pin) => [pin.source, pin]));
  return (
    <Panel
      title={<Word of="source">Sources</Word>}
      aside={run.data === null ? undefined : <>pins of Run #{run.data.run.number}</>}
    >
      {show.sources.length === 0 ? (
        <p className="soft">
          None: it is an <Word of="inlet">Inlet</Word>, where data comes in.
        </p>
      ) : (
        <div className="scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">Pond</th>
                <th scope="col">State</th>
                <th scope="col">
                  <Word of="freshness">Fresh as of</Word>
                </th>
                <th scope="col">
                  <Word of="pin">Pinned</Word>
                </th>
              </tr>
            </thead>
            <tbody>
              {show.sources.map((source) => {
                const pond = world.ponds.get(source.key);
                const pin = pins.get(source.key);
                return (
                  <tr key={source.key}>
                    <td>
                      <PondLink pond={source.key} />
                      {source.is_required === false ? <span className="faint"> optional</span> : null}
                      {source.minimum === null ? null : <span className="faint"> ≥ {source.minimum}</span>}
                    </td>
                    <td>{pond === undefined ? <StateChip state="missing" /> : <StateChip state={pond.state} />}</td>
                    <td>
                      <Fresh at={pond?.freshness} />
                    </td>
                    <td>
                      {pin?.run == null ? (
                        <span className="faint">–</span>
                      ) : (
                        <Link page="run" params={{ run: pin.run }}>
                          #{pin.number}
                        </Link>
                      )}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      <p className="ties-sinks">
        <Word of="sink">Sinks</Word>:{" "}
        {show.sinks.length === 0 ? (
          <span className="faint">
            none, it is an <Word of="outlet">Outlet</Word>
          </span>
        ) : (
          show.sinks.map((sink, position) => (
            <span key={sink.key}>
              {position > 0 ? ", " : ""}
              <PondLink pond={sink.key} />
            </span>
          ))
        )}
      </p>
    </Panel>
  );
}
