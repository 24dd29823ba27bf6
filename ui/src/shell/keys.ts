import { useEffect } from "react";
import { PAGES } from "../pages";
import { go, here, hrefOf } from "../router";

/** Keys that work everywhere but in a field: `/` searches, `g o` goes to a page, `?` helps. */
export function useKeys(onHelp: () => void, onTheme: () => void): void {
  useEffect(() => {
    let before = "";
    const press = (event: KeyboardEvent) => {
      const target = event.target instanceof HTMLElement ? event.target : null;
      const isTyping =
        target !== null && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
      if (isTyping || event.metaKey || event.ctrlKey || event.altKey) return;
      const previous = before;
      before = event.key;
      if (previous === "g") {
        before = "";
        const page = PAGES.find((each) => each.shortcut === event.key);
        if (page !== undefined) go(hrefOf(here(), page.id));
      } else if (event.key === "/") {
        event.preventDefault();
        document.dispatchEvent(new Event("pondage:search"));
      } else if (event.key === "?") {
        onHelp();
      } else if (event.key === "t") {
        onTheme();
      }
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [onHelp, onTheme]);
}
