"""The component behind `const` nodes of trees: rows, a value or bytes that stand in the tree."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from pondage.components.declarations import shipped
from pondage.define.job.component import ATTRIBUTE
from pondage.define.job.flow import CONST
from pondage.define.types.type_json import from_spark_json
from pondage.define.types.types import Type
from pondage.errors import PondageError

if TYPE_CHECKING:
    from pondage.spark.component.spark_run import SparkRun


def const(*, params: Mapping[str, Any], run: SparkRun) -> dict[str, object]:
    """Give what is written in the tree; `schema` is what the planner made of its type."""
    from pondage.spark.component.segment_types import checked_rows, port_type
    from pondage.spark.types.values import arrow_frame, typed_frame

    if "bytes" not in params:
        is_value = params["type"].startswith("Value")
        return {"out": params["value"] if is_value else typed_frame(run.spark, params["schema"], params["value"])}
    data = base64.b64decode(params["bytes"], validate=True)
    if params["type"].startswith("Bytes"):
        return {"out": data}
    # Stored before and named by its digest: as its type is serialised, and nobody has looked at it yet.
    if params["type"].startswith("Value"):
        checked_rows(data, port_type(params["type"], {}))
        return {"out": msgspec.json.decode(data)}
    checked_rows(data, Type("Table", arguments=(from_spark_json(params["schema"]),)))
    return {"out": arrow_frame(run.spark, params["schema"], data)}


@shipped("fixture_failure")
def fixture_failure(*, params: Mapping[str, Any], run: SparkRun) -> None:
    """Fail as a test says: it stands for a node of a tree that is simulated."""
    del run
    raise PondageError(params["message"], code=params["code"])


setattr(const, ATTRIBUTE, CONST)
