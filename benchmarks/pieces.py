"""Tables that are made piece by piece: what the past of a table costs a Run that adds little to it.

- one new file beside 100,000 files that were taken already, against the same Run of a table that knows one file
- plan and commit of a Run that touches one of 10,000 partitions, against one of one partition, on SQLite
- the same files through `sources.files` and through Structured Streaming's file source with `availableNow`: all of
  them at once, and one more

PONDAGE_BENCH_FILES, PONDAGE_BENCH_PARTITIONS and PONDAGE_BENCH_STREAMED ask for fewer.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import msgspec
import pyarrow as pa
import pyarrow.parquet as parquet

from benchmarks.run import Row
from pondage.connect.landing.decision import Decision
from pondage.connect.landing.taken_lists import Entry, write
from pondage.define.pond.partition import PartitionColumn, PartitionDefinition
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.spark.jvm.settings import SparkSettings
from pondage.spark.session.driver import SparkDriver
from pondage.work.snapshot import SnapshotContent
from tests.ledger.commit.test_partitioned_tables import commit, files
from tests.ledger.harness import Worker, World, pond
from tests.spark.pipeline import Pipeline

KNOWN = int(os.environ.get("PONDAGE_BENCH_FILES", "100000"))
PARTITIONS = int(os.environ.get("PONDAGE_BENCH_PARTITIONS", "10000"))
STREAMED = int(os.environ.get("PONDAGE_BENCH_STREAMED", "200"))
ROWS = 5_000
TIMES = 5
SCHEMA = "id bigint, at bigint, fare double"
PONDS = """
from pondage import pond, sources

@pond(mode="append")
def trips(spark, run):
    return sources.files(spark, run, {folder!r}, format="parquet", schema={schema!r})
"""


def run() -> list[Row]:
    """Measure everything in one process with one Spark."""
    with tempfile.TemporaryDirectory() as name, _spark(Path(name)) as driver:
        folder = Path(name)
        return [*_one_new_file(folder), *_one_partition(folder), *_beside_streaming(folder, driver)]


@contextmanager
def _spark(folder: Path) -> Iterator[SparkDriver]:
    driver = SparkDriver.start(SparkSettings(memory="2g"), folder / "state")
    try:
        with mock.patch.object(SparkDriver, "start", return_value=driver):
            yield driver
    finally:
        driver.stop()


def _one_new_file(folder: Path) -> list[Row]:
    """Ask again and again for one file more than there was, of a table that knows few files and of one with many."""
    taken = {}
    for known in (1, KNOWN):
        landing = folder / f"landing{known}"
        pipeline = Pipeline(folder / f"project{known}", PONDS.format(folder=str(landing), schema=SCHEMA))
        _land(landing, 0)
        _ask(pipeline)
        _know(pipeline, landing, known)
        taken[known] = _timed(lambda number: _land(landing, number), lambda: _ask(pipeline))  # noqa: B023
        pipeline.close()
    what = f"a Run that takes one new file beside {KNOWN:,} old ones"
    return [_row(what, taken[KNOWN], "beside one", taken[1], "s", TIMES)]


def _know(pipeline: Pipeline, landing: Path, known: int) -> None:
    """Put old files into the folder, and say that the table has taken them: as if many Runs had done it."""
    (landing / "old").mkdir()
    entries = []
    for number in range(known - 1):
        path = landing / "old" / f"{number}.parquet"
        path.touch()
        os.utime(path, (1_600_000_000, 1_600_000_000))
        entries.append(Entry(path=f"old/{number}.parquet", size=0, modified=1_600_000_000_000_000))
    with pipeline.ledger.transaction() as tx:
        snapshot, content = tx.one(
            "SELECT id, content FROM snapshots ORDER BY id DESC LIMIT 1", tuple[int, SnapshotContent]
        )
        ((key, said),) = content.positions.items()
        decision = msgspec.json.decode(said, type=Decision)
        _, lists = write(f"{content.path.rsplit('/', 2)[0]}/taken", entries, decision.lists)
        decision = msgspec.structs.replace(decision, lists=lists)
        position = {key: msgspec.json.encode(decision).decode()}
        tx.write(
            "UPDATE snapshots SET content = :content WHERE id = :id",
            content=msgspec.json.encode(msgspec.structs.replace(content, positions=position)).decode(),
            id=snapshot,
        )


def _one_partition(folder: Path) -> list[Row]:
    """Claim, plan and commit a Run that replaces one partition of ten files, without Spark."""
    taken = {}
    by = PartitionDefinition(by=(PartitionColumn(column="number"),))
    for count in (1, PARTITIONS):
        database = folder / f"partitions{count}.db"
        world = World(lambda clock: SqliteDriver(database, clock))  # noqa: B023
        world.deploy(msgspec.structs.replace(pond("raw"), mode="partition", partition=by))
        worker = Worker(world)
        commit(world, worker, files(range(count), each=10))
        commit(world, worker, files(range(1), each=10))
        touched = files(range(count // 2, count // 2 + 1), each=10)
        taken[count] = _timed(lambda _: None, lambda: commit(world, worker, touched))  # noqa: B023
        world.ledger.close()
    what = f"plan and commit of a Run that touches one of {PARTITIONS:,} partitions"
    return [_row(what, taken[PARTITIONS] * 1_000, "of one", taken[1] * 1_000, "ms", TIMES)]


def _beside_streaming(folder: Path, driver: SparkDriver) -> list[Row]:
    """Take the same files with both: all of them, and then one more, several times."""
    landing = folder / "landing"
    for number in range(STREAMED):
        _land(landing, number, rows=ROWS)

    def streamed() -> None:
        with driver.attempt(f"streamed-{time.monotonic_ns()}", "streamed") as session:
            query = (
                session.readStream.schema(SCHEMA).parquet(f"file:{landing}")
                .writeStream.format("parquet").option("checkpointLocation", f"file:{folder}/checkpoint")
                .trigger(availableNow=True).start(f"file:{folder}/streamed")
            )  # fmt: skip
            query.awaitTermination()

    # Spark is warm for both: each has taken files before.
    warm = folder / "warm"
    _land(warm, 0)
    other = Pipeline(folder / "warm_project", PONDS.format(folder=str(warm), schema=SCHEMA))
    _ask(other)
    other.close()
    pipeline = Pipeline(folder / "project", PONDS.format(folder=str(landing), schema=SCHEMA))
    both: dict[str, Callable[[], None]] = {"ours": lambda: _ask(pipeline), "streamed": streamed}
    first = {name: _timed(lambda _: None, take, times=1) for name, take in both.items()}
    later: dict[str, list[float]] = {name: [] for name in both}
    for number in range(TIMES):
        _land(landing, STREAMED + number, rows=ROWS)
        for name, take in both.items():
            later[name].append(_timed(lambda _: None, take, times=1))
    _require_equal(pipeline, driver, folder)
    pipeline.close()
    against = "Structured Streaming, availableNow"
    return [
        _row(f"{STREAMED} files of {ROWS:,} rows", first["ours"], against, first["streamed"], "s", 1),
        _row(
            f"one more of {STREAMED} files", statistics.median(later["ours"]), against,
            statistics.median(later["streamed"]), "s", TIMES,
        ),
    ]  # fmt: skip


def _require_equal(pipeline: Pipeline, driver: SparkDriver, folder: Path) -> None:
    ((ours,),) = pipeline.rows("SELECT count(*) FROM trips")
    with driver.attempt("counted", "counted") as session:
        theirs = session.read.parquet(f"file:{folder}/streamed").count()
    assert ours == theirs == (STREAMED + TIMES) * ROWS, (ours, theirs)


def _land(landing: Path, number: int, *, rows: int = 10) -> None:
    landing.mkdir(exist_ok=True)
    first = number * rows
    table = pa.table({
        "id": pa.array(range(first, first + rows), pa.int64()),
        "at": pa.array([number] * rows, pa.int64()),
        "fare": pa.array([float(each) for each in range(rows)]),
    })  # fmt: skip
    beside = landing.parent / "unfinished"
    parquet.write_table(table, beside)
    beside.rename(landing / f"{number:06}.parquet")


def _ask(pipeline: Pipeline) -> None:
    pipeline.run("trips")
    assert pipeline.failures == [], pipeline.failures


def _timed(before: Callable[[int], None], asked: Callable[[], None], *, times: int = TIMES) -> float:
    """Answer the median in seconds of what is asked; what comes before it is not counted."""
    taken = []
    for number in range(1, times + 1):
        before(number)
        began = time.perf_counter()
        asked()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def _row(what: str, ours: float, against: str, anchor: float, unit: str, n: int) -> Row:
    return Row(what=what, ours=round(ours, 3), against=against, anchor=round(anchor, 3), unit=unit, n=n)
