"""The schema of each file, from the file itself: footers and first lines, read here; JSON, by one Spark job for all."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import fs, orc, parquet
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)  # fmt: skip

from pondage.connect.landing.drift import Unfit
from pondage.spark.files.storage import local_path, readable_path, resolved

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

READERS = 8
LONGEST_HEADER = 1 << 20
_SPARKS_OWN = b"org.apache.spark.sql.parquet.row.metadata"
TYPED = frozenset({"parquet", "orc", "avro"})
"""Formats whose files say what type a column has. Of the others only its name is known."""

_PLAIN: dict[str, DataType] = {"BIGINT": LongType(), "DOUBLE": DoubleType(), "BOOLEAN": BooleanType()}

Schema = StructType | Unfit | None
"""What a file says of itself; why it cannot be read; None when it says nothing, so that it has no rows, either."""


def schemas_of(
    session: SparkSession, form: str, folder: str, paths: Sequence[str], *, options: Mapping[str, str], header: bool
) -> list[Schema]:
    """Answer the schema of each file, in their order."""
    if form == "json":
        found = _of_json(session, folder, paths)
        return [found.get(path) for path in paths]
    if form == "avro":
        return [_of_spark(session, form, f"{folder}/{path}") for path in paths]
    system, root = resolved(folder)

    def one(path: str) -> Schema:
        place = f"{root.rstrip('/')}/{path}"
        try:
            if form == "parquet":
                return _of_parquet(system, place)
            if form == "orc":
                with system.open_input_file(place) as stream:
                    return _spark_schema(orc.ORCFile(stream).schema)
            if form == "text":
                return StructType([StructField("value", StringType())])
            return _of_csv(system, place, options) if header else StructType()
        except FileNotFoundError:
            raise  # it was there a moment ago: not a file that is broken
        except (pa.ArrowException, OSError, ValueError, UnicodeError, csv.Error) as error:
            return Unfit(f"it is no {form} file that can be read: {str(error).splitlines()[0][:200]}")

    with ThreadPoolExecutor(READERS) as readers:
        return list(readers.map(one, paths))


def _of_parquet(system: fs.FileSystem, place: str) -> Schema:
    with system.open_input_file(place) as stream:
        file = parquet.ParquetFile(stream)
        said = (file.metadata.metadata or {}).get(_SPARKS_OWN)
        if said is not None:
            return StructType.fromJson(json.loads(said))
        found = _spark_schema(file.schema_arrow)
        # An old way to store moments, which says nothing of zones; Spark takes it for a moment, Arrow does not.
        columns = [file.schema.column(each) for each in range(len(file.schema))]
        old = {each.path for each in columns if each.physical_type == "INT96"}
        return StructType([
            StructField(each.name, TimestampType() if each.name in old else each.dataType) for each in found.fields
        ])  # fmt: skip


def _spark_schema(schema: pa.Schema) -> StructType:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


def _of_csv(system: fs.FileSystem, place: str, options: Mapping[str, str]) -> Schema:
    """Answer the names of the first line."""
    with system.open_input_stream(place, compression="detect") as stream:
        first = stream.read(LONGEST_HEADER)
    text = first.decode(options.get("encoding", "utf-8-sig"), errors="replace").partition("\n")[0].rstrip("\r")
    if not text:
        return None
    separator = options.get("sep", options.get("delimiter", ","))
    names = next(csv.reader(io.StringIO(text), delimiter=separator, quotechar=options.get("quote", '"') or None))
    return StructType([StructField(name.strip(), StringType()) for name in names])


def _of_json(session: SparkSession, folder: str, paths: Sequence[str]) -> dict[str, Schema]:
    """Answer the names (and types, as far as JSON has them) of all fields in each file, from one pass over them."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    places = [readable_path(f"{folder}/{path}") for path in paths]
    said = (
        session.read.text(places)
        .select(F.col("_metadata.file_path").alias("path"), F.try_parse_json("value").alias("value"))
        .where(F.schema_of_variant("value").startswith("OBJECT"))
        .groupBy("path")
        .agg(F.schema_of_variant_agg("value").alias("schema"))
        .collect()
    )
    found = {_plain(row["path"]): _of_variant(row["schema"]) for row in said}
    return {path: found.get(_plain(str(local_path(f"{folder}/{path}") or f"{folder}/{path}"))) for path in paths}


def _plain(place: str) -> str:
    from urllib.parse import unquote

    return unquote(place).removeprefix("file:").lstrip("/")


def _of_variant(said: str) -> Schema:
    """Answer the fields of `OBJECT<a: BIGINT, b: OBJECT<…>>`; what has no type of its own in a table is text."""
    text = said.removeprefix("OBJECT<").removesuffix(">") if said != "OBJECT<>" else ""
    fields, depth, start = [], 0, 0
    quoted = False
    for position, character in enumerate(f"{text},"):
        if character == "`":
            quoted = not quoted
        elif not quoted:
            depth += (character in "<(") - (character in ">)")
            if character == "," and depth == 0:
                name, _, kind = text[start:position].strip().partition(": ")
                if name.startswith("`"):
                    name, _, kind = text[start:position].strip()[1:].rpartition("`: ")
                if name:
                    fields.append(StructField(name, _PLAIN.get(kind, StringType())))
                start = position + 1
    return StructType(fields)


def _of_spark(session: SparkSession, form: str, place: str) -> Schema:
    return session.read.format(form).load(readable_path(place)).schema
