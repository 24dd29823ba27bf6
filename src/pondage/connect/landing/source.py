"""`sources.files` as an author calls it. Importing this costs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pondage.connect.landing.asked import Asked, Bad, Drift, Format, Replaced
from pondage.define.pond.run import Run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def files(
    spark: SparkSession,
    run: Run,
    path: str,
    *,
    glob: str = "*",
    format: Format | None = None,  # noqa: A002 - the word that Spark has for it
    schema: str | StructType | None = None,
    drift: Drift = "fail",
    bad: Bad = "fail",
    replaced: Replaced = "fail",
    folders: bool = False,
    most: str | int | None = None,
    settle: str | None = None,
    marker: str | None = None,
    keep: Sequence[str] = (),
    header: bool = True,
    options: Mapping[str, str] | None = None,
    name: str | None = None,
) -> DataFrame:
    """Read the files below a folder that the table of this Ripple has not taken yet, each exactly once.

    - `format` is told by the first file's ending, `schema` (DDL or a `StructType`) by the first files, unless given.
    - A file with other columns is judged before it is read: `drift="fail"` takes none, `"add"` adds new columns (null
      in rows before), `"cast"` also takes narrower types and texts, `"ignore"` leaves unknown columns out. A column
      that is missing is null, but for `"fail"`.
    - What cannot be read as the table fails the Ripple, or with `bad="quarantine"` goes to `TABLE__bad`, the reason in
      `_bad`. `replaced` says what to do with a file that was taken and is another one now: `"fail"`, `"append"` takes
      it again beside its old rows, `"ignore"` leaves it. `"replace"` exchanges its rows, in a Pond with
      `mode="partition"` and `keep=["_file"]`; there a partition then has the rows of all its files, whenever they come.
    - `folders=True` makes columns of folders like `day=2026-01-01`.
    - `most` (`"10 GB"`, or a number of files) bounds a Run, the oldest first; the next Run follows at once.
    - `settle="30s"` leaves files that were just written, `marker="*.done"` those beside which no such file lies.
    - `keep=["_file", "_landed_at"]` adds where a row is from. `header` and `options` are those of Spark's reader.
    - `name` tells two readers of one folder apart.

    When nothing is new the Ripple ends as unchanged. What was decided is read again by whoever tries the Run again.
    Raises `PondageError`: DRIFT, BAD_FILE, FILE_REPLACED, FILE_GONE, NO_SCHEMA, NO_FILE, BAD_OPTION.
    """
    # pyarrow and Spark's types are imported when a Ripple runs, not when a project is read.
    from pondage.connect.landing.landed_files import rows_that_landed

    asked = Asked(
        path=path, glob=glob, form=format, schema=schema, drift=drift, bad=bad, replaced=replaced, folders=folders,
        most=most, settle=settle, marker=marker, keep=tuple(keep), header=header, options=dict(options or {}),
        name=name,
    )  # fmt: skip
    return rows_that_landed(spark, run, asked)
