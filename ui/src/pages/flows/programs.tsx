// The programs that a tree may name: those of the library, and what projects have deployed.
import { useState } from "react";
import { useGet } from "../../api";
import { Loaded } from "../../parts/basics";
import type { KnownComponent, Port } from "../../types";

export function Programs() {
  const [isOpen, setOpen] = useState(false);
  const found = useGet<KnownComponent[]>(isOpen ? "components" : null);
  return (
    <details className="flow-programs" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Programs that a tree may use</summary>
      {isOpen ? (
        <Loaded from={found}>
          {(all) => <List programs={all.filter((each) => each.exposed && each.kind === "plain")} />}
        </Loaded>
      ) : null}
    </details>
  );
}

function List({ programs }: { programs: readonly KnownComponent[] }) {
  return (
    <div className="scroll">
      <table>
        <thead>
          <tr>
            <th>Program</th>
            <th>Of</th>
            <th>Takes</th>
            <th>Gives</th>
            <th>What it does</th>
          </tr>
        </thead>
        <tbody>
          {programs.map((each) => (
            <tr key={each.name}>
              <td>
                <code>{`${each.name}@${each.version.split(".")[0]}`}</code>
              </td>
              <td>{each.project === "" ? "library" : each.project}</td>
              <Ports ports={each.inputs} />
              <Ports ports={each.outputs} />
              <td className="soft">{each.doc.split("\n")[0]}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Ports({ ports }: { ports: Readonly<Record<string, Port>> }) {
  return (
    <td>
      {Object.entries(ports).map(([name, port]) => (
        <div key={name}>
          <code>{`${name}: ${port.type}`}</code>
        </div>
      ))}
    </td>
  );
}
