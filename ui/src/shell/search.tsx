import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { useWorld } from "../live";
import { PAGES } from "../pages";
import { go, here, hrefOf } from "../router";
import { everything, search, type Hit } from "./finding";

/** The box over everything: `/` goes there, arrows choose, Enter opens. */
export function Search({ onWord }: { onWord: (term: string) => void }) {
  const world = useWorld();
  const [typed, setTyped] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  const hits = useMemo(() => (isOpen ? search(everything(world, PAGES), typed) : []), [isOpen, world, typed]);

  useEffect(() => {
    const focus = () => {
      field.current?.focus();
      field.current?.select();
    };
    document.addEventListener("pondage:search", focus);
    return () => document.removeEventListener("pondage:search", focus);
  }, []);

  const open = (hit: Hit | undefined) => {
    if (hit === undefined) return;
    setTyped("");
    setOpen(false);
    field.current?.blur();
    if (hit.kind === "Word") onWord(String(hit.params.word));
    else go(hrefOf(here(), hit.page, hit.params));
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      setChosen((before) => Math.max(0, Math.min(hits.length - 1, before + step)));
    } else if (event.key === "Enter") {
      open(hits[chosen]);
    } else if (event.key === "Escape") {
      setOpen(false);
      field.current?.blur();
    }
  };
  return (
    <div className="search">
      <input
        ref={field}
        type="search"
        role="combobox"
        aria-label="Search everything"
        aria-expanded={isOpen}
        aria-controls="hits"
        aria-activedescendant={isOpen && hits.length > 0 ? `hit-${chosen}` : undefined}
        placeholder="Search Ponds, Runs, pages, words"
        value={typed}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onChange={(event) => {
          setTyped(event.target.value);
          setChosen(0);
          setOpen(true);
        }}
        onKeyDown={press}
      />
      <kbd aria-hidden="true">/</kbd>
      <ul id="hits" role="listbox" aria-label="Found" className="hits" hidden={!isOpen}>
        {hits.map((hit, position) => (
          <li
            key={`${hit.kind} ${hit.text}`}
            id={`hit-${position}`}
            role="option"
            aria-selected={position === chosen}
            onMouseEnter={() => setChosen(position)}
            onMouseDown={(event) => {
              event.preventDefault();
              open(hit);
            }}
          >
            <span className="hit-kind">{hit.kind}</span>
            <span className="hit-text">{hit.text}</span>
            <span className="hit-detail">{hit.detail}</span>
          </li>
        ))}
        {isOpen && hits.length === 0 ? (
          <li className="hit-none" role="option" aria-selected="false">
            Nothing is called “{typed}”.
          </li>
        ) : null}
      </ul>
    </div>
  );
}
