import { useEffect, useState } from "react";
import { GLOSSARY, isTerm } from "../glossary";

interface Tip {
  text: string;
  title: string;
  left: number;
  top: number;
}

const WIDTH = 300;

/** The explanation of the word under the pointer: one element and one listener for all words of a page. */
export function Tips() {
  const [tip, setTip] = useState<Tip | null>(null);
  useEffect(() => {
    const show = (event: Event) => {
      const target = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-word]") : null;
      const term = target?.dataset.word ?? "";
      if (target === null || !isTerm(term)) {
        setTip(null);
        return;
      }
      const box = target.getBoundingClientRect();
      const left = Math.max(8, Math.min(box.left, window.innerWidth - WIDTH - 16));
      const isLow = box.bottom > window.innerHeight - 140;
      setTip({ title: GLOSSARY[term][0], text: GLOSSARY[term][1], left, top: isLow ? box.top - 8 : box.bottom + 8 });
    };
    const hide = () => setTip(null);
    document.addEventListener("mouseover", show);
    document.addEventListener("scroll", hide, true);
    return () => {
      document.removeEventListener("mouseover", show);
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
