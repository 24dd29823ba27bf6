// The partitions of a table: which Run made each, whether by older code, and which ones are missing.
import { Panel } from "../../parts/basics";
import { Link } from "../../parts/link";
import type { PartitionsView } from "../../types";
import { ageText, countText, numberText, partitionText, sizeText } from "../../words";

export function Partitions({ found, at }: { found: PartitionsView; at: number }) {
  const left = found.count - found.partitions.length;
  return (
    <Panel title="Partitions" aside={`${countText(found.count, "partition")} by ${found.by.join(", ")}`}>
      <div className="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">{found.by.join(", ")}</th>
              <th scope="col">Rows</th>
              <th scope="col">Size</th>
              <th scope="col">Made</th>
              <th scope="col">By</th>
            </tr>
          </thead>
          <tbody>
            {found.partitions.map((each) => (
              <tr key={partitionText(each.values)}>
                <td className="mono">{partitionText(each.values)}</td>
                <td>{numberText(each.rows)}</td>
                <td>{sizeText(each.bytes)}</td>
                <td className="soft">{ageText(each.made_at, at)}</td>
                <td>
                  <Link page="run" params={{ run: each.run }}>
                    {each.run}
                  </Link>
                  {each.is_older_code ? <span className="faint"> with older code</span> : null}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {left > 0 ? <p className="faint note">{countText(left, "older partition")} more.</p> : null}
      {found.missing.length > 0 ? (
        <p className="note">
          Missing between the first and the last: <code>{found.missing.join(", ")}</code>
        </p>
      ) : null}
    </Panel>
  );
}
