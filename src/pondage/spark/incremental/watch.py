"""What a function does while it is called: jobs that it runs make its plan depend on data."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HEARD_MS = 30_000
"""So long Spark may take to tell what has begun; who is not told in time takes it for a job."""


class CalledJobs:
    """What is known after the call. `why_full` says what speaks against going on from an older result."""

    def __init__(self) -> None:
        self.why_full = ""


@contextmanager
def watched(session: SparkSession) -> Iterator[CalledJobs]:
    """Count the Spark jobs that are begun inside of the block by this thread and those that inherit from it."""
    found = CalledJobs()
    context = session.sparkContext
    tag = f"pondage-call-{uuid.uuid4().hex}"
    context.addJobTag(tag)
    try:
        yield found
        if tag not in context.getJobTags():
            found.why_full = "the function took away the tags by which its Spark jobs are counted"
            return
        inside = context._jsc.sc()
        try:
            # Spark hears of its own jobs a moment after they began.
            inside.listenerBus().waitUntilEmpty(_HEARD_MS)
            jobs = len(list(inside.statusTracker().getJobIdsForTag(tag)))
        except Py4JError:
            found.why_full = "Spark does not say which jobs the function ran"
            return
        if jobs:
            ran = "a Spark job" if jobs == 1 else f"{jobs} Spark jobs"
            found.why_full = f"the function ran {ran} while it was called, so its plan depends on data"
    finally:
        context.removeJobTag(tag)


_ELSEWHERE = (
    "spark.sql.adaptive.", "spark.sql.warehouse.dir", "spark.sql.shuffle.partitions", "spark.sql.files.",
    "spark.sql.autoBroadcastJoinThreshold", "spark.sql.ui.", "spark.sql.parquet.", "spark.sql.streaming.",
    "spark.sql.catalog.", "spark.sql.catalogImplementation", "spark.sql.extensions", "spark.sql.artifact.",
)  # fmt: skip
"""Settings that say where and how fast, not what."""


def settings(session: SparkSession) -> dict[str, str]:
    """Answer the settings of a session that may decide what a query means."""
    given = dict(session.conf.getAll)
    # It may come from the machine, where nobody has set it.
    given["spark.sql.session.timeZone"] = str(session.conf.get("spark.sql.session.timeZone"))
    return {
        name: value
        for name, value in sorted(given.items())
        if name.startswith("spark.sql.") and not name.startswith(_ELSEWHERE)
    }
