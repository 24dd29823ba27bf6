// Where columns come from, and what is made of them.
import { useGet } from "../../api";
import { Empty, Loaded, Panel } from "../../parts/basics";
import { PondLink } from "../../parts/link";
import { Word } from "../../parts/word";
import { shortName } from "../../words";
import type { ColumnEdge, LineageTable, LineageView, PondShow, RippleShow } from "../../types";

export function Lineage({ show, ripple }: { show: PondShow; ripple: RippleShow }) {
  const subject = `${show.key}.${ripple.name}`;
  const lineage = useGet<LineageView>(`lineage/${encodeURIComponent(subject)}`, { columns: true }, show.archive);
  return <Loaded from={lineage}>{(view) => <Found view={view} show={show} ripple={ripple} />}</Loaded>;
}

function Found({ view, show, ripple }: { view: LineageView; show: PondShow; ripple: RippleShow }) {
  const own = view.tables.find((table) => table.pond === show.key && table.ripple === ripple.name)?.table ?? "";
  const from = view.columns.filter((edge) => edge.target === own);
  const to = view.columns.filter((edge) => edge.source === own);
  const names = [
    ...new Set([
      ...(ripple.published?.columns.map((column) => column.name) ?? []),
      ...from.map((edge) => edge.target_column),
    ]),
  ];
  // What filters, joins and groups decide is which rows there are, not what is in a column.
  names.sort((one, other) => Number(one === "") - Number(other === ""));
  return (
    <div className="stack">
      <Panel title={<Word of="lineage">Columns</Word>} aside={<code>{`pondage lineage ${show.name} --columns`}</code>}>
        {names.length === 0 ? (
          <Empty title="Nothing is known of its columns yet">
            They are read from the plan that Spark made for the first Run.
          </Empty>
        ) : (
          <div className="scroll">
            <table>
              <thead>
                <tr>
                  <th scope="col">Made of</th>
                  <th scope="col">Column</th>
                  <th scope="col">Used for</th>
                </tr>
              </thead>
              <tbody>
                {names.map((name) => (
                  <tr key={name}>
                    <td className="soft">
                      <Columns edges={from.filter((edge) => edge.target_column === name)} side="source" />
                    </td>
                    <td className="mono">
                      {name === "" ? <em className="faint">which rows there are</em> : <strong>{name}</strong>}
                    </td>
                    <td className="soft">
                      <Columns edges={to.filter((edge) => edge.source_column === name)} side="target" />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        {view.unknown.includes(own) ? (
          <p className="faint note">
            Which columns it is made of is not known: its last Run left no plan that says so.
          </p>
        ) : null}
      </Panel>
      <div className="halves">
        <TablesOf title="Above it" tables={view.tables.filter((table) => table.distance < 0)} />
        <TablesOf title="Below it" tables={view.tables.filter((table) => table.distance > 0)} />
      </div>
    </div>
  );
}

function Columns({ edges, side }: { edges: readonly ColumnEdge[]; side: "source" | "target" }) {
  if (edges.length === 0) return <span className="faint">–</span>;
  return (
    <ul className="column-list">
      {edges.map((edge) => (
        <li key={`${edge.source} ${edge.source_column} ${edge.target} ${edge.target_column} ${edge.kind}`}>
          <code>
            {side === "source"
              ? columnText(edge.source, edge.source_column)
              : columnText(edge.target, edge.target_column)}
          </code>
          {side === "target" && edge.kind === "rows" ? <span className="faint"> which rows there are</span> : null}
        </li>
      ))}
    </ul>
  );
}

/** A column without the majors and the repetitions: of `sales@1.sales` and `amount` `sales.amount`. */
function columnText(table: string, column: string): string {
  const [pond = "", ripple = ""] = table.split(".");
  const name = shortName(pond);
  return [name, ...(ripple === name ? [] : [ripple]), ...(column === "" ? [] : [column])].join(".");
}

function TablesOf({ title, tables }: { title: string; tables: readonly LineageTable[] }) {
  return (
    <Panel title={title}>
      {tables.length === 0 ? (
        <p className="soft">Nothing.</p>
      ) : (
        <ul className="lines">
          {[...tables]
            .sort((one, other) => Math.abs(one.distance) - Math.abs(other.distance))
            .map((table) => (
              <li key={table.table} className="line">
                <PondLink pond={table.pond} />
                <span className="line-text">{table.ripple}</span>
                <span className="line-end">
                  {Math.abs(table.distance)} {Math.abs(table.distance) === 1 ? "step" : "steps"}
                </span>
              </li>
            ))}
        </ul>
      )}
    </Panel>
  );
}
