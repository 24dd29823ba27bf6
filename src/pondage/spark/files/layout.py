"""The layout of a table in partitions: each file has the rows of one, in a directory whose name says which.

The names are made by us: values never become paths, and the columns stay in the files. What a reader needs is in the
manifest; the directories are for the writer, and for Spark's own pruning.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import msgspec
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from pondage.define.pond.partition import UNITS, Partition, PartitionColumn, as_text
from pondage.errors import PondageError
from pondage.spark.types.names import quoted

LONGEST_VALUE = 120
"""How many bytes a text may have that names a partition: twice as many characters still are the name of a directory."""
_NULL, _VALUE, _LONG = "n", "v", "l"
_WHOLE_NUMBERS = (ByteType, ShortType, IntegerType, LongType)
_PLAIN = (*_WHOLE_NUMBERS, StringType, DateType, BooleanType)
_MOMENTS = (TimestampType, TimestampNTZType, DateType)


class PartitionRefused(PondageError):
    """Rows that belong to no partition: a column is missing or of another type, a value is null or too long."""

    code = "BAD_PARTITION"


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """Into which partitions rows are written: the columns, and each as the text of its value."""

    by: tuple[PartitionColumn, ...]
    texts: tuple[Column, ...]
    types: tuple[DataType, ...]
    names: tuple[str, ...]
    where: str = ""

    @classmethod
    def decide(cls, schema: StructType, by: tuple[PartitionColumn, ...], where: str = "") -> Layout:
        """Decide it for rows of this schema; raises `PartitionRefused`."""
        found = [_column(schema, each, where) for each in by]
        taken = {name.casefold() for name in schema.names}
        prefix = next(
            each for each in ("pondage_p", "pondage_partition_") if not any(n.startswith(each) for n in taken)
        )
        return cls(
            by=by,
            texts=tuple(text for text, _ in found),
            types=tuple(type_ for _, type_ in found),
            names=tuple(f"{prefix}{number}" for number in range(len(by))),
            where=where,
        )

    def cut(self, frame: DataFrame) -> DataFrame:
        """Answer the rows with the names of their directories, those of a partition together."""
        codes = {
            name: F.when(text.isNull(), F.lit(_NULL))
            .when(F.octet_length(text) > LONGEST_VALUE, F.lit(_LONG))
            .otherwise(F.concat(F.lit(_VALUE), F.lower(F.hex(text))))
            for name, text in zip(self.names, self.texts, strict=True)
        }
        # A few files for each partition, whatever the number of tasks; those of a large one are shared out.
        return frame.withColumns(codes).hint("rebalance", *(F.col(name) for name in self.names))

    def partition_of(self, name: str) -> Partition:
        """Answer the partition of a file by its name; raises `PartitionRefused` for a text that is too long for one."""
        codes = [part.partition("=")[2] for part in name.split("/")[:-1]]
        return tuple(self._value(*each) for each in zip(self.by, self.types, codes, strict=True))

    def _value(self, by: PartitionColumn, type_: DataType, code: str) -> str | int | bool | None:
        if code == _LONG:
            raise PartitionRefused(
                f"{self.where}: a value of {by.column} is longer than {LONGEST_VALUE} bytes",
                hint="it names a partition: partition by something shorter",
            )
        if code == _NULL:
            return None
        text = bytes.fromhex(code[1:]).decode()
        if by.unit is None and isinstance(type_, _WHOLE_NUMBERS):
            return int(text)
        return text == "true" if by.unit is None and isinstance(type_, BooleanType) else text

    def among(self, partitions: Iterable[Partition]) -> Column:
        """Answer whether a row belongs to one of these partitions."""
        return among(self.texts, partitions)


def among(texts: tuple[Column, ...], partitions: Iterable[Partition]) -> Column:
    """Answer whether columns, as texts, have the values of one of these partitions."""
    wanted = [tuple(None if value is None else as_text(value) for value in each) for each in partitions]
    if len(texts) == 1:
        values = sorted({each[0] for each in wanted if each[0] is not None})
        found = texts[0].isin(*values) if values else F.lit(False)
        return (
            F.coalesce(found, F.lit(False)) | texts[0].isNull()
            if (None,) in wanted
            else F.coalesce(found, F.lit(False))
        )
    keys = sorted({msgspec.json.encode(each).decode() for each in wanted})
    parts = [F.coalesce(F.concat(F.lit("v"), F.hex(text)), F.lit("n")) for text in texts]
    codes = [
        "/".join("n" if v is None else "v" + v.encode().hex().upper() for v in msgspec.json.decode(key)) for key in keys
    ]
    return F.concat_ws("/", *parts).isin(*codes) if codes else F.lit(False)


def selected(schema: str, columns: Sequence[PartitionColumn], partitions: Iterable[Partition] | None) -> Column:
    """Answer whether a row of any table, with columns of the types of this schema, is of one of these (None: any)."""
    if partitions is None:
        return F.lit(True)
    types = {field.name: field.dataType for field in StructType.fromJson(json.loads(schema)).fields}
    texts = (text_of(F.col(quoted(each.column)), types.get(each.column, StringType()), each) for each in columns)
    return among(tuple(texts), partitions)


def text_of(column: Column, type_: DataType, by: PartitionColumn) -> Column:
    """Answer the value of a partition as a text: of a moment its unit in the zone, of anything else itself."""
    if by.unit is None:
        return column.cast("string")
    # Whatever zone the session has: a moment is shown in it, and taken from there to the one that is asked for.
    local = F.convert_timezone(None, F.lit(by.tz), column) if isinstance(type_, TimestampType) else column
    text = local.cast("string").substr(1, UNITS[by.unit])
    return F.translate(text, " ", "T") if by.unit == "hour" else text


def _column(schema: StructType, by: PartitionColumn, where: str) -> tuple[Column, DataType]:
    if by.column not in schema.names:
        raise PartitionRefused(
            f"{where} has no column {by.column}, which its partitions are made by",
            hint=f"return it, or correct by=; the result has {', '.join(schema.names)}",
        )
    type_ = schema[by.column].dataType
    is_right = isinstance(type_, _PLAIN if by.unit is None else _MOMENTS)
    if not is_right or (by.unit == "hour" and isinstance(type_, DateType)):
        able = "a text, a whole number, a date or a boolean" if by.unit is None else "a timestamp or a date"
        raise PartitionRefused(
            f"{where}: {by.column} is of type {type_.simpleString()}, and by={by.text!r} takes {able}",
            hint='derive a partition from a moment with by=["at:day"], or cast the column',
        )
    return text_of(F.col(quoted(by.column)), type_, by), type_
