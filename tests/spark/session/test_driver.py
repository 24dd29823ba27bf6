from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from pondage.errors import PondageError
from pondage.spark.ripple.ripple import run_ripple
from pondage.spark.session.driver import SparkDriver
from pondage.work.progress import JobProgress
from tests.patience import PATIENCE_S
from tests.spark.support import until, work

pytestmark = pytest.mark.spark


def test_attempts_side_by_side_share_nothing(driver: SparkDriver) -> None:
    meeting = threading.Barrier(4, timeout=PATIENCE_S)

    def attempt(number: int) -> tuple[set[str], str, list[str], str, int]:
        with driver.attempt(f"side-{number}", f"attempt {number}") as session:
            session.range(number + 1).createOrReplaceTempView(f"view_{number}")
            session.conf.set("spark.sql.shuffle.partitions", str(number + 10))
            meeting.wait()  # all four are open now
            context = session.sparkContext
            return (
                set(context.getJobTags()),
                context.getLocalProperty("spark.scheduler.pool") or "",
                [table.name for table in session.catalog.listTables()],
                session.conf.get("spark.sql.shuffle.partitions") or "",
                session.table(f"view_{number}").count(),
            )

    with ThreadPoolExecutor(4) as threads:
        seen = list(threads.map(attempt, range(4)))
    assert [each[0] for each in seen] == [{f"side-{number}"} for number in range(4)]
    assert len({each[1] for each in seen}) == 4
    assert [each[2] for each in seen] == [[f"view_{number}"] for number in range(4)]
    assert [each[3] for each in seen] == ["10", "11", "12", "13"]
    assert [each[4] for each in seen] == [1, 2, 3, 4]


def test_an_attempt_leaves_nothing_on_its_thread(driver: SparkDriver) -> None:
    with ThreadPoolExecutor(1) as threads:

        def failing() -> None:
            with driver.attempt("left-1", "first") as session:
                session.sparkContext.addJobTag("author's own")
                session.range(1).createOrReplaceTempView("left")
                raise ValueError("on purpose")

        def after() -> tuple[set[str], str | None, str | None, bool]:
            with driver.attempt("probe", "probe") as session:
                context = session.sparkContext
            return (
                set(context.getJobTags()),
                context.getLocalProperty("spark.scheduler.pool"),
                context.getLocalProperty("spark.job.description"),
                session.catalog.tableExists("left"),
            )

        with pytest.raises(ValueError, match="on purpose"):
            threads.submit(failing).result()
        assert threads.submit(after).result() == (set(), None, None, False)


def test_pools_are_used_again(driver: SparkDriver) -> None:
    pools = []
    for number in range(3):
        with driver.attempt(f"pool-{number}", "pool") as session:
            pools.append(session.sparkContext.getLocalProperty("spark.scheduler.pool"))
    assert len(set(pools)) == 1


def test_progress_counts_the_tasks_of_the_attempt_only(spark: SparkSession, driver: SparkDriver, token: str) -> None:
    assert driver.progress(token) == JobProgress()
    spark.range(100, numPartitions=3).selectExpr("sum(id)").collect()
    progress = until(lambda: (seen := driver.progress(token)).tasks_done >= 4 and seen, "the tasks")
    assert progress.tasks_done == progress.tasks_all
    assert progress.jobs >= 1
    assert driver.progress("unknown") == JobProgress()


def test_the_stages_of_an_attempt_are_known_when_it_has_ended(
    spark: SparkSession, driver: SparkDriver, token: str
) -> None:
    assert driver.stages(token, most=9) == ()
    spark.range(1000, numPartitions=3).groupBy((F.col("id") % 7).alias("x")).count().collect()
    stages = until(lambda: len(seen := driver.stages(token, most=9)) >= 2 and seen, "both stages")
    assert [stage.id for stage in stages] == sorted(stage.id for stage in stages)
    assert (stages[0].tasks, stages[0].failed) == (3, 0)
    assert all(stage.shuffled_bytes > 0 for stage in stages)
    assert driver.stages(token, most=1) == stages[-1:]
    assert driver.stages("unknown", most=9) == ()


def test_cancel_stops_a_long_job_and_nobody_elses(driver: SparkDriver, place: Callable[[], Path]) -> None:
    def endless(spark: SparkSession) -> object:
        # One task: it leaves a core for the neighbour, since pools act only where a task ends.
        return spark.range(0, 10**13, numPartitions=1).select((F.col("id") % 7).alias("x")).where("x = 9")

    def run(token: str) -> object:
        with driver.attempt(token, "endless") as session:
            return run_ripple(session, work(endless, place()))

    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(run, "endless-1")
        until(lambda: driver.progress("endless-1").stages, "the job")
        driver.cancel("endless-2")
        with driver.attempt("neighbour", "neighbour") as session:
            assert session.range(5).count() == 5
        assert not running.done()

        def has_ended() -> bool:
            driver.cancel("endless-1")
            return running.done()

        until(has_ended, "the end of the job")
        with pytest.raises(PondageError) as raised:
            running.result()
    assert raised.value.code == "CANCELLED"
    assert raised.value.message == "sales.clean: cancelled"


def test_code_that_stops_spark_is_refused_and_ends_nobody(spark: SparkSession, driver: SparkDriver) -> None:
    for stop in (spark.stop, spark.sparkContext.stop):
        with pytest.raises(PondageError, match="belongs to the worker") as refused:
            stop()
        assert refused.value.code == "SPARK_STOP"
    assert driver.is_alive()
    assert spark.range(3).count() == 3


def test_functions_of_deployed_code_can_be_imported_by_python_workers(
    spark: SparkSession, driver: SparkDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deployed_code_of_test.py").write_text("def doubled(x):\n    return x * 2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    driver.add_python_path(tmp_path)
    import deployed_code_of_test  # type: ignore[import-not-found]

    doubled = F.udf(deployed_code_of_test.doubled, "long")
    assert [row[0] for row in spark.range(3).select(doubled("id")).collect()] == [0, 2, 4]


def test_python_workers_are_the_same_python(spark: SparkSession) -> None:
    import sys

    @F.udf("string")
    def executable(_):  # type: ignore[no-untyped-def]
        import sys as worker_sys

        return f"{worker_sys.prefix} {worker_sys.version_info[:3]}"

    [row] = spark.range(1).select(executable("id")).collect()
    assert row[0] == f"{sys.prefix} {sys.version_info[:3]}"


def test_ctrl_c_is_still_ours(driver: SparkDriver) -> None:
    import signal

    assert driver.is_alive()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
