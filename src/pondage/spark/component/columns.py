"""Columns by their names, which are only ever names: a dot, a star or a backtick in one means nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses
from pyspark.sql import types as T  # noqa: N812 - the name that everybody uses

from pondage.errors import PondageError
from pondage.spark.files.read import NoSuchColumn
from pondage.spark.types.names import quoted
from pondage.spark.types.port_types import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


def require_columns(frame: DataFrame, names: Iterable[str]) -> list[Column]:
    """Answer these columns of a frame; raises NoSuchColumn that names all it does not have."""
    wanted = list(names)
    missing = [name for name in wanted if name not in frame.columns]
    if missing:
        raise NoSuchColumn(
            f"there is no column {', '.join(missing)}; the table has {', '.join(frame.columns)}",
            hint="correct the component's params",
        )
    return [F.col(quoted(name)) for name in wanted]


def order_of_all(frame: DataFrame, names: Sequence[str], *, is_descending: bool) -> list[Column]:
    """Answer an order by these columns, and then by all others that have one, so that it is total."""
    require_columns(frame, names)
    others = [
        field.name
        for field in frame.schema.fields
        if field.name not in names and not isinstance(field.dataType, T.MapType | T.VariantType)
    ]
    return [F.col(quoted(name)).desc() if is_descending else F.col(quoted(name)).asc() for name in (*names, *others)]


def joined(left: DataFrame, right: DataFrame, keys: Sequence[str], how: str) -> DataFrame:
    """Join by keys that both have, the columns in the order of the left and then of the right table."""
    require_columns(left, keys)
    require_columns(right, keys)
    added = [] if how in ("semi", "anti") else [name for name in right.columns if name not in keys]
    doubles = [name for name in added if name in left.columns]
    if doubles:
        raise PondageError(
            f"both tables have a column {doubles[0]}, which is no key", hint="rename one before", code="BAD_OUTPUT"
        )
    found = left.join(right, on=list(keys), how=how)
    return found.select(*require_columns(found, [*left.columns, *added]))


def literal_table(session: SparkSession, columns: dict[str, str], rows: list[list[object]]) -> DataFrame:
    """Answer a table of written values; texts are read as dates, times and decimals where a column is of those."""
    schema = spark_schema(columns)
    data = []
    for number, row in enumerate(rows, start=1):
        if len(row) != len(schema.fields):
            raise PondageError(f"row {number} has {len(row)} values for {len(schema.fields)} columns", code="BAD_ROW")
        try:
            data.append(tuple(_read(value, field.dataType) for value, field in zip(row, schema.fields, strict=True)))
        except (TypeError, ValueError, ArithmeticError) as error:
            raise PondageError(f"row {number} does not fit its columns: {error}", code="BAD_ROW") from None
    return session.createDataFrame(data, schema).coalesce(1)


def _read(value: object, kind: T.DataType) -> object:
    if value is None:
        return None
    if isinstance(kind, T.DoubleType | T.FloatType):
        return float(str(value))
    if isinstance(kind, T.DecimalType):
        return Decimal(str(value))
    if isinstance(kind, T.DateType):
        return date.fromisoformat(str(value))
    if isinstance(kind, T.TimestampType | T.TimestampNTZType):
        return datetime.fromisoformat(str(value))
    return value
