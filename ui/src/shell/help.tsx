import { useEffect, useRef } from "react";
import { GLOSSARY } from "../glossary";
import { PAGES } from "../pages";

const KEYS: readonly (readonly [string, string])[] = [
  ["/", "search everything"],
  ["?", "this help"],
  ["Esc", "close what is open"],
  ["t", "light, dark, or as the machine prefers"],
];

/** The keys and the words. `word` is one to show first. */
export function Help({ word, onClose }: { word: string; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
    if (word !== "") document.getElementById(`word-${word}`)?.scrollIntoView({ block: "center" });
  }, [word]);
  return (
    <dialog ref={dialog} className="help" onClose={onClose} aria-labelledby="help-title">
      <header>
        <h2 id="help-title">Keys and words</h2>
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </header>
      <div className="help-body" tabIndex={0}>
        <dl className="keys">
          {KEYS.map(([key, meaning]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{meaning}</dd>
            </div>
          ))}
          {PAGES.filter((page) => page.shortcut !== undefined).map((page) => (
            <div key={page.id}>
              <dt>
                <kbd>g</kbd> <kbd>{page.shortcut}</kbd>
              </dt>
              <dd>{page.title}</dd>
            </div>
          ))}
        </dl>
        <dl className="words">
          {Object.entries(GLOSSARY).map(([term, [name, meaning]]) => (
            <div key={term} id={`word-${term}`} className={term === word ? "word-found" : ""}>
              <dt>{name}</dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
      </div>
    </dialog>
  );
}
