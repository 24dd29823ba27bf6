// What charts have in common: their width, and an axis of time below them.
import { useEffect, useRef, useState, type ReactNode, type RefObject } from "react";
import { clockText, momentText } from "../../words";

/** The width of an element, measured. */
export function useWidth<T extends HTMLElement>(): [RefObject<T | null>, number] {
  const element = useRef<T>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    if (element.current !== null) observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return [element, width];
}

/** A chart of a given height; `draw` gets its width. Its content is told in words by `label`. */
export function Chart({ height, label, draw }: { height: number; label: string; draw: (width: number) => ReactNode }) {
  const [element, width] = useWidth<HTMLDivElement>();
  return (
    <div ref={element} className="chart" style={{ height }}>
      {width === 0 ? null : (
        <svg width={width} height={height} role="img" aria-label={label}>
          {draw(width)}
        </svg>
      )}
    </div>
  );
}

/** Times from left to right, in the zone of whoever looks. */
export function TimeAxis({ from, to }: { from: number; to: number }) {
  const isLong = to - from > 36 * 3_600_000_000;
  const at = [0, 0.25, 0.5, 0.75, 1].map((part) => from + (to - from) * part);
  return (
    <div className="time-axis" aria-hidden="true">
      {at.map((moment, position) => (
        <span key={position} title={momentText(moment)}>
          {isLong ? momentText(moment).slice(5, 16) : clockText(moment).slice(0, to - from < 600_000_000 ? 8 : 5)}
        </span>
      ))}
    </div>
  );
}
