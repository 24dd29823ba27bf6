"""What an author may say of files that land."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

PREFIX = "files:"
"""What the positions of folders are called."""
Format = Literal["parquet", "csv", "json", "orc", "text", "avro"]
Drift = Literal["fail", "add", "cast", "ignore"]
Replaced = Literal["fail", "append", "ignore", "replace"]
Bad = Literal["fail", "quarantine"]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What an author said of the files."""

    path: str
    glob: str
    form: Format | None
    schema: str | StructType | None
    drift: Drift
    bad: Bad
    replaced: Replaced
    folders: bool
    most: str | int | None
    settle: str | None
    marker: str | None
    keep: tuple[str, ...]
    header: bool
    options: dict[str, str]
    name: str | None
