"""Replacing partitions of a table: those that are returned, and those that the Ripple was to compute again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses
from pyspark.sql.types import StructType

from pondage.define.pond.contract import require_contract
from pondage.define.pond.definition import ExpectationDefinition
from pondage.define.pond.partition import Partition, PartitionDefinition
from pondage.spark.files.layout import Layout, PartitionRefused, among
from pondage.spark.files.read import read_snapshot
from pondage.spark.files.storage import secure
from pondage.spark.files.write import check_output, write_files
from pondage.spark.ripple.exchange import Exchange
from pondage.spark.rules.expectations import ExpectationPlan, Facts
from pondage.work.snapshot import DataFile, Increment, SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LATE = "late"


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """What a Ripple is asked to replace. All questions are asked after the author's code was called.

    Without answers it is what a trial knows: the columns.

    `asked` are partitions that are replaced whatever comes back; `only` says beyond which values of which columns
    nothing is (None: anything may be). `has_base` says whether a table is extended; `foreign` answers that table when
    it is not in these partitions, so that its rows have to be written again; `table` answers it in any case.
    `takes_late`: how old a row is does not matter, because somebody has asked for its partition.
    `exchanged` are the files that came again, when the rows of whole files are returned: then a partition keeps the
    rows of its other files. None: what is returned of a partition is all of it.
    """

    definition: PartitionDefinition
    freshness_us: int = 0
    asked: Callable[[], Iterable[Partition]] = tuple
    only: Callable[[], tuple[tuple[int, ...], Iterable[Partition]] | None] = lambda: None
    has_base: Callable[[], bool] = lambda: False
    takes_late: Callable[[], bool] = lambda: False
    foreign: Callable[[], SnapshotContent | None] = lambda: None
    table: Callable[[], SnapshotContent | None] = lambda: None
    exchanged: frozenset[str] | None = None


def write_partitions(
    session: SparkSession,
    frame: DataFrame,
    cut: Cut,
    *,
    destination: str,
    contract: str | None,
    rules: tuple[ExpectationDefinition, ...],
    checks: Mapping[str, Callable[[], Column]],
    facts: Facts,
    where: str,
) -> SnapshotContent:
    """Write the rows, each file of one partition, and answer which partitions they replace; unpublished.

    Raises `PartitionRefused` beside what every write may raise.
    """
    check_output(frame.schema)
    require_contract(contract, frame.schema.json(), where=where)
    layout = Layout.decide(frame.schema, cut.definition.by, where)
    only = cut.only()
    if only is not None:
        columns, values = only
        frame = frame.where(among(tuple(layout.texts[each] for each in columns), values))
    frame, rules, checks = _without_late(frame, cut, layout, rules, checks)
    exchange = _exchange(session, frame.schema, cut, layout, destination)
    facts = msgspec.structs.replace(
        facts, rest=exchange.rest if exchange is not None else lambda rule, content: _rest(rule, content, cut)
    )
    plan = ExpectationPlan.decide(frame.schema, rules, checks, facts, layout=layout)
    checked = plan.write(session, frame, destination, where=where)
    content = checked.files.as_content()
    returned = dict.fromkeys(file.partition for file in content.files if file.partition is not None)
    _require_values(returned, cut.definition, where)
    replaced = tuple(dict.fromkeys((*returned, *cut.asked())))
    foreign, old = cut.foreign(), None
    if exchange is not None:
        old, touched = exchange.touched(returned)
        replaced = tuple(dict.fromkeys((*replaced, *sorted(touched, key=str))))
    elif foreign is not None:
        rows = read_snapshot(session, foreign, schema=frame.schema.json()).where(~layout.among(replaced))
        old = _beside(rows, cut, layout, destination)
    if old is not None:
        content = msgspec.structs.replace(
            content,
            files=(*content.files, *old.files),
            rows=content.rows + old.rows,
            bytes=content.bytes + old.bytes,
        )
        secure(destination, [])
    increment = Increment(by=cut.definition.texts, partitions=replaced, kept=None if foreign is None else ())
    return msgspec.structs.replace(content, expectations=checked.results, set_aside=checked.aside, increment=increment)


def _exchange(session: SparkSession, schema: StructType, cut: Cut, layout: Layout, destination: str) -> Exchange | None:
    """Answer what keeps the rows of other files, None when there are none or whole partitions are returned."""
    table = None if cut.exchanged is None else cut.table()
    if table is None or cut.exchanged is None:
        return None
    return Exchange(
        session, table, cut.exchanged, layout=layout, schema=schema, is_whole=cut.foreign() is not None,
        write=lambda rows: _beside(rows, cut, layout, destination),
    )  # fmt: skip


def _rest(rule: ExpectationDefinition, content: SnapshotContent, cut: Cut) -> SnapshotContent | None:
    """Answer the partitions that stay, where a `unique` is to hold beyond those that are replaced.

    A key with the columns of the partitions cannot be in two of them.
    """
    columns = {each.column for each in cut.definition.by}
    if rule.kind != "unique" or columns <= set(rule.columns) or cut.foreign() is not None:
        return None
    table = cut.table()
    replaced = {file.partition for file in content.files} | set(cut.asked())
    kept = () if table is None else tuple(file for file in table.files if file.partition not in replaced)
    return msgspec.structs.replace(table, files=kept) if table is not None and kept else None


def _without_late(
    frame: DataFrame,
    cut: Cut,
    layout: Layout,
    rules: tuple[ExpectationDefinition, ...],
    checks: Mapping[str, Callable[[], Column]],
) -> tuple[DataFrame, tuple[ExpectationDefinition, ...], Mapping[str, Callable[[], Column]]]:
    """Answer what is left when rows that are too old are judged: left out, or by a rule like any other.

    A table that begins has no late rows.
    """
    oldest = cut.definition.oldest(cut.freshness_us)
    if oldest is None or not cut.has_base() or cut.takes_late():
        return frame, rules, checks
    column, moment = oldest
    text = layout.texts[layout.by.index(column)]
    # What begins with the same characters is the partition that the moment is in, which is not too old yet.
    is_kept = F.coalesce(text >= F.lit(moment).substr(F.lit(1), F.length(text)), F.lit(True))
    if cut.definition.late == "ignore":
        return frame.where(is_kept), rules, checks
    rule = ExpectationDefinition(name=LATE, kind="check", quarantine=cut.definition.late == "quarantine")
    return frame, (*rules, rule), {**checks, LATE: lambda: is_kept}


def _require_values(partitions: Iterable[Partition], definition: PartitionDefinition, where: str) -> None:
    for partition in partitions:
        for column, value in zip(definition.by, partition, strict=True):
            if value is None and not definition.has_null:
                raise PartitionRefused(
                    f"{where}: {column.column} is null in some rows, so they belong to no partition",
                    hint='filter them, give them a value, or say null="own": they are a partition of their own',
                )


def _beside(rows: DataFrame, cut: Cut, layout: Layout, destination: str) -> SnapshotContent:
    """Write rows that the table had before beside those that were returned; answer files named from there."""
    written = write_files(rows, f"{destination}/{destination.rpartition('/')[2]}.table", layout=layout)
    folder = written.path.rpartition("/")[2]
    files: tuple[DataFile, ...] = tuple(
        msgspec.structs.replace(footer.as_data_file(), name=f"{folder}/{footer.name}") for footer in written.footers
    )
    _require_values((file.partition for file in files if file.partition is not None), cut.definition, layout.where)
    return msgspec.structs.replace(written.as_content(), path=destination, files=files)
