"""Files that somebody else writes: CSV, JSON and text with a declared schema, and a place for the rows that break it.

A row that cannot be read as declared is not lost and stops nobody: it comes with its raw text in the column `_bad`,
which is null in every other row. `good` and `rejected` make two tables of them; the expectation `bad_rows` limits them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from pondage.errors import PondageError
from pondage.work.snapshot import BAD

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.types import StructType


class BadSchema(PondageError):
    """A declared schema that cannot be used."""

    code = "BAD_SCHEMA"


def csv(
    spark: SparkSession,
    path: str | list[str],
    schema: str | StructType,
    *,
    header: bool = True,
    options: dict[str, str] | None = None,
) -> DataFrame:
    """Read CSV with exactly these columns, and `_bad`: too few or too many fields, or values of another type.

    With a header its names must be those of the schema, in the same order; a file in which they are not fails the
    read, because a swapped column would be wrong data. `options` are those of Spark's CSV reader.
    """
    reader = lenient_reader(spark, schema, options).option("header", header).option("enforceSchema", not header)
    return whole_rows(reader.csv(path))


def json(
    spark: SparkSession,
    path: str | list[str],
    schema: str | StructType,
    *,
    options: dict[str, str] | None = None,
) -> DataFrame:
    """Read JSON, one object in each line, with exactly these columns, and `_bad` for what is no such object.

    Fields that are not declared are left out. `options={"multiLine": "true"}` reads whole files.
    """
    return whole_rows(lenient_reader(spark, schema, options).json(path))


def text(spark: SparkSession, path: str | list[str], pattern: str, schema: str | StructType) -> DataFrame:
    """Read lines by a regular expression (Java's): its groups are the columns, in order, and `_bad` what does not fit.

    An empty group is null. A line is bad when the pattern does not match, or a group cannot be of its column's type.
    """
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    line = F.col("value")
    found = {
        field.name: (F.nullif(F.regexp_extract(line, pattern, number), F.lit("")), field.dataType)
        for number, field in enumerate(declared(schema).fields, start=1)
    }
    wrong = [given.isNotNull() & given.try_cast(type_).isNull() for given, type_ in found.values()]
    is_bad = reduce(or_, wrong, ~line.rlike(pattern))
    columns = [given.try_cast(type_).alias(name) for name, (given, type_) in found.items()]
    return spark.read.text(path).select(*columns, F.when(is_bad, line).alias(BAD))


def good(frame: DataFrame) -> DataFrame:
    """Answer the rows that were read as declared, without the column `_bad`."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    return frame.where(F.col(BAD).isNull()).drop(BAD)


def rejected(frame: DataFrame) -> DataFrame:
    """Answer the rows that were not, with what could be read of them and the raw text in `_bad`."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    return frame.where(F.col(BAD).isNotNull())


def lenient_reader(spark: SparkSession, schema: str | StructType, options: Mapping[str, str] | None) -> DataFrameReader:
    """Answer a reader that gives rows which do not fit the schema with their raw text in `_bad`."""
    struct = declared(schema)
    return (
        spark.read.options(**(options or {}))
        .schema(struct.add(BAD, "string"))
        .option("mode", "PERMISSIVE")
        .option("columnNameOfCorruptRecord", BAD)
    )


def whole_rows(frame: DataFrame) -> DataFrame:
    """Answer the same table, in which a row is bad or good whichever of its columns somebody asks for.

    Spark reads only the columns that a query needs, and finds nothing wrong with the others: so `_bad` needs them all.
    """
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    # Spark cannot hash maps.
    hashable = [field.name for field in frame.schema.fields if "map<" not in field.dataType.simpleString()]
    columns = [F.col("`" + name.replace("`", "``") + "`") for name in hashable]
    never = F.concat(F.hash(*columns).cast("string"), F.lit("\0"))
    return frame.withColumn(BAD, F.nullif(F.col(BAD), never))


def declared(schema: str | StructType) -> StructType:
    """Answer a schema of the author as a new object; raises `BadSchema`."""
    from pyspark.sql.types import StructType

    parsed = StructType.fromDDL(schema) if isinstance(schema, str) else schema
    struct = StructType(list(parsed.fields) if isinstance(parsed, StructType) else [])
    if not struct.fields or BAD in struct.names:
        raise BadSchema(
            f"the schema {struct.simpleString()} is empty or has a column {BAD}",
            hint=f'declare the columns of the file, like "id long, amount double"; {BAD} is added to them',
        )
    return struct
