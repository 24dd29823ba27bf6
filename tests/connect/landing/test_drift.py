"""What a file may bring that its table has not, decided from two schemas."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)  # fmt: skip

from pondage.connect.landing.asked import Drift
from pondage.connect.landing.drift import Unfit, reconciled

TYPES = {
    "bigint": LongType(), "int": IntegerType(), "double": DoubleType(), "float": FloatType(), "string": StringType(),
    "date": DateType(), "timestamp": TimestampType(), "struct<a:int>": StructType([StructField("a", IntegerType())]),
}  # fmt: skip


def columns(text: str) -> StructType:
    """Columns without Spark, which alone can read all of DDL."""
    found = [each.split(" ") for each in text.split(", ")]
    return StructType([StructField(name, _type(kind)) for name, kind in found])


def _type(kind: str) -> DataType:
    if kind.startswith("decimal"):
        precision, scale = kind.removeprefix("decimal(").removesuffix(")").split(",")
        return DecimalType(int(precision), int(scale))
    return TYPES[kind]


TABLE = columns("id bigint, fare double, zone string")


@pytest.mark.parametrize(
    ("file", "drift", "answer"),
    [
        ("id bigint, fare double, zone string", "fail", "id bigint, fare double, zone string"),
        ("ID bigint, zone string, Fare double", "fail", "id bigint, fare double, zone string"),
        ("id bigint, fare double", "fail", "the column zone (string) is missing"),
        ("id bigint, fare double", "add", "id bigint, fare double, zone string"),
        ("id bigint, fare double, zone string, fee int", "fail", "the column fee (int) is not one of the table"),
        ("id bigint, fee int", "add", "id bigint, fare double, zone string, fee int"),
        ("id bigint, fee int", "cast", "id bigint, fare double, zone string, fee int"),
        ("id bigint, fee int", "ignore", "id bigint, fare double, zone string"),
        ("id int", "add", "the column id is int, and the table has bigint"),
        ("id int", "ignore", "the column id is int, and the table has bigint"),
        ("id int, fare float, zone date", "cast", "id bigint, fare double, zone string"),
        ("fare bigint", "cast", "id bigint, fare double, zone string"),
        ("id double", "cast", "the column id is double, and the table has bigint"),
        ("id string", "cast", "the column id is string, and the table has bigint"),
    ],
)
def test_a_file_is_reconciled_or_refused_in_words(file: str, drift: Drift, answer: str) -> None:
    found = reconciled(TABLE, columns(file), drift)
    if isinstance(found, Unfit):
        assert found.why == answer
    else:
        assert found == columns(answer)


@pytest.mark.parametrize(
    ("given", "wanted", "fits"),
    [
        ("decimal(5,2)", "decimal(10,2)", True), ("decimal(5,2)", "decimal(10,1)", False),
        ("decimal(9,2)", "decimal(9,4)", False), ("int", "decimal(12,2)", True), ("bigint", "decimal(12,2)", False),
        ("date", "timestamp", True), ("timestamp", "date", False), ("struct<a:int>", "string", False),
    ],
)  # fmt: skip
def test_a_cast_never_loses_digits(given: str, wanted: str, fits: bool) -> None:
    found = reconciled(columns(f"x {wanted}"), columns(f"x {given}"), "cast")
    assert isinstance(found, StructType) == fits


def test_a_column_that_may_not_be_null_must_be_there() -> None:
    table = StructType([StructField("id", LongType(), nullable=False)])
    assert reconciled(table, columns("other int"), "add") == Unfit("the column id (bigint) is missing")


def test_a_column_of_the_path_need_not_be_in_the_file() -> None:
    assert reconciled(columns("id bigint, day date"), columns("id bigint"), "fail", folders=["day"]) == columns(
        "id bigint, day date"
    )


def test_names_alone_count_where_the_file_holds_texts() -> None:
    assert reconciled(columns("id bigint"), columns("id string"), "fail", is_typed=False) == columns("id bigint")
