"""What it saves to follow the readers: five kinds of them on three graphs, beside cron, Tides and Runs on every change.

Everything is simulated in virtual time with the real demand machine: four weeks to learn from, one that counts. The
readers are made up (benchmarks/support/readers_traces.py), the graphs and their durations are those of `savings`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.console import Console
from rich.table import Table

from benchmarks.run import Row
from benchmarks.savings import CHANGES, Graph, deep_chain, retail, wide_fan
from benchmarks.support import readers_traces
from benchmarks.support.readers_traces import BERLIN, COUNTED, END, KINDS, SECOND, START, Read
from pondage.kernel.demand import PondKey
from pondage.kernel.demand.events import Follow, Tide
from pondage.simulate.consumption import Answer, answers
from pondage.simulate.policies import CronHost
from pondage.simulate.record import Recorder
from pondage.simulate.whatif import WAIT_LEADS, Question, Trace, play, play_eager, play_pondage

MINUTE, HOUR = 60 * SECOND, 3600 * SECOND
DAY = 24 * HOUR
LIMITS = (15 * MINUTE, 30 * MINUTE, 60 * MINUTE)
CRONS = (5, 10, 15, 30, 60, 120, 240)
OFFICE = range(7, 19)
"""The hours of a crontab for the office, from Monday to Friday: 07:00 to 18:59."""
AS_FRESH = 1.05
MOST_OF_A_CRON, MOST_TOGETHER = 1.1, 0.4
EAGER = "on every change"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One way on one graph in the week that counts, for one kind of readers: Spark time, and mean age with waits."""

    way: str
    spent_us: int
    age_us: int
    runs: int


@dataclass(frozen=True, kw_only=True)
class Played:
    """One way on one graph, before anybody has read: what ran, and when somebody woke it."""

    recorder: Recorder
    woken: Mapping[PondKey, Sequence[int]]


def run() -> list[Row]:
    """Play every kind of readers on each graph, print every figure and each goal as met or missed, answer the rows."""
    console = Console(width=130)
    rows: list[Row] = []
    for graph in (retail(), deep_chain(), wide_fan()):
        rivals = _rivals(graph)
        found = {kind: _figures(graph, kind, rivals) for kind in readers_traces.kinds()}
        for kind, figures in found.items():
            console.print(_table(f"{graph.name}: {kind}", figures))
            rows += _rows(graph, kind, figures)
        rows += _judged(console, graph, found)
    rows += _abandoned(console)
    return rows


def _rivals(graph: Graph) -> dict[str, Played]:
    """Play those who do not know of readers: what they do is the same for every kind of them."""
    # Two days before the week that counts are enough: they learn nothing.
    question = Question(
        pipeline=graph.pipeline,
        start=COUNTED - 2 * DAY,
        length=END - COUNTED + 2 * DAY,
        changes={shape.key: CHANGES for shape in graph.pipeline.shapes},
    )
    found: dict[str, Played] = {}
    for minutes in CRONS:
        for name, within in ((f"cron {minutes} min", _always), (f"cron {minutes} min, office hours", _is_office)):
            played = play(name, question, CronHost(minutes * MINUTE, within=within))
            found[name] = Played(recorder=played.recorder, woken={})
    for limit in LIMITS:
        standing = [(question.start, Tide(pond=outlet, limit=limit)) for outlet in graph.pipeline.outlets]
        asked = Question(pipeline=graph.pipeline, start=question.start, length=question.length, actions=standing)
        found[_tide(limit)] = Played(recorder=play_pondage(asked).recorder, woken={})
    found[EAGER] = Played(recorder=play_eager(question).recorder, woken={})
    return found


def _always(_: int) -> bool:
    return True


def _is_office(at: int) -> bool:
    local = datetime.fromtimestamp(at // SECOND, BERLIN)
    return local.weekday() < 5 and local.hour in OFFICE


def _tide(limit: int) -> str:
    return f"Tide {limit // MINUTE} min"


def _ours(limit: int) -> str:
    return f"{_tide(limit)} while it is read"


def _trace(graph: Graph, reads: Sequence[Read]) -> Trace:
    return [(at, graph.popular[min(rank, len(graph.popular) - 1)], "read") for at, rank in reads]


def _followed(graph: Graph, trace: Trace, limit: int) -> Played:
    follow = Follow(tz="Europe/Berlin")
    standing = [(START, Tide(pond=outlet, limit=limit, follow=follow)) for outlet in graph.pipeline.outlets]
    question = Question(pipeline=graph.pipeline, start=START, length=END - START, actions=standing, trace=trace)
    played = play_pondage(question)
    return Played(recorder=played.recorder, woken=played.woken)


def _figures(graph: Graph, kind: str, rivals: dict[str, Played]) -> dict[str, Figure]:
    trace = _trace(graph, readers_traces.make(kind))
    ways = {**{_ours(limit): _followed(graph, trace, limit) for limit in LIMITS}, **rivals}
    return {way: _figure(graph, way, played, trace) for way, played in ways.items()}


def _figure(graph: Graph, way: str, played: Played, trace: Trace) -> Figure:
    counted = [each for each in trace if each[0] >= COUNTED]
    patience = {key: WAIT_LEADS * lead for key, lead in graph.pipeline.leads.items()}
    completed = played.recorder.completed
    got = answers(counted, completed, can_ask=False, woken=played.woken, patience=patience)
    given = [each for each in got if isinstance(each, Answer)]
    assert len(given) == len(got), "everybody got an answer"
    spent = sum(max(min(span.end, END) - max(span.start, COUNTED), 0) for span in played.recorder.spans)
    ended = [run for runs in completed.values() for run in runs if run.end is not None and run.end >= COUNTED]
    # A wait counts as age: whoever waits has nothing meanwhile.
    age = sum(each.age_us + each.wait_us for each in given) // max(len(given), 1)
    return Figure(way=way, spent_us=spent, age_us=age, runs=len(ended))


def _crons(figures: dict[str, Figure]) -> list[Figure]:
    return [each for way, each in figures.items() if way.startswith("cron")]


def _as_fresh(figures: dict[str, Figure], limit: int) -> list[Figure]:
    """Answer the crons whose readers get data as fresh as ours do, the cheapest first."""
    ours = figures[_ours(limit)]
    fresh = [each for each in _crons(figures) if each.age_us <= ours.age_us * AS_FRESH]
    return sorted(fresh, key=lambda each: each.spent_us)


def _rows(graph: Graph, kind: str, figures: dict[str, Figure]) -> list[Row]:
    count = sum(at >= COUNTED for at, _ in readers_traces.make(kind))
    rows = []
    for limit in LIMITS:
        ours = figures[_ours(limit)]
        for other in figures.values():
            # Every rival stands beside one of ours, and each of ours beside the Tide that it would be.
            if other.way.endswith("while it is read") or (limit != LIMITS[0] and other.way != _tide(limit)):
                continue
            what = f"{graph.name}, {kind}, {ours.way}"
            pairs = (("Spark time in a week", ours.spent_us, other.spent_us), ("mean age", ours.age_us, other.age_us))
            rows += [
                Row(
                    what=f"{what}: {name}", ours=round(one / SECOND), against=other.way,
                    anchor=round(base / SECOND), unit="s", n=count,
                )
                for name, one, base in pairs
            ]  # fmt: skip
    return rows


def _judged(console: Console, graph: Graph, found: dict[str, dict[str, Figure]]) -> list[Row]:
    """Hold the figures of one graph against the goals; answer a row for each."""
    rows: list[Row] = []
    for limit in LIMITS[:2]:
        for kind, figures in found.items():
            ours, fresh = figures[_ours(limit)], _as_fresh(figures, limit)
            what = f"{graph.name}, {kind}, {limit // MINUTE} min"
            if not fresh:
                console.print(f"  –      {what}: no cron of the list is as fresh", highlight=False)
                continue
            rows.append(_goal(console, what, ours.spent_us, fresh[0], most=MOST_OF_A_CRON))
    five = {kind: found[kind] for kind in KINDS}
    for limit in LIMITS:
        row = _together(console, graph, five, limit)
        rows += [] if row is None else [row]
    return rows


def _together(console: Console, graph: Graph, found: dict[str, dict[str, Figure]], limit: int) -> Row | None:
    """Compare with one cron for all five: the cheapest that is as fresh for each kind for which any cron can be."""
    what = f"{graph.name}, all five together, {limit // MINUTE} min"
    fresh = [{each.way for each in _as_fresh(figures, limit)} for figures in found.values()]
    able = [ways for ways in fresh if ways]
    ways = set.intersection(*able) if able else set()
    if not ways:
        console.print(f"  –      {what}: no single cron is as fresh", highlight=False)
        return None
    totals = {way: sum(figures[way].spent_us for figures in found.values()) for way in ways}
    cheapest = min(totals, key=lambda way: totals[way])
    runs = sum(figures[cheapest].runs for figures in found.values())
    other = Figure(way=cheapest, spent_us=totals[cheapest], age_us=0, runs=runs)
    ours = sum(figures[_ours(limit)].spent_us for figures in found.values())
    return _goal(console, what, ours, other, most=MOST_TOGETHER)


def _goal(console: Console, what: str, ours: int, other: Figure, *, most: float) -> Row:
    ratio = ours / other.spent_us
    word = "met   " if ratio <= most else "MISSED"
    console.print(f"  {word} {what}: {ratio:.2f} × {other.way} (goal: at most {most:g})", highlight=False)
    return Row(
        what=f"goal, {what}: Spark time, at most {most:g} × the cheapest cron that is as fresh",
        ours=round(ours / SECOND), against=other.way, anchor=round(other.spent_us / SECOND), unit="s", n=1,
    )  # fmt: skip


def _abandoned(console: Console) -> list[Row]:
    """Count the days with Runs after the last reader of the abandoned dashboard, until it is found again."""
    graph = retail()
    trace = _trace(graph, readers_traces.make("abandoned dashboard"))
    last = max(at for at, _, _ in trace if at < START + readers_traces.FOUND * DAY - DAY)
    again = min(at for at, _, _ in trace if at > last)
    rows = []
    for limit in LIMITS[:2]:
        (outlet,) = graph.popular
        runs = _followed(graph, trace, limit).recorder.runs[outlet]
        day = datetime.fromtimestamp(last // SECOND, BERLIN).date()
        starts = [each.start // SECOND for each in runs if last < each.start < again]
        days = {datetime.fromtimestamp(each, BERLIN).date() for each in starts}
        behind = sorted(days - {day})
        word = "met   " if len(behind) <= 2 else "MISSED"
        console.print(
            f"  {word} abandoned, {limit // MINUTE} min: Runs on {len(behind)} days behind the last reader (goal: 2)",
            highlight=False,
        )
        what = f"goal, abandoned dashboard, {limit // MINUTE} min: days with Runs after the last reader, at most 2"
        rows.append(Row(what=what, ours=len(behind), against="goal", anchor=2, unit="days", n=1))
    return rows


def _table(title: str, figures: dict[str, Figure]) -> Table:
    table = Table(title=title)
    table.add_column("policy")
    for heading in ("Runs", "Spark time, min", "mean age with waits, min"):
        table.add_column(heading, justify="right")
    for each in figures.values():
        table.add_row(each.way, f"{each.runs:,}", f"{each.spent_us / MINUTE:,.1f}", f"{each.age_us / MINUTE:,.1f}")
    return table
