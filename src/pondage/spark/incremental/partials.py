"""Partial results of an aggregate: made of some rows, added, taken back.

A state has a row for each group: the groups `g0…`, the number `n` of its rows, and for each function its sum or value
`s…` and the count `c…` of the values in it. A group whose last value is taken back has null again, not 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses
from pyspark.sql.types import DecimalType, DoubleType, FloatType

_EXACT_SUM = "decimal(20,0)"
"""An average of whole numbers is kept as an exact sum: Spark's own buffer, a double, could not be taken back."""


def partial(inputs: DataFrame, functions: Sequence[str], *, sign: int = 1) -> DataFrame:
    """Answer the partial results of these rows, each number with the sign.

    `inputs` has the groups `g…`, and for each function whether it takes the row, `f…`, and its arguments `i…_…`.
    """
    groups = [each for each in inputs.columns if each.startswith("g")]
    made: list[Column] = [(F.count(F.lit(1)) * F.lit(sign)).alias("n")]
    for number, function in enumerate(functions):
        made.extend(_of_one(inputs, number, function, sign))
    return inputs.groupBy(*groups).agg(*made)


def _of_one(inputs: DataFrame, number: int, function: str, sign: int) -> list[Column]:
    arguments = [each for each in inputs.columns if each.startswith(f"i{number}_")]
    there = reduce(lambda one, other: one & other, (F.col(each).isNotNull() for each in arguments))
    count = (F.count(F.when(F.col(f"f{number}") & there, 1)) * F.lit(sign)).alias(f"c{number}")
    if function == "Count":
        return [count]
    value = F.col(arguments[0])
    if function == "Average":
        kind = inputs.schema[arguments[0]].dataType
        if isinstance(kind, FloatType | DoubleType):
            value = value.cast("double")
        elif not isinstance(kind, DecimalType):
            value = value.cast(_EXACT_SUM)
    taken = F.when(F.col(f"f{number}"), value)
    match function:
        case "Min":
            return [F.min(taken).alias(f"s{number}"), count]
        case "Max":
            return [F.max(taken).alias(f"s{number}"), count]
        case _:
            added = F.sum(taken)
            return [(added if sign > 0 else -added).alias(f"s{number}"), count]


def merged(state: DataFrame, changes: Sequence[DataFrame], functions: Sequence[str]) -> DataFrame:
    """Answer the state with the partial results of what came and went added; groups without rows are gone."""
    groups = [each for each in state.columns if each.startswith("g")]
    # A sum of sums has a wider type; the state keeps the one that Spark's own buffer has.
    types = {field.name: field.dataType for field in state.schema.fields}
    together = reduce(lambda one, other: one.unionByName(other), [state, *changes])
    made = [F.sum("n").alias("n")]
    for number, function in enumerate(functions):
        if function != "Count":
            put = {"Min": F.min, "Max": F.max}.get(function, F.sum)
            made.append(put(f"s{number}").cast(types[f"s{number}"]).alias(f"s{number}"))
        made.append(F.sum(f"c{number}").alias(f"c{number}"))
    added = together.groupBy(*groups).agg(*made)
    return added.where("n > 0") if groups else added


def finishable(state: DataFrame, functions: Sequence[str]) -> DataFrame:
    """Answer the state with null for the value of each function that has taken in none."""
    values = [
        F.when(F.col(f"c{number}") > 0, F.col(f"s{number}")).alias(f"s{number}")
        for number, function in enumerate(functions)
        if function != "Count"
    ]
    kept = [F.col(each) for each in state.columns if not each.startswith("s")]
    return state.select(*kept, *values)
