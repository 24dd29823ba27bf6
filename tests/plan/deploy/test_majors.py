"""Major versions that stay: whoever reads one is moved by nobody but himself."""

from __future__ import annotations

import pytest

from pondage.define.pond.definition import PondDefinition, SourceDefinition
from pondage.errors import PondageError
from pondage.plan.deploy.majors import rebinding_problems
from pondage.plan.deploy.planner import Ground, make_plan
from pondage.plan.deploy.values import Deployed, Plan
from tests.plan.deploy.test_planning import a_pond, codes, deployed, plan, ripple

EVENTS, BOARD = a_pond("events"), a_pond("board", "by_kind")
ONE, TWO = a_pond("by_kind", "events"), a_pond("by_kind", "events", version="2.0.0")
MOVED = a_pond("board", SourceDefinition(pond="by_kind", minimum=(2, 0, 0)))


def bindings(made: Plan, name: str) -> list[str]:
    return [f"{source.pond}@{source.major}" for pond in made.ponds if pond.name == name for source in pond.sources]


def after(*ponds: PondDefinition, on: Plan, ground: Ground | None = None) -> Plan:
    """The plan of these files where the other plan is deployed, with what it kept."""
    return make_plan(ponds, there(on), project="shop", ground=ground)


def there(made: Plan) -> list[Deployed]:
    return deployed(made)


def test_a_sink_without_a_minimum_binds_to_the_newest_major_at_its_first_deploy():
    assert bindings(plan(EVENTS, ONE, TWO, BOARD), "board") == ["by_kind@2"]


def test_a_sink_stays_on_its_major_when_another_one_is_deployed_and_the_plan_offers_the_move():
    made = after(EVENTS, ONE, TWO, BOARD, on=plan(EVENTS, ONE, BOARD))
    assert bindings(made, "board") == ["by_kind@1"]
    assert made.added == ("by_kind@2",)
    assert not made.changed
    assert [each.text for each in made.messages if each.kind == "newer_major"] == [
        "board reads by_kind@1; @2 exists: write `by_kind>=2`"
    ]


def test_a_sink_stays_on_a_major_of_another_project_when_that_deploys_a_newer_one():
    shop = make_plan([BOARD], deployed(plan(EVENTS, ONE, project="bank")), project="shop")
    now = [*deployed(plan(EVENTS, ONE, TWO, project="bank")), *deployed(shop)]
    assert bindings(make_plan([BOARD], now, project="shop"), "board") == ["by_kind@1"]


def test_a_major_that_leaves_the_files_is_kept_while_a_sink_is_bound_to_it():
    made = after(EVENTS, TWO, BOARD, on=plan(EVENTS, ONE, BOARD))
    assert made.removed == ()
    assert [(each.key, each.binders) for each in made.kept] == [("by_kind@1", ("board",))]
    assert bindings(made, "board") == ["by_kind@1"]
    assert not made.problems
    assert not [each for each in made.messages if each.kind in ("not_deployed", "removed_source")]


def test_a_major_that_leaves_the_files_goes_when_nobody_is_bound_to_it():
    assert after(EVENTS, TWO, on=plan(EVENTS, ONE)).removed == ("by_kind@1",)


def test_a_kept_major_goes_with_the_deploy_in_which_its_last_reader_moves():
    made = after(EVENTS, TWO, MOVED, on=plan(EVENTS, ONE, BOARD))
    assert (made.removed, made.kept) == (("by_kind@1",), ())
    (change,) = made.changed
    assert [each.text for each in change.rebound] == ["by_kind@1 → @2"]
    assert change.runs, "what it reads is another table"


def test_what_a_kept_major_reads_is_kept_with_it():
    on = plan(EVENTS, ONE, BOARD)
    made = after(a_pond("by_kind", version="2.0.0"), BOARD, on=on)
    assert [(each.key, each.binders) for each in made.kept] == [
        ("by_kind@1", ("board",)),
        ("events@1", ("by_kind@1",)),
    ]


def test_a_major_is_kept_for_a_reader_of_another_project():
    bank = plan(EVENTS, ONE, project="bank")
    shop = make_plan([BOARD], deployed(bank), project="shop")
    made = make_plan([EVENTS, TWO], [*deployed(bank), *deployed(shop)], project="bank")
    assert [each.key for each in made.kept] == ["by_kind@1"]


def test_a_major_is_kept_for_what_else_is_bound_to_it():
    ground = Ground(holders={ONE_KEY: ("its wave",)})
    made = after(EVENTS, TWO, on=plan(EVENTS, ONE), ground=ground)
    assert [(each.key, each.binders) for each in made.kept] == [("by_kind@1", ("its wave",))]


ONE_KEY = plan(EVENTS, ONE).added[0]


def test_a_kept_major_is_ended_explicitly_and_its_reader_stays_bound_to_it():
    ground = Ground(ended=("by_kind@1",))
    on = plan(EVENTS, ONE, BOARD)
    made = after(EVENTS, TWO, BOARD, on=on, ground=ground)
    assert (made.removed, made.kept) == (("by_kind@1",), ())
    assert bindings(made, "board") == ["by_kind@1"], "nobody is moved by force"
    assert {each.kind for each in made.messages if each.pond == "board@1"} == {"not_deployed", "newer_major"}
    later = make_plan([EVENTS, TWO, BOARD], deployed(made), project="shop", ground=Ground(gone=made.removed))
    assert bindings(later, "board") == ["by_kind@1"]


@pytest.mark.parametrize(("given", "code"), [("by_kind@2", "STILL_DECLARED"), ("nothing@1", "NO_POND")])
def test_only_what_has_left_the_files_can_be_ended(given: str, code: str):
    with pytest.raises(PondageError) as caught:
        after(EVENTS, TWO, BOARD, on=plan(EVENTS, ONE, BOARD), ground=Ground(ended=(given,)))
    assert caught.value.code == code


def test_a_major_that_never_was_is_no_binding():
    made = after(EVENTS, TWO, BOARD, on=plan(BOARD))
    assert bindings(made, "board") == ["by_kind@2"]
    assert [each.text for each in made.changed[0].rebound] == ["by_kind@1 → @2"]


def test_a_kept_major_still_needs_the_ripples_that_it_reads():
    both = a_pond("events", ripples=(ripple("events"), ripple("raw")))
    reader = a_pond("by_kind", "events", ripples=(ripple("by_kind", "events.raw"),))
    made = after(EVENTS, TWO, BOARD, on=plan(both, reader, BOARD))
    assert codes(made) == ["NO_SUCH_RIPPLE"]
    assert "has left the files and stays deployed" in made.problems[0].message


def test_below_another_environment_a_sink_is_bound_as_it_is_above():
    above = {each.key: each.definition for each in deployed(plan(EVENTS, ONE, BOARD))}
    made = make_plan([EVENTS, TWO, BOARD], [], project="shop", environment="dev", ground=Ground(above=above))
    assert bindings(made, "board") == ["by_kind@1"]
    assert not [each for each in made.messages if each.kind == "not_deployed"], "it is read from above"


def test_a_binding_that_would_miss_columns_that_are_read_is_refused():
    on = plan(EVENTS, ONE, TWO, a_pond("board", SourceDefinition(pond="by_kind", minimum=(1, 0, 0))))
    made = after(EVENTS, ONE, TWO, MOVED, on=on)
    own = {change.key: next(pond for pond in made.ponds if pond.name == "board") for change in made.changed}
    schema = '{"type":"struct","fields":[{"name":"kind","type":"string","nullable":true,"metadata":{}}]}'
    read = {key: {"by_kind@1.by_kind": {"kind", "n"}} for key in own}
    found = rebinding_problems(made.changed, own, read, {"by_kind@2.by_kind": schema}, ())
    assert [each.code for each in found] == ["NO_SUCH_COLUMN"]
    assert "by_kind@1 → @2, but it reads n, which by_kind@2.by_kind has not" in found[0].message
    assert not rebinding_problems(made.changed, own, read, {"by_kind@2.by_kind": schema}, ["by_kind@2"])  # type: ignore[list-item]
    less = {key: {"by_kind@1.by_kind": {"kind"}} for key in own}
    assert not rebinding_problems(made.changed, own, less, {"by_kind@2.by_kind": schema}, ())
