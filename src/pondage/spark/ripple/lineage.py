"""The column lineage of a DataFrame that was made of snapshots."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from pondage.spark.files.storage import spark_path
from pondage.spark.ripple.plan_lineage import PlanLineage
from pondage.work.lineage import ColumnLineage, Origin
from pondage.work.snapshot import SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_log = logging.getLogger(__name__)


def column_lineage(frame: DataFrame, inputs: Mapping[str, SnapshotContent | None]) -> ColumnLineage | None:
    """Answer what each column of `frame` was made of, by the plan alone; None when that cannot be told.

    That is so on Spark Connect, which shows no plan, and when an input has no files, because it leaves no trace in the
    plan. Never raises: nobody's run fails for the sake of its lineage.
    """
    if not hasattr(frame, "_jdf") or any(each is not None and not each.files for each in inputs.values()):
        return None
    try:
        plan = frame._jdf.queryExecution().analyzed()
        places = {spark_path(_root(each)): name for name, each in inputs.items() if each is not None}
        reading = PlanLineage([_table(leaf, places) for leaf in _each(plan.collectLeaves())], _known(plan, places))
        found = reading.read(msgspec.json.decode(plan.toJSON()))
    except Exception:  # noqa: BLE001 - whatever a plan may hold, the run goes on
        _log.debug("no column lineage", exc_info=True)
        return None
    return found if list(found.columns) == frame.columns else None


def _table(leaf: Any, places: Mapping[str, str]) -> str | None:
    """Answer the input whose files a relation reads: they lie under the snapshot's own path."""
    if not leaf.getClass().getName().endswith(".LogicalRelation"):
        return None
    relation = leaf.relation()
    if not relation.getClass().getName().endswith(".HadoopFsRelation"):
        return None
    path = _plain(relation.location().rootPaths().head().toString())
    return next((name for place, name in places.items() if path.startswith(f"{_plain(place)}/")), None)


def _root(content: SnapshotContent) -> str:
    """Answer where the files of an input lie: those of a table that grows with its batches, all below its dataset."""
    is_growing = any(content.place(file) == file.name for file in content.files[:1])
    return content.path.rsplit("/", 2)[0] if is_growing else content.path


def _plain(path: str) -> str:
    return path.removeprefix("file://").removeprefix("file:")


def _known(plan: Any, places: Mapping[str, str]) -> dict[int, Origin]:
    """Answer the columns that subqueries read, by the ids that the plan gives them."""
    known = {}
    for subquery in _each(plan.subqueriesAll()):
        for leaf in _each(subquery.collectLeaves()):
            table = _table(leaf, places)
            if table is not None:
                for attribute in _each(leaf.output()):
                    known[int(attribute.exprId().id())] = Origin(table, str(attribute.name()))
    return known


def _each(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(place) for place in range(sequence.size()))
