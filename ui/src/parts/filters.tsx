// What narrows a page: each field is a part of the address, so that a link shows the same to others.
import type { ReactNode } from "react";
import { change, usePlace } from "../router";
import { Tag } from "./basics";
import { Link } from "./link";

export function Filters({ children }: { children: ReactNode }) {
  return <div className="filters">{children}</div>;
}

/** Words that are looked for, as they are typed. */
export function Find({ hint }: { hint: string }) {
  const { params } = usePlace();
  return (
    <label>
      <span>Find</span>
      <input
        type="search"
        value={params.find ?? ""}
        placeholder={hint}
        onChange={(event) => change({ find: event.target.value }, { replace: true })}
      />
    </label>
  );
}

interface SelectProps {
  /** The name in the address. */
  of: string;
  label: string;
  /** What is shown when nothing is chosen. */
  none: string;
  options: readonly (string | readonly [value: string, text: string])[];
}

export function Select({ of, label, none, options }: SelectProps) {
  const { params } = usePlace();
  return (
    <label>
      <span>{label}</span>
      <select value={params[of] ?? ""} onChange={(event) => change({ [of]: event.target.value })}>
        <option value="">{none}</option>
        {options.map((each) => {
          const [value, text] = typeof each === "string" ? [each, each] : each;
          return (
            <option key={value} value={value}>
              {text}
            </option>
          );
        })}
      </select>
    </label>
  );
}

/** Says that a link narrowed the page to one thing, and takes that away. */
export function Only({ of, children }: { of: string; children: ReactNode }) {
  const { params } = usePlace();
  if (params[of] === undefined) return null;
  return (
    <Tag>
      only {children} <Link params={{ [of]: null }}>show all</Link>
    </Tag>
  );
}

/** Whether one of some texts contains what is looked for. */
export function fits(find: string | undefined, ...texts: readonly string[]): boolean {
  const wanted = (find ?? "").toLowerCase();
  return wanted === "" || texts.some((text) => text.toLowerCase().includes(wanted));
}
