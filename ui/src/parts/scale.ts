// Where the marks of a scale of time are. Pure.

/** Round distances for a scale of about six marks. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400, 604_800].map(
  (each) => each * 1_000_000,
);

export function marksOf(start: number, end: number): number[] {
  const step = STEPS.find((each) => (end - start) / each <= 7) ?? 604_800_000_000;
  const offset = new Date(start / 1000).getTimezoneOffset() * 60_000_000;
  const first = Math.ceil((start - offset) / step) * step + offset;
  const marks = [];
  for (let at = first; at < end; at += step) marks.push(at);
  return marks;
}
