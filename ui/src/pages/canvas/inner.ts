// Where the Ripples of one Pond are: columns by the longest way from those that read no sibling. Pure, and quick.
import type { GraphRipple } from "../../types";

const BOX = { width: 128, height: 28 };
const GAP = { x: 30, y: 8 };

export interface Place {
  ripple: GraphRipple;
  x: number;
  y: number;
}

export interface Inner {
  width: number;
  height: number;
  places: readonly Place[];
  /** The lines between them, as SVG paths. */
  lines: readonly string[];
}

export function innerLayout(ripples: readonly GraphRipple[]): Inner {
  const depth = depths(ripples);
  const columns: GraphRipple[][] = [];
  for (const ripple of ripples) (columns[depth.get(ripple.name) ?? 0] ??= []).push(ripple);
  const tallest = Math.max(...columns.map((column) => column.length));
  const height = tallest * BOX.height + (tallest - 1) * GAP.y;
  const places: Place[] = columns.flatMap((column, x) => {
    const used = column.length * BOX.height + (column.length - 1) * GAP.y;
    return column.map((ripple, y) => ({
      ripple,
      x: x * (BOX.width + GAP.x),
      y: (height - used) / 2 + y * (BOX.height + GAP.y),
    }));
  });
  const at = new Map(places.map((place) => [place.ripple.name, place]));
  const lines = places.flatMap((place) =>
    place.ripple.parents.flatMap((parent) => {
      const from = at.get(parent);
      return from === undefined ? [] : [line(from, place)];
    }),
  );
  return { width: columns.length * BOX.width + (columns.length - 1) * GAP.x, height, places, lines };
}

function line(from: Place, to: Place): string {
  const [x1, y1] = [from.x + BOX.width, from.y + BOX.height / 2];
  const [x2, y2] = [to.x, to.y + BOX.height / 2];
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
}

function depths(ripples: readonly GraphRipple[]): Map<string, number> {
  const of = new Map(ripples.map((ripple) => [ripple.name, ripple]));
  const found = new Map<string, number>();
  const depthOf = (ripple: GraphRipple): number => {
    const known = found.get(ripple.name);
    if (known !== undefined) return known;
    found.set(ripple.name, 0);
    const above = ripple.parents.flatMap((parent) => of.get(parent) ?? []);
    const depth = above.length === 0 ? 0 : 1 + Math.max(...above.map(depthOf));
    found.set(ripple.name, depth);
    return depth;
  };
  ripples.forEach(depthOf);
  return found;
}
