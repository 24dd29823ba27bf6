"""Rows that were never rows of the table: sources set them aside, and they are kept with those that broke a rule."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

import msgspec

from pondage.spark.files.write import write_files
from pondage.work.snapshot import BAD, SetAside, SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PLACE = f"{BAD}_read"


def with_rows_aside(content: SnapshotContent, rows: Sequence[DataFrame]) -> SnapshotContent:
    """Answer a snapshot that was just written with more rows set aside: below its directory, where no reader looks."""
    if not rows:
        return content
    whole = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), rows)
    written = write_files(whole, f"{content.path}/{_PLACE}").as_content()
    if not written.files:
        return content
    broken = content.set_aside
    files = tuple(msgspec.structs.replace(each, name=f"{_PLACE}/{each.name}") for each in written.files)
    if broken is not None:
        folder = broken.path.removeprefix(f"{content.path}/")
        files += tuple(msgspec.structs.replace(each, name=f"{folder}/{each.name}") for each in broken.files)
    return msgspec.structs.replace(
        content,
        set_aside=SetAside(
            path=content.path,
            files=files,
            schema=written.schema if broken is None else _joined(broken.schema, written.schema),
            rows=written.rows + (0 if broken is None else broken.rows),
            bytes=written.bytes + (0 if broken is None else broken.bytes),
        ),
    )


def _joined(one: str, other: str) -> str:
    """Answer a schema with the columns of both; a column of the first wins."""
    first = json.loads(one)
    names = {each["name"].casefold() for each in first["fields"]}
    first["fields"] += [each for each in json.loads(other)["fields"] if each["name"].casefold() not in names]
    return json.dumps(first)
