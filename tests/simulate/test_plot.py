"""The picture: well-formed, one row for each Ripple, nothing of a name taken for markup."""

import xml.etree.ElementTree as ElementTree

from pondage.kernel.demand import PondKey
from pondage.kernel.demand.events import Wave
from pondage.simulate.plot import MOST_BARS, clock, svg
from pondage.simulate.whatif import SECOND, play_eager, play_pondage
from tests.simulate.pipelines import START, chain, question

NAMESPACE = "{http://www.w3.org/2000/svg}"


def drawn(text: str) -> tuple[list[ElementTree.Element], list[str]]:
    root = ElementTree.fromstring(text)
    bars = [each for each in root.iter(f"{NAMESPACE}rect") if each.get("rx")]
    return bars, [each.text or "" for each in root.iter(f"{NAMESPACE}text")]


def test_every_execution_is_a_bar_and_every_ripple_has_a_name() -> None:
    asked = chain(1, 2)
    played = play_pondage(question(asked, 20, [(0, Wave(pond=PondKey("p1")))]))
    bars, words = drawn(svg(asked, played.recorder, start=START, end=START + 20 * SECOND, title="a <b> & c"))
    assert len(bars) == len(played.recorder.spans)
    assert {"p0.r", "p1.r", "a <b> & c", "staleness", "0:00", "0:20"} <= set(words)


def test_what_nobody_used_is_pale_and_what_failed_is_red() -> None:
    asked = chain(1, 5, failing={"p0": {3}})
    played = play_eager(question(asked, 60))
    bars, _ = drawn(svg(asked, played.recorder, start=START, end=START + 60 * SECOND, title=""))
    assert sum(each.get("fill") == "#d00000" for each in bars) == 1
    assert sum(each.get("fill-opacity") is not None for each in bars) == played.figures.wasted


def test_a_long_simulation_shows_its_beginning_and_says_so() -> None:
    asked = chain(1, 1)
    played = play_pondage(question(asked, 4000, [(0, Wave(pond=PondKey("p1")))]))
    text = svg(asked, played.recorder, start=START, end=START + 4000 * SECOND, title="")
    bars, words = drawn(text)
    assert MOST_BARS - 2 <= len(bars) <= MOST_BARS  # those that begin with the first left out are left out too
    assert any("of 1:06:40" in each for each in words)
    assert len(text) < 100_000


def test_an_outlet_that_never_ran_is_drawn_without_a_line() -> None:
    asked = chain(1, 1)
    played = play_pondage(question(asked, 10))
    bars, words = drawn(svg(asked, played.recorder, start=START, end=START + 10 * SECOND, title=""))
    assert bars == []
    assert "p1" in words


def test_a_clock_has_hours_only_when_there_are_some() -> None:
    assert [clock(each * SECOND) for each in (5, 750, 3600)] == ["0:05", "12:30", "1:00:00"]
