"""Looking around with tasks of our own: which machines run them, and what they write."""

from __future__ import annotations

import secrets
import shutil
import time
from typing import TYPE_CHECKING

import msgspec

from pondage.spark.files.storage import local_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASKS = 8


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What tasks saw on one machine; `late_s` is how far its clock is from ours at least, below 0 when it is behind."""

    host: str
    python: str
    has_pondage: bool
    late_s: float


def machines(session: SparkSession) -> list[Seen]:
    """Run a few tasks and answer what they saw, one for each machine."""

    # Defined here, so that it travels as it is: Pondage may not be there.
    def look(batches):  # type: ignore[no-untyped-def]
        import importlib.util
        import platform
        import socket
        import time

        import pyarrow

        for _ in batches:
            yield pyarrow.RecordBatch.from_pydict({
                "host": [socket.gethostname()], "python": [platform.python_version()],
                "pondage": [importlib.util.find_spec("pondage") is not None], "at": [time.time()],
            })  # fmt: skip

    began = time.time()
    rows = (
        session.range(0, TASKS, 1, TASKS)
        .mapInArrow(look, "host string, python string, pondage boolean, at double")
        .collect()
    )
    ended = time.time()
    found = {
        row["host"]: Seen(
            host=row["host"], python=row["python"], has_pondage=row["pondage"],
            late_s=min(0.0, row["at"] - began) + max(0.0, row["at"] - ended),
        )
        for row in rows
    }  # fmt: skip
    return [found[host] for host in sorted(found)]


def rows_seen(session: SparkSession, warehouse: str) -> int:
    """Let tasks write a row each and answer how many are found from here, as an attempt does it; nothing is left.

    A directory that has the same name on each machine and is not shared loses rows without an error.
    """
    from pondage.spark.files.write import write_files  # importing pyspark costs half a second

    place = f"{warehouse.rstrip('/')}/data/.doctor-{secrets.token_hex(8)}"
    try:
        return write_files(session.range(0, TASKS, 1, TASKS).toDF("id"), place).rows
    finally:
        local = local_path(place)
        if local is not None:
            shutil.rmtree(local, ignore_errors=True)
