"""Building the class-data archive once, so that every later start is about twice as fast.

`python -m pondage.spark.session.warmup` is the workload whose classes are archived; `warm` runs it in a process
of its own.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pondage.errors import PondageError
from pondage.private import make_private
from pondage.spark.jvm.class_archive import SCRATCH, ClassArchive, archive_for, cache_directory, is_ours, sweep
from pondage.spark.jvm.java import Java, find_java
from pondage.spark.jvm.nofork import build_jar, jar_in, no_fork_conf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pondage.spark.jvm.launch import OnPhase

_TIMEOUT_S = 300.0
_LOOK_AGAIN_S = 0.2
_WHERE = "set XDG_CACHE_HOME to a directory of a local disk that can be written"


class WarmupFailed(PondageError):
    """The archive could not be built; everything works without it, only slower."""

    code = "WARMUP"


def is_warm(cache: Path | None = None) -> bool:
    """Answer whether a start would find our file system, and an archive for this Java and this Spark."""
    cache = cache or cache_directory()
    return is_ours(jar_in(cache)) and _archive(find_java(), cache).is_built


def warm(on_phase: OnPhase | None = None, *, cache: Path | None = None, timeout_s: float = _TIMEOUT_S) -> Path:
    """Build our file system and the archive unless they exist, and answer the archive's directory.

    It appears whole or not at all; of two processes one builds and the other waits. Raises `WarmupFailed` when the
    cache cannot be written, when it takes longer than `timeout_s`, or when the JVM cannot archive; `NoJava` without
    a Java.
    """
    on_phase = on_phase or (lambda _: None)
    java = find_java()
    cache = cache or cache_directory()
    _build_file_system(java, cache, on_phase)
    archive = _archive(java, cache)
    if archive.is_built:
        on_phase("warm already")
        return archive.directory
    deadline = time.monotonic() + timeout_s
    with _only_builder(archive.directory.parent, on_phase, deadline):
        _build_once(java, archive, cache, on_phase, deadline)
    on_phase("warm")
    return archive.directory


def _build_once(java: Java, archive: ClassArchive, cache: Path, on_phase: OnPhase, deadline: float) -> None:
    if archive.is_built:
        return  # by the one for whom we waited
    sweep(archive)
    scratch = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=archive.directory.parent))
    try:
        _build(java, archive, scratch, cache, on_phase, deadline)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def _only_builder(classes: Path, on_phase: OnPhase, deadline: float) -> Iterator[None]:
    """Hold the lock of all builders, which ends with its holder: what lies here half built is then nobody's."""
    try:
        make_private(classes)
        lock = os.open(classes / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise WarmupFailed(f"the cache {classes} cannot be written: {error.strerror}", hint=_WHERE) from error
    try:
        is_told = False
        while not _is_taken(lock):
            if not is_told:
                on_phase("waiting for another process that builds an archive")
                is_told = True
            if time.monotonic() >= deadline:
                raise WarmupFailed(
                    "another process has been building an archive for too long", hint="try again when it has ended"
                )
            time.sleep(_LOOK_AGAIN_S)
        yield
    finally:
        os.close(lock)


def _is_taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise WarmupFailed(f"the cache cannot be locked: {error.strerror}", hint=_WHERE) from error
    return True


def _build_file_system(java: Java, cache: Path, on_phase: OnPhase) -> None:
    from py4j.protocol import Py4JError

    from pondage.spark.jvm import command

    if is_ours(jar_in(cache)):
        return
    on_phase("compiling the file system that forks nothing")
    try:
        build_jar(java, command.class_path(command.spark_home(), {}), cache)
    except (OSError, Py4JError) as error:
        # An archive that cannot be written says so itself; and nothing depends on this one.
        on_phase(f"writes stay a little slower: {str(error).partition(chr(10))[0]}")


def _build(java: Java, archive: ClassArchive, scratch: Path, cache: Path, on_phase: OnPhase, deadline: float) -> None:
    archive.directory.mkdir(exist_ok=True)
    archive.label.write_text("".join(f"{part}\n" for part in archive.made_of), encoding="utf-8")
    # The JVM writes the names of the archives it builds upon into the new one, so the base is built in its final place.
    options = []
    if archive.needs_base:
        on_phase("archiving Java's own classes")
        if not archive.base.is_file():
            built = scratch / "base.jsa"
            _run([str(java.executable), "-Xshare:dump", f"-XX:SharedArchiveFile={built}"], deadline, scratch)
            built.replace(archive.base)
        options.append(f"-XX:SharedArchiveFile={archive.base}")
    on_phase("archiving Spark's classes")
    dynamic = scratch / "spark.jsa"
    options.append(f"-XX:ArchiveClassesAtExit={dynamic}")
    _run([sys.executable, "-m", "pondage.spark.session.warmup", str(scratch), str(cache), *options], deadline, scratch)
    if not dynamic.is_file():
        raise WarmupFailed("the JVM ended without an archive", hint="everything works without it, only slower")
    dynamic.replace(archive.dynamic)


def _run(command: list[str], deadline: float, scratch: Path) -> None:
    log = scratch / "log"
    # The child imports what we import, also when Pondage is not installed but on the path.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment
        )
        try:
            code = process.wait(max(1.0, deadline - time.monotonic()))
        except BaseException as error:
            process.kill()
            process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise WarmupFailed(
                    "building the class archive took too long", hint="everything works without it, only slower"
                ) from error
            raise
    if code != 0:
        said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise WarmupFailed(
            f"building the class archive failed with code {code}: {said[-1][:300] if said else 'nothing was said'}",
            hint="everything works without it, only slower",
        )


def _archive(java: Java, cache: Path) -> ClassArchive:
    import pyspark  # importing it costs half a second

    from pondage.spark.jvm import command

    jars = command.class_path(command.spark_home(), no_fork_conf(cache, {}))
    return archive_for(java, jars, cache, pyspark_version=pyspark.__version__)


def _workload(scratch: Path, cache: Path, options: tuple[str, ...]) -> None:
    """Do what most Ripples do: JSON and parquet, a join, an aggregate, a window, an observed write, some SQL."""
    from pyspark.sql import Observation, Window
    from pyspark.sql import functions as F  # noqa: N812

    from pondage.spark.jvm.settings import SparkSettings
    from pondage.spark.session.driver import SparkDriver

    driver = SparkDriver.start(
        SparkSettings(), scratch, cache=cache, extra_java_options=options, ways=("own",), stop_timeout_s=_TIMEOUT_S
    )
    try:
        with driver.attempt("warmup", "warm-up") as session:
            rows = session.range(1000).select(
                F.col("id"), (F.col("id") % 7).alias("key"), F.col("id").cast("string").alias("text"),
                F.current_timestamp().alias("at"), (F.col("id") / 3).cast("decimal(12,2)").alias("amount"),
            )  # fmt: skip
            rows.write.parquet(f"file:{scratch}/rows")
            rows.write.json(f"file:{scratch}/json")
            stored = session.read.schema(rows.schema).parquet(f"file:{scratch}/rows")
            totals = stored.groupBy("key").agg(F.sum("amount").alias("total"), F.count("*").alias("rows"))
            ranked = stored.withColumn("rank", F.row_number().over(Window.partitionBy("key").orderBy("at")))
            observation = Observation()
            joined = ranked.join(totals, "key").dropDuplicates(["id"]).orderBy("id")
            joined.observe(observation, F.count(F.lit(1)).alias("n")).write.parquet(f"file:{scratch}/joined")
            session.read.json(f"file:{scratch}/json").createOrReplaceTempView("lines")
            session.sql("SELECT key, max(text) FROM lines WHERE id > 3 GROUP BY key ORDER BY 1 LIMIT 5").collect()
    finally:
        driver.stop()


if __name__ == "__main__":
    _workload(Path(sys.argv[1]), Path(sys.argv[2]), tuple(sys.argv[3:]))
