"""Questions of an operator: SQL over published snapshots, read-only, limited in rows and time.

The text is not trusted. Spark's own parser reads it first, and what is not known to be a plain question is refused
before anything is looked up: a command, a file named as a table, a function that calls into Java.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses
from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    MapType,
    StructType,
    VariantType,
    YearMonthIntervalType,
)

from pondage.errors import PondageError
from pondage.spark.files.read import read_snapshot
from pondage.spark.files.storage import local_path
from pondage.spark.query.allow_list import require_question
from pondage.spark.query.sql_names import ParsedSql, bound_sql
from pondage.spark.session.errors import explained
from pondage.work.answers import QueryView
from pondage.work.snapshot import SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JsonValue = str | int | float | bool | None | list["JsonValue"] | dict[str, "JsonValue"]
_MOST_ROWS = 100_000


def run_query(
    session: SparkSession,
    sql: str,
    views: Mapping[str, SnapshotContent],
    limit: int = 100,
    fused: Mapping[str, str] | None = None,
) -> QueryView:
    """Answer a question about the given snapshots and nothing else.

    `views` maps names as they may be written (`pond`, `pond.ripple`) to snapshots, `fused` those of Ripples without a
    table to the Ripple that they are part of. Raises `PondageError` with the code NO_SUCH_TABLE, FUSED_RIPPLE,
    QUERY_REFUSED for what is not a plain question, CANCELLED, SPARK_LOST, or QUERY_FAILED with Spark's words. It takes
    as long as it takes: whoever gave it to us stops its jobs.
    """
    try:
        parsed = ParsedSql(session, sql)
        require_question(parsed, frozenset(name.casefold() for name in views), fused or {})
        used = {table.text.casefold() for table in parsed.tables}
        contents = {name: content for name, content in views.items() if name.casefold() in used}
        frames = {name: read_snapshot(session, content) for name, content in contents.items()}
        bound, names = bound_sql(parsed, frames)
        # What Spark runs is the text with other names in it, so that text is judged again.
        require_question(ParsedSql(session, bound), names)
        frame = session.sql(bound)
        _require_only(frame, contents)
        return answer_of(frame, limit)
    except PondageError:
        raise
    except Exception as error:
        shown = explained(error, where="query")
        if shown.code == "RIPPLE_FAILED":
            shown.code = "QUERY_FAILED"
        shown.place = None
        raise shown from error


def _require_only(frame: DataFrame, contents: Mapping[str, SnapshotContent]) -> None:
    """Raise when the analysed plan would read a file that is in none of the snapshots: the second of two locks."""
    allowed = {str(local_path(path) or path) for content in contents.values() for path in content.paths}
    for address in frame.inputFiles():
        # Spark answers addresses, in which a space is %20.
        file = unquote(address)
        if str(local_path(file) or file) not in allowed:
            raise PondageError("the query reads files outside of the published tables", code="QUERY_REFUSED")


def answer_of(frame: DataFrame, limit: int) -> QueryView:
    """Answer the first rows of a DataFrame, in one Spark job."""
    limit = max(0, min(limit, _MOST_ROWS))
    fields = frame.schema.fields
    # By position: an answer may have two columns of one name.
    plain = frame.toDF(*(f"c{number}" for number in range(len(fields))))
    shown = [
        F.col(f"c{number}").cast("string") if _has_no_arrow_type(field.dataType) else F.col(f"c{number}")
        for number, field in enumerate(fields)
    ]
    table = plain.select(*shown).limit(limit + 1).toArrow()
    columns = [column.to_pylist() for column in table.columns]
    numbers = range(min(limit, table.num_rows))
    return QueryView(
        columns=tuple(field.name for field in fields),
        types=tuple(field.dataType.simpleString() for field in fields),
        rows=tuple([_json_value(column[row]) for column in columns] for row in numbers),
        truncated=table.num_rows > limit,
    )


def _has_no_arrow_type(type_: DataType) -> bool:
    if isinstance(type_, StructType):
        return any(_has_no_arrow_type(field.dataType) for field in type_.fields)
    if isinstance(type_, ArrayType):
        return _has_no_arrow_type(type_.elementType)
    if isinstance(type_, MapType):
        return _has_no_arrow_type(type_.keyType) or _has_no_arrow_type(type_.valueType)
    return isinstance(type_, (VariantType, YearMonthIntervalType, CalendarIntervalType))


def _json_value(value: object) -> JsonValue:
    """Answer a value as JSON can carry it: what JSON does not know becomes a text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (date, datetime, time)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, dict):
        return {str(key): _json_value(inside) for key, inside in value.items()}
    if isinstance(value, list):
        # A map is a list of pairs to Arrow.
        if value and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
            return {str(_json_value(key)): _json_value(inside) for key, inside in value}
        return [_json_value(each) for each in value]
    if isinstance(value, (Decimal, timedelta)):
        return str(value)
    return str(value)
