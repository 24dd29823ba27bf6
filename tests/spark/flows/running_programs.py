"""The programs of random trees, as an author would write them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pondage.define.job.component import ATTRIBUTE, ComponentDefinition, Registry
from pondage.define.types.type_json import spark_json
from pondage.define.types.types import parse_type
from tests.plan.flow.programs import PROGRAMS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VALUES: dict[str, list[object]] = {
    "int": [1, 2, 3], "bigint": [1, 2, 2], "string": ["a", "b", "b"], "boolean": [True, False, False],
    "date": ["2026-01-31", "2026-02-01", "2026-02-01"], "decimal(7,2)": ["1.50", "2.00", "2.00"],
    "timestamp": ["2026-01-31T12:00:00Z", "2026-01-31T13:00:00Z", "2026-01-31T13:00:00Z"],
    "array<int>": [[1], [2, None], [2, None]], "double": [0.5, 1.5, 1.5],
}  # fmt: skip
"""What `rows` gives for a column of a type."""


def rows(*, params: Any, run: Any) -> DataFrame:
    from pondage.spark.types.values import typed_frame

    columns = params["columns"]
    row = parse_type("{" + ", ".join(f"{name}: {kind}" for name, kind in columns.items()) + "}")
    data = [{name: VALUES[kind][number] for name, kind in columns.items()} for number in range(3)]
    return typed_frame(run.spark, spark_json(row), data)


def keep(**given: Any) -> DataFrame:
    return given["in"]


def cond(*, params: Any, run: Any, **given: Any) -> DataFrame:
    return given["in"].where(run.condition(given["in"], params["where"]))


def dedupe(**given: Any) -> dict[str, DataFrame]:
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    frame = given["in"]
    columns = ["id", *(name for name in frame.columns if name != "id")]
    quoted = [F.col(f"`{name}`") for name in columns]
    first = frame.groupBy("id").agg(F.min(F.struct(*quoted)).alias("row")).select("row.*")
    return {
        "out": first,
        "dups": frame.groupBy("id").count().where("count > 1").withColumnRenamed("count", "n"),
    }


def pair(*, left: DataFrame, right: DataFrame, **_: Any) -> DataFrame:
    return left.unionAll(right)


def merge(**given: Any) -> DataFrame:
    return reduce(lambda one, other: one.unionAll(other), given["in"])


def maybe(**given: Any) -> DataFrame:
    assert given["in"] is not None
    return given["in"]


def strict(**given: Any) -> dict[str, object]:
    return {"out": given["in"].count()}


def wide(**given: Any) -> DataFrame:
    assert given["in"].columns == ["id"]
    return given["in"]


def lines(*, run: Any, **given: Any) -> DataFrame:
    found = [(line,) for line in given["in"].decode().splitlines()]
    return run.spark.createDataFrame(found, "line string")


def handle(**given: Any) -> DataFrame:
    return reduce(lambda one, other: one.unionAll(other), given["in"])


def sink(**given: Any) -> None:
    del given


def fan(**given: Any) -> dict[str, DataFrame]:
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    row = F.to_json(F.struct(*(F.col(f"`{name}`") for name in given["in"].columns)))
    part = F.abs(F.hash(row)) % 2
    return {f"part_{number}": given["in"].where(part == number - 1) for number in (1, 2)}


def gather(*, part_a: DataFrame, part_b: DataFrame, **_: Any) -> DataFrame:
    return part_a.unionAll(part_b)


def reader(*, params: Any, run: Any) -> DataFrame:
    return run.spark.read.text(f"file:{Path(params['location']) / params['file']}").withColumnRenamed("value", "line")


def ticks(*, params: Any, run: Any) -> Iterator[DataFrame]:
    del params
    for start in (0, 2):
        yield run.spark.range(start, start + 2).selectExpr("id", "CAST(id * 10 AS int) AS n")


def scan(**given: Any) -> DataFrame | None:
    return given["in"]


def unwrap(**given: Any) -> dict[str, DataFrame] | None:
    frame = given["in"]
    if frame is None:
        return None
    return {
        "ok": frame.where("err IS NULL").select("ok.*"),
        "err": frame.where("err IS NOT NULL").select("err.code"),
    }


_EXTERNAL = (sys.executable, str(Path(__file__).with_name("external_results.py")))
_FUNCTIONS: dict[str, Callable[..., object]] = {
    one.__name__: one
    for one in (
        rows, keep, cond, dedupe, pair, merge, maybe, strict, wide, lines, handle, sink, fan, gather, reader, ticks,
        scan, unwrap,
    )
}  # fmt: skip


def _declared() -> dict[str, ComponentDefinition]:
    found = {}
    for name, function in _FUNCTIONS.items():
        found[name] = msgspec.structs.replace(PROGRAMS[name], entry=f"{__name__}:{name}")
        setattr(function, ATTRIBUTE, found[name])
    found["external"] = msgspec.structs.replace(PROGRAMS["external"], command=_EXTERNAL)
    return found


REGISTRY: Registry = _declared()
FUNCTIONS = {REGISTRY[name].entry: function for name, function in _FUNCTIONS.items()}
