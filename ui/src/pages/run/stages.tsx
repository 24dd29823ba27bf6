// What Spark does for an attempt, and what it did: its stages with their tasks, their time and what they moved.
import { Panel } from "../../parts/basics";
import { Word } from "../../parts/word";
import type { Progress, StageView } from "../../types";
import { countText, durationText, listText, numberText, sizeText } from "../../words";

export interface Part {
  name: string;
  progress: Progress | null;
}

/** How far Spark is with what is open. */
export function Working({ parts }: { parts: readonly Part[] }) {
  const open = parts.flatMap(({ name, progress }) => (progress === null ? [] : [{ name, ...progress }]));
  if (open.length === 0) return null;
  return (
    <ul className="stages">
      {open.map((each) => (
        <li key={each.name}>
          <strong>{each.name}</strong>
          <progress value={each.tasks_done} max={Math.max(1, each.tasks_all)} aria-label={`Tasks of ${each.name}`} />
          <span className="number soft">
            {each.phase} · {numberText(each.tasks_done)} of {countText(each.tasks_all, "task")} ·{" "}
            {countText(each.stages, "stage")} in {countText(each.jobs, "Spark job")}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** The stages of what has ended. A bar is as long as the time of all tasks of a stage together. */
export function Stages({ parts }: { parts: readonly Part[] }) {
  const told = parts.filter((part) => part.progress !== null && part.progress.tasks_all > 0);
  if (told.length === 0) return null;
  const longest = Math.max(1, ...told.flatMap((part) => part.progress?.done.map((stage) => stage.work_us) ?? []));
  return (
    <Panel title={<Word of="stage">Spark stages</Word>} aside="a bar is the time of all tasks together">
      <div className="scroll">
        <table className="stage-table">
          <thead>
            <tr>
              <th>Of</th>
              <th>Stage</th>
              <th className="right">Tasks</th>
              <th className="right">Work</th>
              <th>
                <span className="unseen">Work, drawn</span>
              </th>
              <th className="right">Read</th>
              <th className="right">Shuffled</th>
              <th className="right">Spilled</th>
            </tr>
          </thead>
          <tbody>
            {told.map(({ name, progress }) =>
              progress === null ? null : progress.done.length === 0 ? (
                <tr key={name}>
                  <td>
                    <strong>{name}</strong>
                  </td>
                  <td colSpan={7} className="soft">
                    it came as far as {numberText(progress.tasks_done)} of {countText(progress.tasks_all, "task")} while{" "}
                    {progress.phase}
                  </td>
                </tr>
              ) : (
                progress.done.map((stage, position) => (
                  <Stage
                    key={`${name} ${stage.id}`}
                    name={position === 0 ? name : ""}
                    stage={stage}
                    longest={longest}
                  />
                ))
              ),
            )}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

function Stage({ name, stage, longest }: { name: string; stage: StageView; longest: number }) {
  return (
    <tr>
      <td>
        <strong>{name}</strong>
      </td>
      <td className="number">{stage.id}</td>
      <td className="right number">
        {numberText(stage.tasks)}
        {stage.failed > 0 ? <span className="failed-text"> · {numberText(stage.failed)} failed</span> : null}
      </td>
      <td className="right number">{durationText(stage.work_us)}</td>
      <td className="stage-bar">
        <i style={{ width: `${Math.max(1, (100 * stage.work_us) / longest)}%` }} title={titleOf(stage)} />
      </td>
      <td className="right number">{stage.read_bytes === 0 ? "" : sizeText(stage.read_bytes)}</td>
      <td className="right number">{stage.shuffled_bytes === 0 ? "" : sizeText(stage.shuffled_bytes)}</td>
      <td className="right number">
        {stage.spilled_bytes === 0 ? "" : <span className="failed-text">{sizeText(stage.spilled_bytes)}</span>}
      </td>
    </tr>
  );
}

function titleOf(stage: StageView): string {
  return listText([countText(stage.tasks, "task"), `${durationText(stage.work_us)} of work`]);
}
