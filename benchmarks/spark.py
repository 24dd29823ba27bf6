"""What Pondage costs beside the same steps in hand-written scripts, in one warm JVM, alternately.

The reference pipeline over PONDAGE_BENCH_EVENTS events (6 million) and over 60,000: with every step written, and with
automatic fusion against the lazy script. A change of one row through three Ponds. Reading tables of many files. A
small write with and without the file system that forks nothing, and the cold start with and without what `pondage
warmup` prepares.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from benchmarks.run import Row
from benchmarks.support.spark_host import SparkHost
from benchmarks.support.spark_project import steps
from pondage.spark.jvm.class_archive import cache_directory
from pondage.spark.session.warmup import warm
from pondage.work.snapshot import SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS = int(os.environ.get("PONDAGE_BENCH_EVENTS", "6000000"))
SMALL = min(EVENTS, 60_000)
PAIRS = int(os.environ.get("PONDAGE_BENCH_PAIRS", "5"))
SMALL_PAIRS = 2 * PAIRS - 1
STARTS = 3


class Scripts:
    """The hand-written scripts: they write where nobody else does, and clear it away outside of the clock."""

    def __init__(self, host: SparkHost, folder: Path) -> None:
        self._host = host
        self._folder = folder
        self._spark = host.session()

    def written(self, size: str) -> float:
        """Run the pipeline with a parquet write at every node."""

        def node(frame: DataFrame, name: str) -> DataFrame:
            path = f"file:{self._folder}/script/{name}"
            frame.write.parquet(path)
            # With its schema: finding it out would be a job more, which Pondage does not need either.
            return self._spark.read.schema(frame.schema).parquet(path)

        web, app, users = self._raw(size)
        return self._timed(lambda: self._pipeline(web, app, users, node))

    def lazy(self, size: str) -> float:
        """Run the pipeline as one plan with one write."""

        def node(frame: DataFrame, name: str) -> DataFrame:
            if name == "report":
                frame.write.parquet(f"file:{self._folder}/script/report")
            return frame

        web, app, users = self._raw(size)
        return self._timed(lambda: self._pipeline(web, app, users, node))

    def one_row(self) -> float:
        """Do what the three small Ponds do: a row, a projection, a sum, each written and read again."""
        from pyspark.sql import functions as F  # noqa: N812

        spark, base = self._spark, f"file:{self._folder}/script"

        def act() -> None:
            first = spark.createDataFrame([(1, 2.5)], "id long, amount double").withColumn("at", F.current_timestamp())
            first.write.parquet(f"{base}/first")
            second = spark.read.schema(first.schema).parquet(f"{base}/first").withColumn("amount", F.col("amount") * 2)
            second.write.parquet(f"{base}/second")
            third = spark.read.schema(second.schema).parquet(f"{base}/second")
            third.groupBy("id").agg(F.sum("amount").alias("amount")).write.parquet(f"{base}/third")

        return self._timed(act)

    def _pipeline(
        self,
        web: Callable[[], DataFrame],
        app: Callable[[], DataFrame],
        users: Callable[[], DataFrame],
        node: Callable[[DataFrame, str], DataFrame],
    ) -> None:
        clean_web = node(steps.cleaned(web(), "web"), "clean_web")
        clean_app = node(steps.cleaned(app(), "app"), "clean_app")
        events = node(steps.merged(clean_web, clean_app), "events")
        enriched = node(steps.enriched(events, users()), "enriched")
        totals = node(steps.daily(enriched), "daily")
        ranks = node(steps.ranked(totals), "ranked")
        node(steps.reported(ranks), "report")

    def _raw(self, size: str) -> tuple[Callable[[], DataFrame], Callable[[], DataFrame], Callable[[], DataFrame]]:
        from pyspark.sql.types import StructType

        def reader(name: str) -> Callable[[], DataFrame]:
            content = self._host.output(f"landing_{size}", name)
            schema = StructType.fromJson(msgspec.json.decode(content.schema))
            return lambda: self._spark.read.schema(schema).parquet(f"file:{content.path}")

        return reader("web"), reader("app"), reader("users")

    def _timed(self, act: Callable[[], None]) -> float:
        shutil.rmtree(self._folder / "script", ignore_errors=True)
        began = time.perf_counter()
        act()
        return time.perf_counter() - began


def run() -> list[Row]:
    """Measure everything; the rows say how far the ratios of single pairs lay apart."""
    warm(print)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="pondage-bench-") as made:
        host = SparkHost(Path(made), EVENTS, SMALL)
        try:
            host.pulse("landing_small")
            scripts = Scripts(host, Path(made))
            rows += _small(host, scripts)
            rows += _many_files(host, host.session(), Path(made))
            rows.append(_write_without_fork(host, host.session(), Path(made)))
            rows += _full(host, scripts)
        finally:
            host.close()
        rows += _cold(Path(made))
    return rows


def _full(host: SparkHost, scripts: Scripts) -> list[Row]:
    host.pulse("landing_full")
    what = f"{EVENTS:,} events"
    return [
        _pairs(host, f"{what}, every step written", lambda: host.force("written_full"), lambda: scripts.written("full"),
               "script that writes every step", "1.03", PAIRS),
        _pairs(host, f"{what}, automatic fusion", lambda: host.force("fused_full"), lambda: scripts.lazy("full"),
               "lazy script", "1.10", PAIRS),
    ]  # fmt: skip


def _small(host: SparkHost, scripts: Scripts) -> list[Row]:
    what = f"{SMALL:,} events"
    return [
        _pairs(host, f"{what}, every step written", lambda: host.force("written_small"),
               lambda: scripts.written("small"), "script that writes every step", "1.05", SMALL_PAIRS),
        _pairs(host, f"{what}, automatic fusion", lambda: host.force("fused_small"), lambda: scripts.lazy("small"),
               "lazy script", "1.10", SMALL_PAIRS),
        _pairs(host, "one row through three Ponds", lambda: host.pulse("one_total"), scripts.one_row,
               "the same three writes", "1.2", SMALL_PAIRS),
    ]  # fmt: skip


def _pairs(
    host: SparkHost,
    what: str,
    ours: Callable[[], float],
    theirs: Callable[[], float],
    against: str,
    goal: str,
    count: int,
) -> Row:
    """Alternate, after a round that does not count: the first ones compile what the others run.

    Beside the time of the clock stands that of the processors, which other work on the machine hardly changes.
    """
    print(f"  {what} …", flush=True)
    theirs()
    ours()
    pairs, worked = [], []
    for _ in range(count):
        marks = [host.cpu_s()]
        pair = []
        for act in (theirs, ours):
            pair.append(act())
            marks.append(host.cpu_s())
        pairs.append((pair[0], pair[1]))
        worked.append((marks[1] - marks[0], marks[2] - marks[1]))
    row = Row(
        what=what,
        ours=round(statistics.median(one for _, one in pairs) * 1000, 1),
        against=f"{against}; pairs {_spread(pairs)}, of processor time {_spread(worked)}, goal: at most {goal}×",
        anchor=round(statistics.median(base for base, _ in pairs) * 1000, 1),
        unit="ms",
        n=count,
    )
    print(f"    {row.ours:g} ms, {row.ratio}× of {row.against}", flush=True)
    return row


def _spread(pairs: Sequence[tuple[float, float]]) -> str:
    ratios = sorted(one / base for base, one in pairs if base > 0)
    if not ratios:
        return "not measured"
    return f"{ratios[0]:.2f} to {ratios[-1]:.2f}, their median {statistics.median(ratios):.2f}"


def _many_files(host: SparkHost, spark: SparkSession, folder: Path) -> list[Row]:
    """Read the same rows from 1, 100 and 1,000 batches, as explicit files and as Spark lists a directory."""
    from pondage.spark.files.read import read_snapshot
    from pondage.spark.files.write import write_files

    rows, single = [], 0.0
    for batches in (1, 100, 1_000):
        place = folder / f"batches{batches}"
        content = write_files(spark.range(100_000, numPartitions=batches), str(place)).as_content()
        assert len(content.files) == batches

        def ours(content: SnapshotContent = content) -> float:
            return _seconds(lambda: read_snapshot(spark, content).selectExpr("sum(id)").collect())

        def theirs(place: Path = place) -> float:
            return _seconds(lambda: spark.read.parquet(f"file:{place}").selectExpr("sum(id)").collect())

        rows.append(_pairs(host, f"reading {batches:,} batches", ours, theirs, "Spark on the directory", "1", PAIRS))
        single = single or rows[0].ours
        rows.append(
            Row(what=f"reading {batches:,} batches", ours=rows[-1].ours, against="one batch", anchor=single, unit="ms",
                n=PAIRS)
        )  # fmt: skip
    return rows


def _write_without_fork(host: SparkHost, spark: SparkSession, folder: Path) -> Row:
    plain = {"fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem", "fs.file.impl.disable.cache": "true"}
    numbers = iter(range(1_000_000))

    def ours() -> float:
        return _seconds(lambda: spark.range(1).write.parquet(f"file:{folder}/small/{next(numbers)}"))

    def theirs() -> float:
        return _seconds(lambda: spark.range(1).write.options(**plain).parquet(f"file:{folder}/small/{next(numbers)}"))

    return _pairs(host, "writing one row, nothing forked", ours, theirs, "Hadoop's own file system", "1", SMALL_PAIRS)


_START = """
import sys, time
began = time.perf_counter()
from pathlib import Path
from pondage.spark.session.driver import SparkDriver
from pondage.spark.jvm.settings import SparkSettings
state, cache, options = Path(sys.argv[1]), Path(sys.argv[2]), tuple(sys.argv[3:])
driver = SparkDriver.start(SparkSettings(memory="1g"), state, cache=cache, extra_java_options=options)
with driver.attempt("cold", "cold start") as spark:
    spark.range(10).write.parquet(f"file:{state}/rows")
print(time.perf_counter() - began)
driver.stop()
"""


def _cold(folder: Path) -> list[Row]:
    """Start a driver in a process of its own, to the end of the first write, with and without what is prepared."""
    cache, empty = cache_directory(), folder / "nothing"

    def start(cache: Path, *options: str) -> Callable[[], float]:
        def act() -> float:
            with tempfile.TemporaryDirectory(dir=folder) as state:
                done = subprocess.run(
                    [sys.executable, "-c", _START, state, str(cache), *options], capture_output=True, text=True,
                    check=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
                )  # fmt: skip
            return float(done.stdout.splitlines()[-1])

        return act

    what = "cold start to the first write"
    both = start(cache)
    return [
        _cold_row(what, both, start(empty), "without archive and file system"),
        _cold_row(what, both, start(cache, "-Xshare:auto"), "without archive"),
    ]


def _cold_row(what: str, ours: Callable[[], float], theirs: Callable[[], float], against: str) -> Row:
    pairs = [(theirs(), ours()) for _ in range(STARTS)]
    return Row(
        what=what,
        ours=round(statistics.median(one for _, one in pairs), 2),
        against=against,
        anchor=round(statistics.median(base for base, _ in pairs), 2),
        unit="s",
        n=STARTS,
    )


def _seconds(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def main() -> None:
    """Print the rows as JSON: for trying it with other sizes without keeping anything."""
    print(msgspec.json.format(msgspec.json.encode([row.as_json() for row in run()])).decode())


if __name__ == "__main__":
    main()
