import { useEffect, useState } from "react";
import { GLOSSARY, isTerm } from "../glossary";

interface Tip {
  text: string;
  title: string;
  left: number;
  top: number;
}

const WIDTH = 300;

/** A word of ours, or what something on the page explains of itself. */
function textOf({ dataset }: HTMLElement): { title: string; text: string } | null {
  if (dataset.tip !== undefined) return { title: dataset.title ?? "", text: dataset.tip };
  const term = dataset.word ?? "";
  return isTerm(term) ? { title: GLOSSARY[term][0], text: GLOSSARY[term][1] } : null;
}

/** The explanation of the word under the pointer: one element and one listener for all words of a page. */
export function Tips() {
  const [tip, setTip] = useState<Tip | null>(null);
  useEffect(() => {
    const show = (event: Event) => {
      const target =
        event.target instanceof Element ? event.target.closest<HTMLElement>("[data-word], [data-tip]") : null;
      const said = target === null ? null : textOf(target);
      if (target === null || said === null) {
        setTip(null);
        return;
      }
      const box = target.getBoundingClientRect();
      const left = Math.max(8, Math.min(box.left, window.innerWidth - WIDTH - 16));
      const isLow = box.bottom > window.innerHeight - 140;
      setTip({ ...said, left, top: isLow ? box.top - 8 : box.bottom + 8 });
    };
    const hide = () => setTip(null);
    document.addEventListener("mouseover", show);
    document.addEventListener("focusin", show);
    document.addEventListener("scroll", hide, true);
    return () => {
      document.removeEventListener("mouseover", show);
      document.removeEventListener("focusin", show);
      document.removeEventListener("scroll", hide, true);
    };
  }, []);
  if (tip === null) return null;
  const isAbove = tip.top > window.innerHeight - 140;
  return (
    <div className={`tip ${isAbove ? "tip-above" : ""}`} role="tooltip" style={{ left: tip.left, top: tip.top }}>
      <strong>{tip.title}</strong>
      <p>{tip.text}</p>
    </div>
  );
}
