"""Reading a table in partitions so that Spark opens the files of those alone that a query asks for.

Spark prunes by partitions that it finds in the names of directories; ours are in the manifest. There is no public way
to tell it, so this module makes the file index and the relation itself, as `spark.read` does inside. Where that does
not work (Spark Connect, another version) the files are read as any others: right, and pruned by their footers.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses
from pyspark.sql.types import ArrayType, StructType

from pondage.define.pond.partition import parsed
from pondage.spark.files.storage import spark_path
from pondage.spark.session.connect import is_connect
from pondage.work.snapshot import SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_PARTITIONS = 2_000
"""Above, telling Spark all partitions costs more than a second, and most queries less than that without it."""
_log = logging.getLogger(__name__)


def read_by_partition(session: SparkSession, content: SnapshotContent, schema: StructType) -> DataFrame | None:
    """Answer the table as a DataFrame whose filters on columns of `by` prune files, None where that cannot be."""
    by = parsed(content.by)
    places = [place for place, each in enumerate(by) if each.unit is None and each.column in schema.names]
    if not places or is_connect(session):
        return None
    values: dict[str, list[object]] = {}
    for file, path in zip(content.files, content.paths, strict=True):
        if file.partition is None:
            return None
        values[path.rpartition("/")[0]] = [file.partition[place] for place in places]
    if len(values) > MOST_PARTITIONS:
        return None
    columns = StructType([schema[by[place].column] for place in places])
    try:
        return _relation(session, content.paths, schema, columns, values)
    except Py4JError as error:
        _log.warning("partitions are pruned by footers only: %s", str(error).partition("\n")[0])
        return None


def _relation(
    session: SparkSession,
    paths: tuple[str, ...],
    schema: StructType,
    columns: StructType,
    values: dict[str, list[object]],
) -> DataFrame:
    from pyspark.sql.classic.dataframe import DataFrame

    jvm: Any = session._jvm
    spark: Any = session._jsparkSession
    sources = jvm.org.apache.spark.sql.execution.datasources
    path = jvm.org.apache.hadoop.fs.Path
    rows = _rows(session, columns, list(values.values()))
    partitions = jvm.java.util.ArrayList()
    for number, place in enumerate(values):
        partitions.add(sources.PartitionPath(rows.getStruct(number, len(columns)), path(spark_path(place))))
    files = jvm.java.util.ArrayList()
    for each in paths:
        files.add(path(spark_path(each)))
    to_seq, no_options = jvm.PythonUtils.toSeq, jvm.PythonUtils.toScalaMap({})
    of_json, some, none = jvm.org.apache.spark.sql.types.DataType.fromJson, jvm.scala.Some, jvm.scala.Option.empty()
    all_columns = of_json(schema.json())
    spec = sources.PartitionSpec(of_json(columns.json()), to_seq(partitions))
    no_cache = getattr(sources, "NoopCache$").__getattr__("MODULE$")
    index = sources.InMemoryFileIndex(spark, to_seq(files), no_options, some(all_columns), no_cache, some(spec), none)
    relation = sources.HadoopFsRelation(
        index, spec.partitionColumns(), all_columns, none, sources.parquet.ParquetFileFormat(), no_options, spark
    )
    return DataFrame(spark.baseRelationToDataFrame(relation), session)


def _rows(session: SparkSession, columns: StructType, values: list[list[object]]) -> Any:
    """Answer the values as Spark has them inside: it parses them itself, from one literal, and runs no job for it.

    A value that it cannot parse raises; taken for a null it would hide rows.
    """
    found = [dict(zip(columns.names, each, strict=True)) for each in values]
    parsed_rows = F.from_json(F.lit(json.dumps(found)), ArrayType(columns), {"mode": "FAILFAST"})
    frame: Any = session.range(1).select(parsed_rows.alias("rows"))
    return frame._jdf.queryExecution().optimizedPlan().expressions().head().child().value()
