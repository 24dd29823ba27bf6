"""Histories of dimensions, and the newest row of each key: plain functions from DataFrames to DataFrames.

Importing this costs nothing: they are part of what an author may import.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Literal

from pondage.errors import DefinitionError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

FROM, TO, CURRENT, DELETED = "valid_from", "valid_to", "is_current", "_deleted"
MARKED = "is_deleted"
HardDeletes = Literal["close", "keep", "mark"]
_OWN = (FROM, TO, CURRENT, MARKED)


def latest(frame: DataFrame, keys: Sequence[str], order: str | Sequence[str]) -> DataFrame:
    """Answer for each key the row that is the largest by `order`; of rows that are equal in it any one.

    A null in `order` is smaller than everything, a null key is a key.
    """
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    by = [order] if isinstance(order, str) else list(order)
    _require(frame, [*keys, *by])
    row = F.struct(*(F.col(_quoted(name)) for name in frame.columns))
    newest = F.max_by(row, F.struct(*(F.col(_quoted(name)) for name in by))).alias("_row")
    return frame.groupBy(*(F.col(_quoted(key)).alias(f"_key_{key}") for key in keys)).agg(newest).select("_row.*")


def scd2(
    changes: DataFrame,
    previous: DataFrame | None,
    *,
    keys: Sequence[str],
    compare: Sequence[str] | None = None,
    at: str = "updated_at",
    deleted: str = DELETED,
) -> DataFrame:
    """Answer what changes rows make of the history of a dimension (type 2): rows for a table that merges.

    The Pond says `mode="merge", keys=[*keys, "valid_from"]`, and hands its `run.previous` in. Each version of a key is
    valid from the moment `at` of its change (`valid_from`) until before that of the next one (`valid_to`, null of the
    one that `is_current`). A late change is put where it belongs, and versions beside it are mended. A row that is
    equal in `compare` (all columns but the keys, unless said) to the version before makes none, and is forgotten: a
    late change before it is valid beyond it. Where `deleted` is true the key's version is closed. Of two changes of a
    key at one moment one is taken, always the same.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    values = [name for name in changes.columns if name not in (*keys, at, deleted)]
    compared = _compared(values, compare)
    _require(changes, [*keys, at])
    _refuse_own(changes.schema, keys)
    gone = F.coalesce(F.col(_quoted(deleted)), F.lit(False)) if deleted in changes.columns else F.lit(False)
    events = changes.select(*_columns(keys), F.col(_quoted(at)).alias("_at"), _struct(values, "_values"),
                            gone.alias("_gone"), F.lit(1).alias("_source"))  # fmt: skip
    known = None if previous is None else _of_keys(previous, changes, keys)
    if known is not None:
        events = events.unionByName(_past(known, keys, values)).unionByName(_closings(known, keys, values))
    # Of what is said of one moment a change wins over the past; the hash makes the choice the same each time.
    choice = F.struct("_source", "_gone", F.xxhash64("_values"))
    one = events.groupBy(*_columns(keys), "_at").agg(F.max_by(F.struct("_values", "_gone"), choice).alias("_event"))
    timeline = Window.partitionBy(*_columns(keys)).orderBy("_at")
    flat = one.select(*_columns(keys), "_at", "_event.*")
    before = {name: F.lag(name).over(timeline) for name in ("_values", "_gone")}
    same = before["_gone"] & F.col("_gone") | (
        ~before["_gone"] & ~F.col("_gone") & _is_equal(before["_values"], F.col("_values"), compared)
    )
    steps = flat.withColumn("_is_same", F.coalesce(same, F.lit(False))).where(~F.col("_is_same"))
    made = steps.withColumn(TO, F.lead("_at").over(timeline)).where(~F.col("_gone"))
    versions = made.select(
        *_columns(keys), *_fields(values), F.col("_at").alias(FROM), TO, F.col(TO).isNull().alias(CURRENT)
    )
    if known is None:
        return versions.withColumn(DELETED, F.lit(False))
    return _difference(versions, known, [*keys, FROM], [*values, TO, CURRENT])


def snapshot(
    table: DataFrame,
    previous: DataFrame | None,
    keys: Sequence[str],
    *,
    at: datetime,
    hard_deletes: HardDeletes = "close",
    compare: Sequence[str] | None = None,
) -> DataFrame:
    """Answer what a table as it is now changes of its history (type 2), for Sources that do not say what changed.

    The Pond says `mode="merge", keys=[*keys, "valid_from"]`, hands its `run.previous` in, and `at=run.freshness`. A row
    that differs in `compare` (all columns but the keys, unless said) closes the version that was current and opens one.
    A key that is gone has its version closed (`"close"`), left as it is (`"keep"`), or left and marked in `is_deleted`
    (`"mark"`); one that comes back begins a new version. Each key may be there once.
    """
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    if hard_deletes not in ("close", "keep", "mark"):
        raise DefinitionError(f"hard_deletes={hard_deletes!r}", hint='say "close", "keep" or "mark"', code="BAD_OPTION")
    values = [name for name in table.columns if name not in keys]
    compared = _compared(values, compare)
    _require(table, keys)
    _refuse_own(table.schema, keys)
    moment = F.lit(at)
    marks = hard_deletes == "mark"
    now = table.select(*_columns(keys), _struct(values, "_now"))
    if previous is None:
        rows = now.select(*_columns(keys), *_fields(values, "_now"), moment.alias(FROM), *_open(moment))
        return rows.withColumn(MARKED, F.lit(False)) if marks else rows
    was_marked = F.coalesce(F.col(MARKED), F.lit(False)) if MARKED in previous.columns else F.lit(False)
    old = previous.where(F.col(CURRENT)).select(
        *_columns(keys), _struct(values, "_old"), F.col(FROM).alias("_from"), was_marked.alias("_was_marked")
    )
    both = _joined(now, old, keys, "full_outer")
    is_there, was_there = F.col("_now").isNotNull(), F.col("_old").isNotNull()
    is_equal = _is_equal(F.col("_old"), F.col("_now"), compared) & ~F.col("_was_marked")
    changed = is_there & ~F.coalesce(was_there & is_equal, F.lit(False))
    # What changes twice at one moment is one version: the later word replaces the earlier one.
    is_at_once = F.coalesce(F.col("_from") >= moment, F.lit(False))
    start = F.when(is_at_once, F.col("_from")).otherwise(moment)
    made = [
        both.where(changed).select(
            *_columns(keys), *_fields(values, "_now"), start.alias(FROM), *_open(moment), F.lit(False).alias(MARKED)
        ),
        _closed(both.where(was_there & changed & ~is_at_once), keys, values, moment, F.col("_was_marked")),
    ]
    lost = both.where(was_there & ~is_there)
    if hard_deletes == "close":
        made.append(_closed(lost, keys, values, moment, F.lit(False)))
    elif marks:
        stays = lost.where(~F.col("_was_marked")).withColumn(FROM, F.col("_from"))
        made.append(
            stays.select(*_columns(keys), *_fields(values, "_old"), FROM, *_open(moment), F.lit(True).alias(MARKED))
        )
    found = reduce(lambda one, other: one.unionByName(other), made)
    return found if marks else found.drop(MARKED)


def _open(moment: Column) -> list[Column]:
    """Answer the columns of a version that is current."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    # The moment itself says what type the column has, whatever zone the session is in.
    return [F.nullif(moment, moment).alias(TO), F.lit(True).alias(CURRENT)]


def _closed(
    rows: DataFrame, keys: Sequence[str], values: Sequence[str], moment: Column, is_marked: Column
) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    return rows.select(
        *_columns(keys), *_fields(values, "_old"), F.col("_from").alias(FROM), moment.alias(TO),
        F.lit(False).alias(CURRENT), is_marked.alias(MARKED),
    )  # fmt: skip


def _past(known: DataFrame, keys: Sequence[str], values: Sequence[str]) -> DataFrame:
    """Answer the versions that are known as changes that were said earlier."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    return known.select(
        *_columns(keys), F.col(FROM).alias("_at"), _struct(values, "_values"), F.lit(False).alias("_gone"),
        F.lit(0).alias("_source"),
    )  # fmt: skip


def _closings(known: DataFrame, keys: Sequence[str], values: Sequence[str]) -> DataFrame:
    """Answer the ends of versions as deletions. Where another version begins at that moment, that one counts."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    return known.where(F.col(TO).isNotNull()).select(
        *_columns(keys), F.col(TO).alias("_at"), _struct(values, "_values"), F.lit(True).alias("_gone"),
        F.lit(-1).alias("_source"),
    )  # fmt: skip


def _of_keys(previous: DataFrame, changes: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Answer the versions of the keys that changed; those of others stay as they are."""
    wanted = changes.select(*_columns(keys)).distinct()
    return _joined(previous, wanted, keys, "left_semi")


def _difference(versions: DataFrame, known: DataFrame, keys: Sequence[str], values: Sequence[str]) -> DataFrame:
    """Answer the versions that are new or other than before, and, marked as deleted, those that are no more."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    new = versions.select(*_columns(keys), _struct(values, "_new"))
    old = known.select(*_columns(keys), _struct(values, "_old"))
    both = _joined(new, old, keys, "full_outer")
    is_lost = F.col("_new").isNull()
    rows = both.where(is_lost | F.col("_old").isNull() | ~F.col("_new").eqNullSafe(F.col("_old")))
    kept = F.coalesce(F.col("_new"), F.col("_old"))
    return rows.select(*_columns(keys), kept.alias("_row"), is_lost.alias(DELETED)).select(
        *_columns(keys), "_row.*", DELETED
    )


def _joined(one: DataFrame, other: DataFrame, keys: Sequence[str], how: str) -> DataFrame:
    """Join by keys of which a null is one, with each key once."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    renamed = other.withColumnsRenamed({key: f"_other_{key}" for key in keys})
    equal = [F.col(_quoted(key)).eqNullSafe(F.col(_quoted(f"_other_{key}"))) for key in keys]
    rows = one.join(renamed, reduce(and_, equal), how)
    if how == "left_semi":
        return rows
    rest = [name for name in (*one.columns, *other.columns) if name not in keys]
    found = [F.coalesce(F.col(_quoted(key)), F.col(_quoted(f"_other_{key}"))).alias(key) for key in keys]
    return rows.select(*found, *_columns(rest))


def _is_equal(one: Column, other: Column, names: Sequence[str]) -> Column:
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    return reduce(and_, (one.getField(name).eqNullSafe(other.getField(name)) for name in names), F.lit(True))


def _struct(names: Sequence[str], alias: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    # A table that is only keys has a history, too.
    return (F.struct(*_columns(names)) if names else F.struct(F.lit(1).alias("_"))).alias(alias)


def _fields(names: Sequence[str], struct: str = "_values") -> list[Column]:
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    return [F.col(struct).getField(name).alias(name) for name in names]


def _columns(names: Sequence[str]) -> list[Column]:
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    return [F.col(_quoted(name)) for name in names]


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _compared(values: Sequence[str], compare: Sequence[str] | None) -> Sequence[str]:
    unknown = sorted(set(compare or ()) - set(values))
    if unknown:
        raise DefinitionError(
            f"compare names {unknown[0]!r}, which is no column beside the keys",
            hint=f"there are {', '.join(values) or 'none'}",
            code="NO_SUCH_COLUMN",
        )
    return values if compare is None else compare


def _require(frame: DataFrame, names: Sequence[str]) -> None:
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise DefinitionError(
            f"there is no column {missing[0]!r}", hint=f"there are {', '.join(frame.columns)}", code="NO_SUCH_COLUMN"
        )


def _refuse_own(schema: StructType, keys: Sequence[str]) -> None:
    taken = [name for name in _OWN if name in schema.names]
    if taken or not keys:
        raise DefinitionError(
            f"the rows have a column {taken[0]}, which the history makes itself" if taken else "keys is empty",
            hint="rename or drop it" if taken else "name the columns that tell one thing from another",
            code="BAD_OPTION",
        )
