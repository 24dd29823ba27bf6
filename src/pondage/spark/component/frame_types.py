"""The columns that a component gives against the type of its port, seen before Spark computes anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from pondage.define.types.type_json import from_spark_json
from pondage.define.types.types import Field, Type, TypeSyntax
from pondage.define.types.unify import Mismatch, unify
from pondage.spark.component.segment_types import plainly, port_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def difference(frame: DataFrame, declared: str, variables: Mapping[str, str]) -> str | None:
    """Answer both types and where they differ; None when the columns are those of the port.

    Whether a column may be null is not judged: Spark says of most that they may.
    """
    want = port_type(declared, variables)
    if want.head not in ("Table", "Stream") or want.arguments[0].head != "row":
        return None
    try:
        row = from_spark_json(frame.schema.jsonValue())
    except TypeSyntax:
        return None  # a column of a type that ports have no word for
    got = Type(want.head, arguments=(_never_null(row),), is_ordered=want.is_ordered)
    try:
        unify(got, want, {})
    except Mismatch as error:
        return f"wanted {want}, got {plainly(got)}: {error}"
    return None


def _never_null(given: Type) -> Type:
    return msgspec.structs.replace(
        given,
        arguments=tuple(map(_never_null, given.arguments)),
        fields=tuple(Field(one.name, _never_null(one.type), is_nullable=False) for one in given.fields),
    )
