"""Rows of files with different schemas as one table: a read for each schema, and the columns put where they belong."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

import msgspec

from pondage.connect.files import lenient_reader, whole_rows
from pondage.connect.landing.decision import Group
from pondage.connect.landing.taken_lists import Entry
from pondage.define.pond.run import FILE_COLUMN, Run
from pondage.spark.files.storage import local_path, readable_path, spark_path
from pondage.work.snapshot import BAD

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

_AS_THEY_ARE = "/_-!.~'()*,;:$&+=@"
"""What Java leaves as it is in the path of a URI, beside letters and digits of any language."""
_METADATA = {FILE_COLUMN: "file_path", "_landed_at": "file_modification_time"}
_LENIENT = ("csv", "json")


def file_name(place: str) -> str:
    """Answer the name of a file as Spark has it in `_metadata.file_path`."""
    local = local_path(place)
    scheme, sign, path = ("file", ":", str(local)) if local is not None else place.partition("://")
    return f"{scheme}{sign}" + "".join(quote(each, safe=_AS_THEY_ARE) if each.isascii() else each for each in path)


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How the files of a batch are read."""

    session: SparkSession
    form: str
    folder: str
    options: dict[str, str]
    header: bool
    schema: str
    groups: tuple[Group, ...]
    keep: tuple[str, ...]
    bad: Literal["fail", "quarantine"]
    has_folders: bool


def rows_of(reading: Reading, run: Run, entries: Sequence[Entry]) -> DataFrame:
    """Answer the rows of all files as one table; what cannot be part of it is set aside in the Run, or fails it."""
    from pyspark.sql.types import StructType

    table = StructType.fromJson(json.loads(reading.schema))
    parts: list[DataFrame] = []
    for number, group in enumerate(reading.groups):
        taken = [each for each in entries if each.group == number and each.state == "taken"]
        aside = [each for each in entries if each.group == number and each.state == "aside"]
        if taken and (json.loads(group.own)["fields"] or reading.form not in ("parquet", "orc", "avro")):
            parts.append(_good(reading, run, table, group, taken))
        for why in dict.fromkeys(each.why for each in aside):
            run.set_aside(_aside(reading, table, group, [each for each in aside if each.why == why], why))
    if not parts:
        return _empty(reading, table)
    return reduce(lambda one, other: one.unionByName(other), parts)


def _good(reading: Reading, run: Run, table: StructType, group: Group, files: Sequence[Entry]) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    rows, own = _raw(reading, table, group, [each.path for each in files])
    known = {each.casefold(): each for each in [*own.names, *(group.folders if reading.has_folders else ())]}
    columns = [_column(known.get(each.name.casefold()), each.dataType, rows).alias(each.name) for each in table.fields]
    kept = [F.col(f"__{each}").alias(each) for each in reading.keep]
    if BAD not in rows.columns:
        return rows.select(*columns, *kept)
    if reading.bad == "quarantine":
        run.set_aside(rows.where(F.col(BAD).isNotNull()).select(*columns, F.col(BAD)))
        return rows.where(F.col(BAD).isNull()).select(*columns, *kept)
    said = F.concat(
        F.lit("a row of "), F.col("__place"), F.lit(" cannot be read as declared: "), F.substring(BAD, 1, 200)
    )
    refused = F.when(F.col(BAD).isNotNull(), F.raise_error(said).cast("boolean")).otherwise(F.lit(True))
    return rows.where(refused).select(*columns, *kept)


def _raw(reading: Reading, table: StructType, group: Group, paths: Sequence[str]) -> tuple[DataFrame, StructType]:
    """Answer the rows of files with one schema as they are, with what is known of their files; and that schema."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses
    from pyspark.sql.types import StringType, StructField, StructType

    own = StructType.fromJson(json.loads(group.own))
    types = {each.name.casefold(): each.dataType for each in table.fields}
    from_path = [StructField(each, types.get(each.casefold(), StringType())) for each in group.folders]
    if reading.form in _LENIENT:
        # A text is read as what the table wants of it; a column that the table does not know is left a text.
        fields = own.fields or ([] if reading.form == "csv" and reading.header else table.fields)
        own = StructType([StructField(each.name, types.get(each.name.casefold(), StringType())) for each in fields])
    elif reading.form == "text":
        own = StructType([StructField("value", StringType())])
    whole = StructType([*own.fields, *from_path])
    reader = (
        lenient_reader(reading.session, whole, reading.options)
        if reading.form in _LENIENT
        else reading.session.read.options(**reading.options).schema(whole)
    )
    if reading.form == "csv":
        reader = reader.option("header", reading.header).option("enforceSchema", not reading.header)
    if reading.has_folders:
        reader = reader.option("basePath", spark_path(reading.folder))
    places = [readable_path(f"{reading.folder}/{each}") for each in paths]
    rows = reader.format(reading.form).load(places)
    kept = [F.col(f"_metadata.{_METADATA[each]}").alias(f"__{each}") for each in reading.keep]
    rows = rows.select("*", *kept, F.col("_metadata.file_path").alias("__place"))
    return (whole_rows(rows) if reading.form in _LENIENT else rows), own


def _column(name: str | None, wanted: object, rows: DataFrame) -> Column:
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    if name is None:
        return F.lit(None).cast(wanted)  # type: ignore[arg-type]
    found = F.col("`" + name.replace("`", "``") + "`")
    return found if rows.schema[name].dataType == wanted else found.cast(wanted)  # type: ignore[arg-type]


def _aside(reading: Reading, table: StructType, group: Group, files: Sequence[Entry], why: str) -> DataFrame:
    """Answer the rows of files that do not fit, as far as they can be read; one row for a file that cannot."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    if not json.loads(group.own)["fields"]:
        nulls = [F.lit(None).cast(each.dataType).alias(each.name) for each in table.fields]
        rows = [
            reading.session.range(1).select(*nulls, F.lit(f"{each.path}: {why}").alias(BAD)) for each in files
        ]  # fmt: skip
        return reduce(lambda one, other: one.unionByName(other), rows)
    raw, own = _raw(reading, table, group, [each.path for each in files])
    known = {each.casefold(): each for each in own.names}
    columns: list[Column] = []
    for field in table.fields:
        name = known.get(field.name.casefold())
        value = F.lit(None) if name is None else F.col("`" + name.replace("`", "``") + "`")
        columns.append(
            (value.cast(field.dataType) if name is None else value.try_cast(field.dataType)).alias(field.name)
        )
    return raw.select(*columns, F.concat(F.col("__place"), F.lit(f": {why}")).alias(BAD))


def _empty(reading: Reading, table: StructType) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    kinds = {FILE_COLUMN: "string", "_landed_at": "timestamp"}
    columns = [F.lit(None).cast(each.dataType).alias(each.name) for each in table.fields]
    kept = [F.lit(None).cast(kinds[each]).alias(each) for each in reading.keep]
    return reading.session.range(0).select(*columns, *kept)
