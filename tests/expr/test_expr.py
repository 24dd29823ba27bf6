"""The safe expression language: what it says, what it refuses, and that nothing gets out of it."""

from __future__ import annotations

import random
import sys

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pondage.expr import ExprError, ExprSyntax, ExprTimeout, Missing, Node, compile_text, evaluate, is_true
from pondage.expr.nodes import children
from tests.expr.attacks import ATTACKS


class Names:
    def __init__(self, **values: object) -> None:
        self.values = values
        self.context = {"env": "prod", "limits": {"rows": 10}}

    def name(self, name: str) -> object:
        if name not in self.values:
            raise Missing(name)
        return self.values[name]

    glob = name


NAMES = Names(x=3, text="abc", names=["p", "q"], table={"a": {"b": 1}}, none=None, long="z" * 9_000)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("42", 42),
        ("3.14", 3.14),
        ("'prod'", "prod"),
        ('"a\\"b"', 'a"b'),
        ("x > 2", True),
        ("1 < x <= 3", True),
        ("(text == 'abc') and (x < 3)", False),
        ("x * 2 + 1", 7),
        ("-x // 2", -2),
        ("7 % 4 / 2", 1.5),
        ("not x == 3", False),
        ("len(names) == 2 or 1 / 0", True),
        ("'p' in names", True),
        ("'d' not in text", True),
        ("global.x + global['x']", 6),
        ("context.env == 'prod'", True),
        ("context.limits.rows", 10),
        ("table.a.b", 1),
        ("table['a']['b']", 1),
        ("names[0]", "p"),
        ("max(1, x, 2) - min(4, x)", 0),
        ("abs(0 - 5)", 5),
        ("round(2.567, 1)", 2.6),
        ("int('12') + float('1.5')", 13.5),
        ("upper(lower('Ab')) == 'AB'", True),
        ("startswith(text, 'ab') and endswith(text, 'c')", True),
        ("[1, x] == [1, 3]", True),
        ("x in (1, 2, 3)", True),
        ("none == None", True),
        ("True and not False", True),
    ],
)
def test_what_an_expression_is_worth(text: str, value: object) -> None:
    assert evaluate(compile_text(text), NAMES) == value


@pytest.mark.parametrize("text", ["nope > 0", "not nope", "global.nope == 1 or 1 == 1", "table.z == 1", "x + nope"])
def test_a_missing_name_makes_the_whole_condition_false(text: str) -> None:
    assert is_true(compile_text(text), NAMES) is False


@pytest.mark.parametrize(
    "text",
    ["text > 3", "1 / 0", "context.nope == 1", "names.a", "x.y", "text * 2", "text % 2", "1 in 2", "len(1)", "x[0]",
     "int('x')", "global == 1", "context[1]", "text + 1", "names[9]", "min(1, 'a')"],
)  # fmt: skip
def test_any_other_failure_is_an_error(text: str) -> None:
    with pytest.raises(ExprError):
        evaluate(compile_text(text), NAMES)


@pytest.mark.parametrize("text", [attack for attack in ATTACKS if attack != "len"])
def test_an_attack_is_refused_before_anything_runs(text: str) -> None:
    with pytest.raises(ExprSyntax) as caught:
        compile_text(text)
    assert 1 <= caught.value.column <= max(len(text) + 1, 1001)


@pytest.mark.parametrize(
    "text",
    ["long + long", "x * 99999999999999999999999999999999 * 99999999999999999999999999999999 * 99999999999999999999",
     "round(x, 1000000)"],
)  # fmt: skip
def test_what_only_grows_at_evaluation_is_bounded_there(text: str) -> None:
    with pytest.raises(ExprError):
        evaluate(compile_text(text), NAMES)


def test_the_budget_counts_nodes_and_the_size_of_what_is_compared() -> None:
    tree = compile_text("x + x + x + x + x > 0")
    with pytest.raises(ExprTimeout):
        evaluate(tree, NAMES, 3)
    assert evaluate(tree, NAMES, 11) is True
    with pytest.raises(ExprTimeout):
        evaluate(tree, NAMES, 10)
    wide = Names(rows=list(range(10_000)))
    member = compile_text("1 in rows")
    assert evaluate(member, wide, 103) is True
    with pytest.raises(ExprTimeout):
        evaluate(member, wide, 102)


def test_values_that_are_nested_too_deeply_are_an_error_and_nothing_worse() -> None:
    one, other = [], []  # type: ignore[var-annotated]
    for _ in range(sys.getrecursionlimit() * 100):
        one, other = [one], [other]
    for text in ("x == y", "x < y", "x in [y]", "min(x, y)"):
        with pytest.raises(ExprError, match="RecursionError"):
            evaluate(compile_text(text), Names(x=one, y=other), 10**9)


def test_a_tree_goes_through_json() -> None:
    tree = compile_text("not (x > 1 and names[0] in ['p']) or len(text) == -3.5")
    assert msgspec.json.decode(msgspec.json.encode(tree), type=Node) == tree


@settings(max_examples=400, deadline=None)
@given(st.text(alphabet="x1.'\"()[]+-*/%<>=!,andortin global_\\", max_size=60))
def test_no_text_does_anything_but_parse_or_be_refused(text: str) -> None:
    try:
        tree = compile_text(text)
    except ExprSyntax:
        return
    try:
        evaluate(tree, NAMES)
    except (ExprError, ExprTimeout, Missing):
        return


def test_random_expressions_end_within_their_budget() -> None:
    rng = random.Random(7)
    for _ in range(1_500):
        text = expression(rng, 4)
        tree = compile_text(text)
        assert size(tree) <= 200
        try:
            evaluate(tree, NAMES, 500)
        except (ExprError, ExprTimeout, Missing):
            continue


def expression(rng: random.Random, depth: int) -> str:
    if depth == 0:
        return rng.choice(["1", "x", "text", "'a'", "names", "2.5", "global.x", "None", "nope", "context.env"])
    one, other = expression(rng, depth - 1), expression(rng, depth - 2 if depth > 1 else 0)
    return rng.choice(
        [f"({one} {rng.choice(['+', '-', '*', '/', '<', '==', 'in', 'and', 'or'])} {other})", f"(not {one})",
         f"len({one})", f"[{one}, {other}]", f"max({one}, {other})", f"({one})[0]"]
    )  # fmt: skip


def size(tree: Node) -> int:
    return 1 + sum(size(child) for child in children(tree))
