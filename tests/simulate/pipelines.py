"""Small pipelines to simulate, in whole seconds."""

from collections.abc import Sequence

from pondage.kernel.demand import Occurrences, PondKey, PondShape
from pondage.kernel.demand.events import Verb
from pondage.simulate.pipeline import Pipeline, Timing
from pondage.simulate.whatif import Question, Trace

SECOND = 1_000_000
START = 1_000_000 * SECOND


def chain(*seconds: int, failing: dict[str, set[int]] | None = None) -> Pipeline:
    """A chain p0 > p1 > … with one Ripple `r` each."""
    return pipeline({f"p{n}": ({f"p{n - 1}": True} if n else {}, each) for n, each in enumerate(seconds)}, failing)


def pipeline(ponds: dict[str, tuple[dict[str, bool], int]], failing: dict[str, set[int]] | None = None) -> Pipeline:
    """Ponds with one Ripple `r` each, given as name: (Sources, seconds)."""
    shapes = [PondShape.of(name, {"r": ()}, sources=sources) for name, (sources, _) in ponds.items()]
    return Pipeline(
        shapes=shapes,
        timings={(PondKey(name), "r"): Timing(base=seconds * SECOND) for name, (_, seconds) in ponds.items()},
        failing={(PondKey(name), "r"): frozenset(counts) for name, counts in (failing or {}).items()},
    )


def windowed(length: int, gap: int, *, count: int = 100) -> Pipeline:
    """An Inlet with windows of `length` seconds and `gap` seconds between them, and a Pond that reads it."""
    step = (length + gap) * SECOND
    calendar = Occurrences((START + n * step, START + n * step + length * SECOND) for n in range(count))
    shapes = [PondShape.of("in", {"r": ()}, calendar=calendar), PondShape.of("out", {"r": ()}, sources={"in": True})]
    return Pipeline(shapes=shapes, timings={(shape.key, "r"): Timing(base=SECOND) for shape in shapes})


def question(
    asked: Pipeline, seconds: int, actions: Sequence[tuple[int, Verb]] = (), trace: Trace | None = None, **changes: int
) -> Question:
    """Ask for so many seconds; actions and trace have seconds after the beginning."""
    return Question(
        pipeline=asked,
        start=START,
        length=seconds * SECOND,
        actions=[(START + at * SECOND, verb) for at, verb in actions],
        trace=None if trace is None else [(START + at * SECOND, pond, verb) for at, pond, verb in trace],
        changes={PondKey(name): every * SECOND for name, every in changes.items()},
    )
