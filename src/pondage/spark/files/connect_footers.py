"""What a Connect server tells of files that it wrote to a place which this process cannot read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pondage.spark.files.footers import Footer
from pondage.spark.files.storage import readable_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def told_footers(frame: DataFrame, place: str) -> list[Footer]:
    """Answer name, rows and bytes of each file with rows that was just written, without statistics of columns.

    It costs one small job that reads footers only: no metric of the write tells the names of the files, which every
    reader is given.
    """
    written = frame.sparkSession.read.schema(frame.schema).option("recursiveFileLookup", "true")
    files = written.parquet(readable_path(place)).select("_metadata.file_name", "_metadata.file_size")
    rows = files.groupBy("file_name", "file_size").count().collect()
    footers = [Footer(name=row["file_name"], rows=row["count"], bytes=row["file_size"], columns={}) for row in rows]
    return sorted(footers, key=lambda footer: footer.name)
