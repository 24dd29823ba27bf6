"""Theorem 1: in which tables a plan is linear."""

import pytest

from pondage.plan.incremental.algebra import JoinKind
from pondage.plan.incremental.linear import emptied_branches, linear_leaves
from tests.plan.incremental.plans import aggregate, column, equal, join, only, placed, several, table, where

LEFT, RIGHT = (0,), (1,)


@pytest.mark.parametrize(
    ("kind", "linear"),
    [
        (JoinKind.INNER, {LEFT, RIGHT}),
        (JoinKind.CROSS, {LEFT, RIGHT}),
        (JoinKind.LEFT_OUTER, {LEFT}),
        (JoinKind.LEFT_SEMI, {LEFT}),
        (JoinKind.LEFT_ANTI, {LEFT}),
        (JoinKind.EXISTENCE, {LEFT}),
        (JoinKind.RIGHT_OUTER, {RIGHT}),
        (JoinKind.FULL_OUTER, set()),
    ],
)
def test_a_join_is_linear_in_the_sides_whose_rows_stand_for_themselves(kind: JoinKind, linear: set[object]) -> None:
    plan = placed(join(kind, table("a", 1), table("b", 2), equal(1, 2)))
    assert linear_leaves(plan) == linear


@pytest.mark.parametrize("kind", ["Distinct", "Intersect", "Except", "GlobalLimit", "Deduplicate", "Window", "Unknown"])
def test_what_compares_rows_is_not_linear(kind: str) -> None:
    assert linear_leaves(placed(only(kind, table("a", 1)))) == set()


@pytest.mark.parametrize("kind", ["Filter", "Project", "Generate", "Expand", "Sort", "SubqueryAlias"])
def test_what_looks_at_one_row_is_linear(kind: str) -> None:
    assert linear_leaves(placed(only(kind, table("a", 1)))) == {(0,)}


def test_an_aggregate_below_a_join_takes_only_its_own_table_away() -> None:
    summed = aggregate(table("b", 2), [column(2)], column(2))
    assert linear_leaves(placed(join(JoinKind.INNER, table("a", 1), summed, equal(1, 2)))) == {(0,)}


def test_the_other_branches_of_each_union_on_the_way_are_emptied() -> None:
    inner = several("Union", table("a", 1), table("b", 2))
    plan = placed(several("Union", where(inner), table("c", 3)))
    assert linear_leaves(plan) == {(0, 0, 0), (0, 0, 1), (1,)}
    assert [each.path for each in emptied_branches(plan, (0, 0, 0))] == [(1,), (0, 0, 1)]
