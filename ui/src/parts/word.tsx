import type { ReactNode } from "react";
import { GLOSSARY, type Term } from "../glossary";

/** A word of ours, explained on hover. The tip itself is drawn once, by `Tips` in the shell. */
export function Word({ of, children }: { of: Term; children?: ReactNode }) {
  return (
    <span className="word" data-word={of}>
      {children ?? GLOSSARY[of][0]}
    </span>
  );
}
