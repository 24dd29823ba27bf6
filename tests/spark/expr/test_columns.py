"""Expressions as Columns mean what the evaluator says, and no text ever reaches Spark's parser."""

from __future__ import annotations

import math
import random
import re
import sys
from collections import Counter
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from pondage.errors import PondageError
from pondage.expr import ExprError, compile_text, evaluate
from pondage.expr.kinds import KindClash, Shape, shape_of
from pondage.spark.expr.columns import column_of, condition_of
from pondage.spark.expr.values import ExpressionType
from tests.expr.attacks import ATTACKS
from tests.spark.expr.random_expressions import SCHEMA, expression, rows

pytestmark = pytest.mark.spark


class Row:
    def __init__(self, values: dict[str, object]) -> None:
        self.values = values
        self.context: dict[str, object] = {}

    def name(self, name: str) -> object:
        return self.values[name]

    glob = name


def told(text: str, row: dict[str, object]) -> object:
    try:
        return evaluate(compile_text(text), Row(row))
    except ExprError:
        return None


def is_same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float | int) and not isinstance(other, bool):
        return math.isclose(one, other, rel_tol=1e-12) or (math.isnan(one) and math.isnan(other))
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_expressions_mean_the_same_as_in_the_evaluator(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(sys.modules["pondage.expr.evaluate"], "MAX_INT_BITS", 63)
    chance = random.Random(seed)
    frame = spark.createDataFrame(rows(chance, 40), SCHEMA).coalesce(1)
    kinds = ["bool", "bool", "int", "float", "text"]
    texts = [expression(chance, chance.choice(kinds), 3) for _ in range(70)]
    columns = [column_of(frame, text).alias(f"e{number}") for number, text in enumerate(texts)]
    known = frame.columns
    wrong = []
    values = 0
    for row in frame.select(*known, *columns).collect():
        data = {name: row[name] for name in known}
        for number, text in enumerate(texts):
            want, got = told(text, data), row[f"e{number}"]
            values += want is not None
            if not is_same(want, got):
                wrong.append(f"{text} over {data}: {want!r} became {got!r}")
    assert not wrong, "\n".join(wrong[:5])
    assert values > 1_000


def one(spark: SparkSession) -> DataFrame:
    return spark.range(1).select(
        F.lit(2.5).alias("f"), F.lit(3).alias("n"), F.lit("abc").alias("s"), F.lit(True).alias("p"),
        F.lit("2026-03-01").cast("date").alias("day"), F.lit("2026-03-01 10:00:00").cast("timestamp").alias("at"),
        F.lit("1.25").cast("decimal(10,2)").alias("price"), F.array(F.lit(1), F.lit(2)).alias("xs"),
        F.struct(F.lit(1).alias("inner"), F.lit("z").alias("name")).alias("deep"), F.lit(5).alias("odd`name.x"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("day >= '2026-02-28' and day < '2026-03-02'", True),
        ("at == '2026-03-01T10:00:00'", True),
        ("'2026-03-01T09:00:00' < at", True),
        ("float(price * 2)", 2.5),
        ("price > 1 and price < 1.5", True),
        ("deep.inner + deep['inner']", 2),
        ("deep.name", "z"),
        ("global.limit > n", True),
        ("context.env == 'test' and context.limits.rows == 7", True),
        ("n in context.numbers", True),
        ("round(f, 1)", 2.5),
        ("round(n, -1)", 0),
        ("9223372036854775807 + 1", None),
        ("n // 0", None),
        ("'ä€'[1]", "€"),
    ],
)
def test_what_a_column_is_worth(spark: SparkSession, text: str, value: object) -> None:
    outside: Any = {
        "globals": {"limit": 10},
        "context": {"env": "test", "limits": {"rows": 7}, "numbers": [1, 3]},
    }
    frame = one(spark)
    assert frame.select(column_of(frame, text, **outside).alias("v")).collect()[0].v == value


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("p and n + s > 1", "n + s"),
        ("n == 's'", 'n == "s"'),
        ("not (s < 1)", "s < 1"),
        ("len(n)", "len(n)"),
        ("nope > 1", "nope"),
        ("deep.nope", "deep.nope"),
        ("global.nope == 1", "global.nope"),
        ("day > 'soon'", "day"),
        ("s and p", "s and p"),
        ("[1, 2]", "[1, 2]"),
        ("xs > 1", "xs > 1"),
        ("p + 1", "p + 1"),
        ("n < None", "n < None"),
        ("1267650600228229401496703205376 > n", "1267650600228229401496703205376"),
        ("round(f, n)", "round(f, n)"),
        ("global", "global"),
    ],
)
def test_kinds_that_do_not_meet_are_refused_and_the_part_is_shown(spark: SparkSession, text: str, part: str) -> None:
    with pytest.raises(ExpressionType) as raised:
        column_of(one(spark), text, globals={}, context={})
    assert part in raised.value.message


def test_a_condition_that_cannot_be_told_is_null_and_keeps_no_row(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1,), (0,), (None,)], "n bigint").coalesce(1)
    assert [row.n for row in frame.where(condition_of(frame, "10 / n > 1")).collect()] == [1]
    assert frame.where(condition_of(frame, "10 / n > 1").isNull()).count() == 2


SPARK_ATTACKS = [
    "reflect('java.lang.System', 'getProperty', 'user.home')",
    "java_method('java.lang.System', 'getenv', 'HOME')",
    "s) UNION SELECT 1 --",
    "deep.*",
    "*",
    "`s`",
    "(select 1)",
    "cast(s as int)",
    "current_user()",
]


def test_no_attack_becomes_a_column(spark: SparkSession) -> None:
    frame = one(spark)
    for text in [*ATTACKS, *SPARK_ATTACKS]:
        with pytest.raises(PondageError):
            column_of(frame, text)


def test_texts_inside_an_expression_stay_texts(spark: SparkSession) -> None:
    frame = one(spark)
    for text in ("reflect('java.lang.System')", "' or 1=1 --", "${env:HOME}", "`s`", "{{s}}"):
        column = column_of(frame, "s + global.text", globals={"text": text})
        assert frame.select(column.alias("v")).collect()[0].v == f"abc{text}"


def test_a_nested_expression_cannot_blow_up_the_plan(spark: SparkSession) -> None:
    text = "n"
    for _ in range(25):
        text = f"({text} or n)"
    with pytest.raises(ExpressionType, match="too large"):
        column_of(one(spark), f"{text} > 0")


SHAPES = {
    "a": Shape("int"), "b": Shape("int"), "x": Shape("float"), "y": Shape("float"), "s": Shape("text"),
    "t": Shape("text"), "p": Shape("bool"), "q": Shape("bool"), "xs": Shape("list", element=Shape("int")),
}  # fmt: skip


def test_what_is_refused_without_spark_is_refused_with_it_and_nothing_else(spark: SparkSession) -> None:
    """Random expressions whose columns were exchanged for others, so that about half of them cannot be computed."""
    chance = random.Random(7)
    frame = spark.createDataFrame([], SCHEMA)
    outcomes = Counter[str]()
    for _ in range(600):
        right = expression(chance, chance.choice(["int", "float", "text", "bool"]), 3)
        text = re.sub(r"\b(a|b|x|y|s|t|p|q|xs)\b", lambda found: chance.choice([found[0], *SHAPES]), right)
        refused, given = "", ""
        try:
            shape_of(compile_text(text), SHAPES)
        except KindClash as clash:
            refused = str(clash)
        try:
            column_of(frame, text)
        except ExpressionType as error:
            given = error.message
            if "too large a plan" in given:
                continue
        assert bool(refused) == bool(given), (text, refused, given)
        outcomes["refused" if refused else "taken"] += 1
    assert min(outcomes["refused"], outcomes["taken"]) > 50, outcomes
