"""What demand saves: one day of consumption on three graphs, under Pondage, under cron, and on every change.

Everything is simulated in virtual time with the real demand machine. The day is made up (benchmarks/traces), the
durations are assumed, and every read of a live Inlet is taken to bring something new, so that nothing is reused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from rich.console import Console
from rich.table import Table

from benchmarks.run import Row
from benchmarks.support import office_day
from pondage.kernel.demand import Pacing, PondKey, PondShape
from pondage.kernel.demand.events import Tide, Verb, Wave
from pondage.ledger.tables.pond_shape import shape_of
from pondage.plan.deploy.planner import make_plan
from pondage.project.project import find_project
from pondage.project.reader import read_project
from pondage.simulate.consumption import ConsumptionVerb
from pondage.simulate.measure import Figures
from pondage.simulate.pipeline import Pipeline, Timing
from pondage.simulate.whatif import SECOND, Question, Trace, play_cron, play_eager, play_pondage

RETAIL = Path(__file__).resolve().parents[1] / "examples" / "retail"
MINUTE, HOUR = 60 * SECOND, 3600 * SECOND
DAY = 24 * HOUR
START = int(datetime(2026, 3, 2, tzinfo=ZoneInfo("Europe/Berlin")).timestamp()) * SECOND
CHANGES = 5 * MINUTE
"""How often new data comes in at a live Inlet, for those who run on every change."""
CRON = {"cron 15 min": 15 * MINUTE, "cron 1 h": HOUR, "cron 4 h": 4 * HOUR}
EAGER = "on every change"
WAITING = {"nightly report", "analyst"}
"""Who waits for the data of the moment; a dashboard shows what is there."""


@dataclass(frozen=True, kw_only=True)
class Graph:
    """A pipeline, and its Outlets from the most popular on."""

    name: str
    pipeline: Pipeline
    popular: Sequence[PondKey]


@dataclass(frozen=True, kw_only=True)
class Way:
    """A way to use Pondage: what a consumer does, and which triggers stand on the Outlets."""

    verb: Callable[[str], ConsumptionVerb]
    standing: Callable[[PondKey], Verb | None] = lambda _: None


WAYS: dict[str, Way] = {
    "Tap on each consumption": Way(verb=lambda _: "tap"),
    "Pulse on each consumption": Way(verb=lambda _: "pulse"),
    "dashboards Tap, others Pulse": Way(verb=lambda who: "pulse" if who.rstrip(" 0123456789") in WAITING else "tap"),
    "Tide 15 min": Way(verb=lambda _: "read", standing=lambda pond: Tide(pond=pond, limit=15 * MINUTE)),
    "Tide 1 h": Way(verb=lambda _: "read", standing=lambda pond: Tide(pond=pond, limit=HOUR)),
    "Wave": Way(verb=lambda _: "read", standing=lambda pond: Wave(pond=pond)),
    "Wave, just in time": Way(verb=lambda _: "read", standing=lambda pond: Wave(pond=pond, pacing=Pacing.JUST_IN_TIME)),
}


def run() -> list[Row]:
    """Play the day on each graph under each policy, print all figures, and answer ours against each other policy."""
    console = Console(width=130)
    day = office_day.read()
    console.print(f"{len(day)} consumptions in a day. {office_day.ABOUT}", highlight=False)
    rows: list[Row] = []
    for graph in (retail(), deep_chain(), wide_fan()):
        ours = {name: _ours(graph, way, name, day) for name, way in WAYS.items()}
        others = _others(graph, day)
        console.print(_table(graph.name, [*ours.values(), *others.values()]))
        for name, figures in ours.items():
            for against, other in others.items():
                rows += _rows(f"{graph.name}, {name}", figures, against, other)
    return rows


def retail() -> Graph:
    """The shop of the demo, as it is declared in the example, with the durations of a larger shop."""
    seconds = {"orders": 40, "products": 20, "fx": 15, "clean": 50, "enriched": 150, "daily": 40, "reports": 30}
    project = find_project(RETAIL)
    plan = make_plan(read_project(project), [], project=project.name)
    shapes = [shape_of(definition) for definition in plan.ponds]
    timings = {(shape.key, name): Timing(base=seconds[name] * SECOND) for shape in shapes for name in shape.ripples}
    return Graph(name="retail demo", pipeline=Pipeline(shapes=shapes, timings=timings), popular=[PondKey("reports@1")])


def deep_chain() -> Graph:
    """Twelve Ponds in a row, of which the last but one takes ten times as long as the others."""
    seconds = [30] * 10 + [300, 30]
    ponds = {f"c{n}": ({f"c{n - 1}": True} if n else {}, each) for n, each in enumerate(seconds)}
    return Graph(name="deep chain, late bottleneck", pipeline=_pipeline(ponds), popular=[PondKey("c11")])


def wide_fan() -> Graph:
    """Twenty branches over one staging Pond; most of them are hardly ever asked for."""
    ponds: dict[str, tuple[dict[str, bool], int]] = {"inlet": ({}, 60), "staging": ({"inlet": True}, 60)}
    for branch in range(office_day.RANKS):
        ponds[f"mart{branch}"] = ({"staging": True}, 90)
        ponds[f"view{branch}"] = ({f"mart{branch}": True}, 20)
    popular = [PondKey(f"view{branch}") for branch in range(office_day.RANKS)]
    return Graph(name="wide fan, rarely used branches", pipeline=_pipeline(ponds), popular=popular)


def _pipeline(ponds: dict[str, tuple[dict[str, bool], int]]) -> Pipeline:
    shapes = [PondShape.of(name, {"r": ()}, sources=sources) for name, (sources, _) in ponds.items()]
    return Pipeline(
        shapes=shapes, timings={(PondKey(name), "r"): Timing(base=each * SECOND) for name, (_, each) in ponds.items()}
    )


def _question(
    graph: Graph,
    day: Sequence[tuple[float, str, int]],
    verb: Callable[[str], ConsumptionVerb],
    actions: Sequence[tuple[int, Verb]] = (),
) -> Question:
    trace: Trace = [
        (START + round(at * SECOND), graph.popular[min(rank, len(graph.popular) - 1)], verb(who))
        for at, who, rank in day
    ]
    changes = {shape.key: CHANGES for shape in graph.pipeline.shapes}
    return Question(pipeline=graph.pipeline, start=START, length=DAY, actions=actions, trace=trace, changes=changes)


def _ours(graph: Graph, way: Way, name: str, day: Sequence[tuple[float, str, int]]) -> Figures:
    standing = [(START, verb) for outlet in graph.pipeline.outlets if (verb := way.standing(outlet)) is not None]
    return play_pondage(_question(graph, day, way.verb, standing), name=name).figures


def _others(graph: Graph, day: Sequence[tuple[float, str, int]]) -> dict[str, Figures]:
    question = _question(graph, day, lambda _: "read")
    found = {name: play_cron(question, interval, name=name).figures for name, interval in CRON.items()}
    return {**found, EAGER: play_eager(question, name=EAGER).figures}


def _rows(what: str, ours: Figures, against: str, other: Figures) -> list[Row]:
    assert ours.consumed is not None
    assert other.consumed is not None
    assert ours.consumed.unanswered == other.consumed.unanswered == 0
    pairs = (
        ("Spark time in a day", ours.spent_us, other.spent_us),
        ("mean age of a consumed result", ours.consumed.mean_age_us or 0, other.consumed.mean_age_us or 0),
    )
    return [
        Row(
            what=f"{what}: {name}",
            ours=round(one / SECOND),
            against=against,
            anchor=round(base / SECOND),
            unit="s",
            n=ours.consumed.consumptions,
        )
        for name, one, base in pairs
    ]


def _table(title: str, policies: Sequence[Figures]) -> Table:
    table = Table(title=title)
    table.add_column("policy")
    for heading in ("Runs", "wasted", "Spark time, min", "mean age, min", "worst age, min", "mean wait, min"):
        table.add_column(heading, justify="right")
    for figures in policies:
        consumed = figures.consumed
        assert consumed is not None
        times = (figures.spent_us, consumed.mean_age_us, consumed.worst_age_us, consumed.mean_wait_us)
        minutes = [f"{(each or 0) / MINUTE:,.1f}" for each in times]
        table.add_row(figures.policy, f"{figures.runs:,}", f"{figures.wasted:,}", *minutes)
    return table
