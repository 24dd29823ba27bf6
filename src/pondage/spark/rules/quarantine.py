"""Setting rows aside: those that break a rule go to a table of their own, with the reason, and the rest is published.

The rows were written once, by the author's plan. They are read from those files and written as two tables; the plan is
not computed again, and a Run without such rows does none of this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses
from pyspark.sql.types import StructType

from pondage.spark.files.layout import Layout
from pondage.spark.files.read import read_snapshot
from pondage.spark.files.storage import moved_up
from pondage.spark.files.write import WrittenFiles, write_files
from pondage.spark.rules.late_rules import marked
from pondage.spark.rules.rules import BadExpectation, Question
from pondage.spark.types.names import quoted
from pondage.work.snapshot import BAD, SetAside, SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_KEPT = "_kept"


def require_free(schema: StructType) -> None:
    """Raise `BadExpectation` when the result has the column that is to say why a row was set aside."""
    if any(name.casefold() == BAD for name in schema.names):
        raise BadExpectation(
            f"the result has a column {BAD}, which says why a row is set aside",
            hint="publish sources.good(…) of it, or drop quarantine=True",
        )


def split(
    session: SparkSession,
    written: WrittenFiles,
    questions: Sequence[Question],
    tables: Mapping[str, SnapshotContent | None],
    only: Column | None,
    *,
    layout: Layout | None = None,
) -> tuple[WrittenFiles, SetAside]:
    """Take the rows that break one of the rules out of the written files; answer the files that are left, and theirs.

    A reader of the directory itself sees only the rows that are left: what was set aside lies in `_bad` below it, and
    names that begin so are passed over by Spark and its like.
    """
    rows = read_snapshot(session, written.as_content())
    columns = [F.col(quoted(name)) for name in rows.columns]
    reasons: list[Column] = []
    for number, each in enumerate(questions):
        broken = each.broken
        if broken is None:
            rows = marked(session, rows, each, tables, f"_pondage_mark_{number}")
            mark = F.col(f"_pondage_mark_{number}")
            broken = mark if only is None else only & mark
        reasons.append(F.when(broken, F.lit(each.rule.name)))
    reason = F.concat_ws("; ", *reasons)
    bad = write_files(rows.where(reason != "").select(*columns, reason.alias(BAD)), f"{written.path}/{BAD}")
    kept = write_files(rows.where(reason == "").select(*columns), f"{written.path}/{_KEPT}", layout=layout)
    moved_up(written.path, _KEPT, instead_of=[footer.name for footer in written.footers])
    content = bad.as_content()
    return (
        WrittenFiles(path=written.path, schema=written.schema, footers=kept.footers),
        SetAside(path=content.path, files=content.files, schema=content.schema, rows=content.rows, bytes=content.bytes),
    )
