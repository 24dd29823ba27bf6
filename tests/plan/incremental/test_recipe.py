"""How a result is kept up to date, by its plan and the ways in which its tables change."""

import msgspec
import pytest

from pondage.plan.incremental.algebra import JoinKind, Node, Sign
from pondage.plan.incremental.recipe import decide
from tests.plan.incremental.plans import (
    aggregate,
    aggregate_of,
    call,
    column,
    equal,
    join,
    named,
    only,
    placed,
    project,
    table,
    where,
    window,
)  # fmt: skip

A = table("a", 1, 2)
GROWS, CHANGES = {"a": Sign.APPEND}, {"a": Sign.CHANGE}


def summed(function: str = "Sum", *, is_distinct: bool = False, rounds: bool = False) -> Node:
    made = aggregate_of(function, column(2), is_distinct=is_distinct)
    return aggregate(A, [column(1)], column(1), named(8, made), rounds=rounds)


def how(node: Node, kinds: dict[str, Sign]) -> str:
    return decide(placed(node), kinds).name


def test_nothing_is_done_for_tables_that_are_not_read() -> None:
    assert how(A, {"b": Sign.CHANGE}) == "nothing"


def test_rows_that_come_are_appended_and_rows_that_go_are_found_by_their_key() -> None:
    plan = where(project(A, column(1)), call("IsNotNull", column(1)))
    assert (how(plan, GROWS), how(plan, CHANGES)) == ("append", "keyed")


def test_without_a_key_rows_are_taken_out_one_by_one() -> None:
    doubled = project(A, named(5, call("Multiply", column(1), column(2))))
    assert (how(doubled, GROWS), how(doubled, CHANGES)) == ("append", "bagdiff")


@pytest.mark.parametrize(
    ("function", "grows", "changes"),
    [
        ("Sum", "merge", "merge"),
        ("Count", "merge", "merge"),
        ("Average", "merge", "merge"),
        ("Min", "merge", "keyed"),
        ("Max", "merge", "keyed"),
        ("Percentile", "keyed", "keyed"),
        ("CollectSet", "keyed", "keyed"),
    ],
)
def test_an_aggregate_is_added_to_where_it_can_forget(function: str, grows: str, changes: str) -> None:
    assert (how(summed(function), GROWS), how(summed(function), CHANGES)) == (grows, changes)


def test_distinct_counts_and_sums_of_floats_are_not_taken_back() -> None:
    assert how(summed("Count", is_distinct=True), GROWS) == "keyed"
    assert (how(summed(rounds=True), GROWS), how(summed(rounds=True), CHANGES)) == ("merge", "keyed")


def test_what_is_above_a_kept_aggregate_is_a_tip() -> None:
    assert how(where(summed(), call("IsNotNull", column(8))), CHANGES) == "merge,then tip"
    assert how(only("GlobalLimit", only("Sort", summed())), CHANGES) == "merge,then tip"
    assert how(project(summed(), column(8)), CHANGES) == "merge"


def test_an_aggregate_of_an_aggregate_takes_slices_back() -> None:
    inner = project(summed("Count"), column(8))
    outer = aggregate(inner, [column(8)], column(8), named(9, aggregate_of("Count", column(8))))
    recipe = decide(placed(outer), CHANGES)
    assert (recipe.name, [(cut.path, cut.base) for cut in recipe.cuts]) == ("merge", [((), (0, 0))])


def test_a_key_that_is_not_in_the_result_is_kept_beside_it() -> None:
    joined = join(JoinKind.LEFT_OUTER, A, table("b", 3, 4), equal(1, 3))
    recipe = decide(placed(project(joined, column(2), column(4))), {"b": Sign.CHANGE})
    assert [(cut.path, cut.how) for cut in recipe.cuts] == [((0,), "keyed")]


def test_a_limit_finds_the_sort_that_it_stands_on_above_what_is_kept() -> None:
    made = summed("CollectSet")
    recipe = decide(placed(only("GlobalLimit", only("Sort", made))), CHANGES)
    assert [cut.path for cut in recipe.cuts] == [(0, 0)]
    # The sort is below a projection here, and still the limit depends on it.
    recipe = decide(placed(only("GlobalLimit", project(only("Sort", made), column(1)))), CHANGES)
    assert [cut.path for cut in recipe.cuts] == [(0, 0, 0)]


def test_each_changed_table_must_be_below_a_cut() -> None:
    total = aggregate(table("b", 3), [], named(8, aggregate_of("Sum", column(3))))
    plan = join(JoinKind.INNER, A, total, call("LessThan", column(1), column(8)))
    assert how(plan, {"a": Sign.APPEND}) == "append"
    assert how(plan, {"b": Sign.APPEND}) == "merge,then tip"
    assert how(plan, {"a": Sign.APPEND, "b": Sign.APPEND}) == "full"


def test_a_choice_is_not_made_again_for_rows_that_stay() -> None:
    first = only("Deduplicate", table("b", 3, 4), keys=(column(3),))
    joined = join(JoinKind.INNER, A, first, equal(1, 4))
    assert how(joined, GROWS) == "full"


def test_a_hidden_table_that_changes_stops_everything() -> None:
    hidden = msgspec.structs.replace(where(A, call("IsNotNull", column(1))), hidden=frozenset({"c"}))
    assert how(hidden, GROWS) == "append"
    assert how(hidden, {"a": Sign.APPEND, "c": Sign.APPEND}) == "full"


def test_a_full_run_says_what_stops_it() -> None:
    ranked = window(A, [], named(8, call("WindowExpression", call("Rank"))))
    assert decide(placed(ranked), GROWS).reason == "Window has no partition, so every row may depend on every other"
