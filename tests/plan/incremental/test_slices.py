"""Theorem 2: by what each table may be restricted when a column of the result is in a set of keys."""

import msgspec
import pytest

from pondage.plan.incremental.algebra import Expression, JoinKind, Node
from pondage.plan.incremental.slices import cover, slices
from tests.plan.incremental.plans import (
    aggregate,
    aggregate_of,
    call,
    column,
    equal,
    join,
    named,
    only,
    outputs,
    placed,
    project,
    several,
    table,
    where,
    window,
)  # fmt: skip

LEFT, RIGHT = (0,), (1,)
COUNT = aggregate_of("Count", column(1))


def two(kind: JoinKind, *condition: Expression) -> Node:
    """A join of a(1, 2) and b(3, 4)."""
    return placed(join(kind, table("a", 1, 2), table("b", 3, 4), *condition))


@pytest.mark.parametrize(
    ("kind", "position", "found"),
    [
        (JoinKind.INNER, 0, {LEFT: 1, RIGHT: 3}),
        (JoinKind.INNER, 2, {LEFT: 1, RIGHT: 3}),
        (JoinKind.INNER, 1, {LEFT: 2}),
        (JoinKind.LEFT_OUTER, 0, {LEFT: 1, RIGHT: 3}),
        (JoinKind.LEFT_OUTER, 2, {}),
        (JoinKind.LEFT_SEMI, 0, {LEFT: 1, RIGHT: 3}),
        (JoinKind.LEFT_ANTI, 0, {LEFT: 1, RIGHT: 3}),
        (JoinKind.EXISTENCE, 0, {LEFT: 1, RIGHT: 3}),
        (JoinKind.RIGHT_OUTER, 2, {LEFT: 1, RIGHT: 3}),
        (JoinKind.RIGHT_OUTER, 0, {}),
        (JoinKind.FULL_OUTER, 0, {}),
        (JoinKind.FULL_OUTER, 2, {}),
    ],
)
def test_a_join_pushes_a_key_to_the_sides_that_it_decides(kind: JoinKind, position: int, found: object) -> None:
    assert {path: each.id for path, each in slices(two(kind, equal(1, 3)), position).items()} == found


def test_a_full_join_has_a_key_that_is_the_first_of_both_sides() -> None:
    both = call("Coalesce", column(1), column(3))
    plan = placed(project(two(JoinKind.FULL_OUTER, equal(1, 3)), named(9, both)))
    assert slices(plan, 0) == {(0, 0): column(1), (0, 1): column(3)}
    other = placed(project(two(JoinKind.FULL_OUTER, equal(2, 4)), named(9, both)))
    assert slices(other, 0) == {}


def test_a_null_aware_anti_join_leaves_its_right_side_whole() -> None:
    same = equal(1, 3)
    plan = two(JoinKind.LEFT_ANTI, call("Or", same, call("IsNull", same)))
    assert set(slices(plan, 0)) == {LEFT}


def test_an_or_implies_only_what_both_of_its_sides_do() -> None:
    one, other = equal(1, 3), equal(2, 4)
    both = call("Or", call("And", one, other), one)
    assert set(slices(two(JoinKind.INNER, both), 0)) == {LEFT, RIGHT}
    assert set(slices(two(JoinKind.INNER, call("Or", one, other)), 0)) == {LEFT}


def test_a_filter_closes_a_request_under_its_equalities() -> None:
    crossed = join(JoinKind.CROSS, table("a", 1), table("b", 2))
    assert set(slices(placed(where(crossed, equal(1, 2))), 0)) == {(0, 0), (0, 1)}


def test_only_casts_that_widen_whole_numbers_tell_no_values_apart() -> None:
    wide = call("EqualTo", call("Cast", column(1), type_name="long"), column(3, "long"))
    assert set(slices(two(JoinKind.INNER, wide), 0)) == {LEFT, RIGHT}
    narrow = call("EqualTo", call("Cast", column(1, "string"), type_name="integer"), column(3))
    text = msgspec.structs.replace(table("a", 1), output=(msgspec.structs.replace(outputs(1)[0], type="string"),))
    plan = placed(join(JoinKind.INNER, text, table("b", 3), narrow))
    assert set(slices(plan, 0)) == {LEFT}
    # By the cast it may be restricted: it is a function of the column.
    assert slices(plan, 1) == {LEFT: call("Cast", column(1, "string"), type_name="integer"), RIGHT: column(3)}


def test_the_groups_of_an_aggregate_are_keys_and_its_results_are_not() -> None:
    plan = placed(aggregate(table("a", 1, 2), [column(1)], column(1), named(8, COUNT)))
    assert (slices(plan, 0), slices(plan, 1)) == ({(0,): column(1)}, {})
    assert slices(placed(aggregate(table("a", 1), [], named(8, COUNT))), 0) == {}


def test_a_window_is_sliced_by_functions_of_its_partition_only() -> None:
    made = named(8, call("WindowExpression", aggregate_of("Sum", column(2))))
    plan = placed(window(table("a", 1, 2), [1], made))
    assert [bool(slices(plan, at)) for at in range(3)] == [True, False, False]
    assert slices(placed(window(table("a", 1, 2), [], made)), 0) == {}


def test_two_windows_leave_what_both_are_partitioned_by() -> None:
    made = named(8, call("WindowExpression", aggregate_of("Sum", column(2))))
    inner = window(table("a", 1, 2), [1], made)
    assert slices(placed(window(inner, [2], named(9, call("Rank")))), 0) == {}


@pytest.mark.parametrize("kind", ["GlobalLimit", "LocalLimit", "Offset", "Tail", "Unknown"])
def test_a_limit_and_what_is_unknown_have_no_key(kind: str) -> None:
    assert slices(placed(only(kind, table("a", 1))), 0) == {}


@pytest.mark.parametrize("kind", ["Union", "Intersect", "Except"])
def test_sets_are_sliced_by_position(kind: str) -> None:
    plan = placed(several(kind, table("a", 1, 2), table("b", 3, 4)))
    assert slices(plan, 1) == {LEFT: column(2), RIGHT: column(4)}


def test_what_a_rollup_sets_to_null_is_no_key() -> None:
    null = Expression(kind="Literal", type="integer", detail=(("value", "null"),))
    rolled = msgspec.structs.replace(
        only("Expand", table("a", 1, 2)),
        output=outputs(11, 12),
        rows=((column(1), column(2)), (column(1), null)),
    )
    plan = placed(rolled)
    assert (slices(plan, 0), slices(plan, 1)) == ({(0,): column(1)}, {})


def test_a_generated_column_is_no_key() -> None:
    made = msgspec.structs.replace(only("Generate", table("a", 1)), output=outputs(1, 5))
    assert (set(slices(placed(made), 0)), slices(placed(made), 1)) == ({(0,)}, {})


@pytest.mark.parametrize("type_name", ["double", "float", '{"type":"array"}', "string collate UTF8_LCASE", ""])
def test_a_column_whose_equal_values_may_differ_is_no_key(type_name: str) -> None:
    leaf = table("a", 1)
    typed = msgspec.structs.replace(leaf, output=(msgspec.structs.replace(leaf.output[0], type=type_name),))
    assert slices(placed(only("Distinct", typed)), 0) == {}


def test_functions_of_users_are_equal_to_nothing() -> None:
    plan = placed(project(table("a", 1), named(5, call("PythonUDF", column(1)))))
    assert slices(plan, 0) == {}


def test_a_cover_takes_the_column_that_reaches_most_tables_first() -> None:
    groups = cover(two(JoinKind.LEFT_OUTER, equal(1, 3)), [LEFT, RIGHT])
    assert groups is not None
    assert [(each.key, each.covers) for each in groups] == [((0,), (LEFT, RIGHT))]


def test_a_cover_takes_several_keys_where_one_does_not_reach_all() -> None:
    groups = cover(two(JoinKind.INNER, equal(2, 3)), [LEFT, RIGHT])
    assert groups is not None
    assert {path for each in groups for path in each.covers} == {LEFT, RIGHT}
    assert cover(two(JoinKind.FULL_OUTER, equal(1, 3)), [LEFT]) is None


def test_a_key_takes_further_columns_that_reach_the_same_tables() -> None:
    groups = cover(placed(only("Distinct", table("a", 1, 2))), [(0,)])
    assert groups is not None
    assert [each.key for each in groups] == [(0, 1)]


def test_a_slice_that_would_choose_anew_among_other_rows_is_no_key() -> None:
    first = aggregate(table("b", 3, 4), [column(4)], named(3, column(4)), named(7, aggregate_of("First", column(3))))
    plan = placed(join(JoinKind.INNER, table("a", 1), first, equal(1, 7)))
    assert cover(plan, [LEFT]) is None
