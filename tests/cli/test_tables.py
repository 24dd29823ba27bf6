"""Tables fit the width that there is, and no word of them is ever broken."""

from __future__ import annotations

import time

import msgspec
import pytest

from pondage.cli.printing.layout import line_text, pair_lines, table_lines, unbroken
from pondage.cli.printing.ponds import MOST_OF_AN_ERROR, _short
from pondage.define.pond.definition import ExpectationDefinition
from pondage.kernel.demand.events import Pulse, Wave
from pondage.kernel.demand.shape import PondKey
from pondage.ledger.commit import guarded
from pondage.ledger.kinds.failed import Failed
from pondage.ledger.kinds.ripple import Written
from pondage.ledger.upkeep import reap
from pondage.views.words import old_text
from pondage.work.failure import Failure
from pondage.work.snapshot import ExpectationResult
from tests.cli.conftest import Call
from tests.ledger.harness import SECOND, World, content, pond

LONG = (
    "the column customer_reference_number of the table invoices has 1,204 nulls, and at most 0 are allowed by the rule"
)


def test_an_error_in_a_table_is_one_line_that_does_not_widen_it() -> None:
    assert _short("it broke\nand more") == "it broke"
    assert _short("x" * MOST_OF_AN_ERROR) == "x" * MOST_OF_AN_ERROR
    assert _short("x" * 1_000) == "x" * (MOST_OF_AN_ERROR - 1) + "…"


@pytest.mark.parametrize("width", [None, 80])
def test_a_table_of_many_columns_without_a_row_is_its_head(width: int | None) -> None:
    names = ("day", "borough", "trips", "fare")
    assert [line_text(each).split() for each in table_lines(names, [], width=width)] == [list(names)]


@pytest.fixture
def shop(world: World) -> World:
    """A shop with long names, a rule, Runs that crashed and failed, a Wave, and data of different ages."""
    rule = ExpectationDefinition(name="not_null(customer_reference_number)", kind="not_null", column="n")
    invoices = pond("customer_invoices", sources={"sales": True, "reports": True})
    ripples = tuple(msgspec.structs.replace(each, expectations=(rule,)) for each in invoices.ripples)
    world.deploy(msgspec.structs.replace(invoices, ripples=ripples), project="shop")
    world.clock.time = time.time_ns() // 1_000 - 5 * 3_600 * SECOND
    world.send(Wave(pond=PondKey("reports@1")))
    for number in range(3):
        world.send(Pulse(pond=PondKey("customer_invoices@1")))
        for _ in range(2 if number == 0 else 0):
            crashing = world.worker()
            assert crashing.claim() is not None
            assert reap.reap_process(world.ledger, crashing.row, reason="killed") is not None
            world.clock.time += 3 * SECOND
        worker = world.worker()
        while (held := worker.claim()) is not None:
            ending: Written | Failed = Written(content(held, 1_204_000))
            if held.claim.node == "customer_invoices":
                result = ExpectationResult(name=rule.name, severity="fail", passed=number < 2, observed=LONG, broken=7)
                written = msgspec.structs.replace(content(held, 1_204_000), expectations=(result,))
                failure = Failure(code="EXPECTATION", message=LONG, place="ponds/customer_invoices.py:17")
                ending = Written(written) if number < 2 else Failed(failure)
            assert guarded.commit(world.ledger, held, ending, process=worker.id)
            world.clock.time += 17 * SECOND
            if held.claim.node == "customer_invoices":
                break
        world.pass_time(3_700)
    return world


LISTS = [
    "runs",
    "runs customer_invoices",
    "status --once",
    "checks",
    "lineage customer_invoices",
    "lineage sales",
    "show customer_invoices",
    "show customer_invoices#2",
    "show customer_invoices#3",
    "show orders#1",
]


@pytest.mark.parametrize("line", LISTS)
@pytest.mark.parametrize("width", [80, 140])
def test_every_table_fits_and_breaks_no_word(
    shop: World, call: Call, monkeypatch: pytest.MonkeyPatch, line: str, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", "100000")
    whole = call(*line.split())
    assert whole.code == 0, whole.err
    monkeypatch.setenv("COLUMNS", str(width))
    said = call(*line.split())
    words = set(whole.out.split())
    assert words >= set(said.out.split()) - {"·"}, "a word is broken"
    paths = {word for word in words if "/" in word and len(word) > width // 2}
    too_long = [each for each in said.out.splitlines() if len(each) > width and not set(each.split()) & paths]
    assert too_long == []
    assert any(len(each) > 50 for each in said.out.splitlines()), "the room that there is was used"


def test_a_table_takes_the_room_from_its_longest_texts_and_breaks_lines_at_spaces() -> None:
    rows = [("sales@1", "waits for the Pond that is above it", "#12")]
    lines = [line_text(each) for each in table_lines(("POND", "NOW", "LAST RUN"), rows, width=40)]
    assert lines == [
        "POND     NOW                    LAST RUN",
        "sales@1  waits for the Pond     #12",
        "         that is above it",
    ]


def test_a_row_whose_words_do_not_fit_side_by_side_becomes_pairs() -> None:
    rows = [("a" * 20, "b" * 20), ("c" * 20, "")]
    lines = [line_text(each) for each in table_lines(("LEFT", "RIGHT"), rows, width=30)]
    assert lines == [f"LEFT   {'a' * 20}", f"RIGHT  {'b' * 20}", "", f"LEFT  {'c' * 20}"]


def test_a_long_note_goes_below_its_row_where_it_does_not_fit_beside_it() -> None:
    rows = [("a" * 10, "failed", "because_of_that and more"), ("b" * 10, "ok", "")]
    lines = [line_text(each) for each in table_lines(("RUN", "STATE", "NOTE"), rows, width=22)]
    assert lines == [
        "RUN         STATE",
        "    NOTE",
        "aaaaaaaaaa  failed",
        "    because_of_that",
        "    and more",
        "bbbbbbbbbb  ok",
    ]


def test_a_column_that_has_nothing_is_left_out_of_a_list_and_stays_in_data() -> None:
    rows = [("sales@1", "")]
    assert line_text(table_lines(("POND", "NOTE"), rows)[0]) == "POND"
    assert line_text(table_lines(("POND", "NOTE"), rows, is_whole=True)[0]) == "POND     NOTE"


def test_a_long_value_goes_on_below_its_beginning() -> None:
    lines = [line_text(each) for each in pair_lines([("error", "it went wrong in the middle")], width=27)]
    assert lines == ["error  it went wrong in the", "       middle"]


@pytest.mark.parametrize(
    ("then", "words"), [(0, "1 h"), (3_600, "1 min"), (3_680, "10 s"), (3_690, "0 s"), (3_700, "0 s")]
)
def test_an_age_in_a_narrow_column_has_its_largest_unit_alone(then: int, words: str) -> None:
    assert old_text(then * SECOND, 3_690 * SECOND) == words


def test_what_belongs_together_stays_in_one_line() -> None:
    lines = [line_text(each) for each in table_lines(("TOOK", "NOTE"), [(unbroken("1 min 8 s"), "a b c d")], width=15)]
    assert lines == ["TOOK       NOTE", "1 min 8 s  a b", "           c d"]
