"""A picture of a simulation as SVG: when each Ripple executed, and how stale the Outlets were. Written by hand."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from pondage.kernel.demand import PondKey
from pondage.simulate.pipeline import Pipeline, Place
from pondage.simulate.record import Recorder, RunRecord, Span

WIDTH = 1180
LEFT = 190
RIGHT = 30
ROW = 20
BAR = 13
SAW = 150
MOST_ROWS = 40
MOST_OUTLETS = 6
MOST_BARS = 500
"""The picture shows as much of the beginning as this many executions take: more could not be told apart."""

_SECOND = 1_000_000
_STEPS = [
    n * _SECOND for n in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)
]
_COLORS = ("#3b7dd8", "#2a9d8f", "#e09f3e", "#8d6cab", "#5c8001", "#c8553d", "#4d6a8a", "#b56576")
_FAILED = "#d00000"
_STYLE = """text{font:12px system-ui,sans-serif;fill:#333}.t{font-weight:600;font-size:14px}.s{fill:#777;font-size:11px}
.g{stroke:#e6e6e6}.a{stroke:#999}.i{stroke:#555;stroke-dasharray:5 4}.l{fill:none;stroke-width:1.6}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """From times to places on the picture."""

    start: int
    end: int

    def x(self, at: int) -> float:
        share = (min(max(at, self.start), self.end) - self.start) / (self.end - self.start)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    @property
    def ticks(self) -> list[int]:
        length = self.end - self.start
        step = next((step for step in _STEPS if length / step <= 12), -(-length // 12))
        return list(range(0, length + 1, step))


def svg(pipeline: Pipeline, recorder: Recorder, *, start: int, end: int, title: str) -> str:
    """Draw the simulation: the gantt of the Ripples above, the staleness of each Outlet below.

    Pale bars are executions whose result nobody used, red ones failed. The dashed line is the ideal.
    """
    frame = _Frame(start=start, end=_shown_until(recorder.spans, start, end))
    rows = [(key, ripple) for key in pipeline.order for ripple in pipeline.by_key[key].order]
    outlets = pipeline.outlets[:MOST_OUTLETS]
    shown = rows[:MOST_ROWS]
    top = 58
    saw_top = top + len(shown) * ROW + 50
    height = saw_top + len(outlets) * (SAW + 46)
    part = "" if frame.end == end else f", the first {clock(frame.end - start)} of {clock(end - start)}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">',
        f"<style>{_STYLE}</style>",
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text class="t" x="16" y="24">{escape(title)}</text>',
        f'<text class="s" x="16" y="42">Ripples over time{part}. Pale: nobody used the result. Red: failed.</text>',
        *_grid(frame, top, top + len(shown) * ROW),
        *_gantt(frame, shown, recorder.spans, top),
    ]
    if len(rows) > len(shown):
        note = f"and {len(rows) - len(shown)} more Ripples"
        lines.append(f'<text class="s" x="16" y="{top + len(shown) * ROW + 14}">{note}</text>')
    for number, outlet in enumerate(outlets):
        at = saw_top + number * (SAW + 46)
        lines += _sawtooth(frame, recorder.completed[outlet], outlet, pipeline.ideal(outlet), at)
    return "\n".join([*lines, "</svg>", ""])


def clock(length: int) -> str:
    """Give a length of time as a clock shows it: 0:05, 12:30, 1:00:00."""
    seconds = length // _SECOND
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def _shown_until(spans: Sequence[Span], start: int, end: int) -> int:
    return end if len(spans) <= MOST_BARS else max(min(spans[MOST_BARS].start, end), start + 1)


def _grid(frame: _Frame, top: int, bottom: int) -> Iterator[str]:
    for tick in frame.ticks:
        x = frame.x(frame.start + tick)
        yield f'<path class="g" d="M{x} {top}V{bottom}"/>'
        yield f'<text class="s" x="{x}" y="{bottom + 14}" text-anchor="middle">{clock(tick)}</text>'


def _gantt(frame: _Frame, rows: Sequence[Place], spans: Sequence[Span], top: int) -> Iterator[str]:
    places = {place: number for number, place in enumerate(rows)}
    colors: dict[PondKey, str] = {}
    for pond, _ in rows:
        colors.setdefault(pond, _COLORS[len(colors) % len(_COLORS)])
    for (pond, ripple), number in places.items():
        y = top + number * ROW
        name = pond.partition("@")[0]
        label = name if ripple == name else f"{name}.{ripple}"
        yield f'<text x="{LEFT - 10}" y="{y + 14}" text-anchor="end">{escape(_short(label))}</text>'
    for span in spans:
        number = places.get((span.pond, span.ripple), -1)
        if number < 0 or span.start >= frame.end:
            continue
        x, right = frame.x(span.start), frame.x(span.end)
        color = _FAILED if span.has_failed else colors[span.pond]
        pale = "" if span.has_failed or not _is_wasted(span.run) else ' fill-opacity=".25"'
        size = f'width="{max(round(right - x - 0.6, 1), 0.6)}" height="{BAR}"'
        yield f'<rect x="{x}" y="{top + number * ROW + 4}" {size} rx="1.5" fill="{color}"{pale}/>'


def _is_wasted(run: RunRecord) -> bool:
    return run.is_over and not run.is_useful


def _sawtooth(frame: _Frame, completed: Sequence[RunRecord], outlet: str, ideal: int, top: int) -> Iterator[str]:
    points = list(_staleness_points(completed, frame.end))
    highest = max([ideal * 5 // 4, *(age for _, age in points)])
    bottom = top + SAW

    def y(age: int) -> float:
        return round(bottom - age / highest * (SAW - 16), 1)

    yield f'<text class="t" x="16" y="{top + 12}">{escape(_short(outlet.partition("@")[0]))}</text>'
    yield f'<text class="s" x="16" y="{top + 28}">staleness</text>'
    yield from _grid(frame, top, bottom)
    yield f'<path class="a" d="M{LEFT} {bottom}H{WIDTH - RIGHT}"/>'
    for age in (highest, highest // 2, 0):
        yield f'<text class="s" x="{LEFT - 10}" y="{y(age) + 4}" text-anchor="end">{clock(age)}</text>'
    yield f'<path class="i" d="M{LEFT} {y(ideal)}H{WIDTH - RIGHT}"/>'
    yield f'<text class="s" x="16" y="{top + 44}">ideal {clock(ideal)} (dashed)</text>'
    if points:
        path = "L".join(f"{frame.x(at)} {y(age)}" for at, age in points)
        yield f'<path class="l" stroke="{_COLORS[0]}" d="M{path}"/>'


def _staleness_points(completed: Sequence[RunRecord], end: int) -> Iterator[tuple[int, int]]:
    former: RunRecord | None = None
    for run in completed:
        if run.end is None or run.end >= end:
            break
        if former is not None:
            yield run.end, run.end - former.data_at
        yield run.end, run.end - run.data_at
        former = run
    if former is not None:
        yield end, end - former.data_at


def _short(text: str) -> str:
    return text if len(text) <= 26 else text[:25] + "…"
