"""What a project says of Spark, and the session settings that follow from it."""

from __future__ import annotations

import os
import pwd
import shlex
from pathlib import Path

import msgspec

from pondage.define.values.size import mebibytes
from pondage.spark.jvm.nofork import no_fork_conf

_MEBIBYTE = 1024 * 1024
# Deep plans recurse in the parser, the analyser and the serialiser; the default stack of 1 MiB overflows.
STACK_OPTION = "-Xss4m"
FIXED = {"spark.sql.variable.substitute": "false"}
"""What no project may change: with it on, Spark puts variables of the environment, properties of Java and settings
into every SQL text, expression and name of a view, in places that nobody who reads the text sees."""

REDACTED = "(?i)secret|passw|token|credential|passphrase|access[.]?key|account[.]?key|api[.]?key|[.]sas[.]"
"""Names of settings, and values, that Spark shows as stars. Its own list knows fewer."""


class SparkSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The `[spark]` table of the project file.

    `memory` (`"2g"`) is the driver's heap; left out, it is a quarter of the machine, from 1 to 4 GiB. `isolated` gives
    the tasks a process of their own, so that one that runs out of memory does not take the driver with it. `conf` wins
    over everything that Pondage would set, but for `FIXED`.
    """

    master: str = "local[*]"
    remote: str | None = None
    memory: str | None = None
    packages: tuple[str, ...] = ()
    conf: dict[str, str] = {}
    isolated: bool = False
    cores: int | None = None

    @property
    def is_local(self) -> bool:
        """Answer whether driver and tasks are on this machine."""
        return self.master == "local" or self.master.startswith(("local[", "local-cluster["))

    @property
    def heap(self) -> str:
        """Answer the driver's heap as the JVM's `-Xmx` takes it."""
        return self.conf.get("spark.driver.memory") or self.memory or f"{_default_heap_mebibytes()}m"

    @property
    def mebibytes(self) -> int | None:
        """Answer the memory that tasks have: the driver's heap, or an executor's; None when a server decides it."""
        if self.remote is not None:
            return None
        return mebibytes(self.heap if self.is_local else self.conf.get("spark.executor.memory", "1g"))

    def sized(self, needed: int) -> SparkSettings:
        """Answer these settings with at least so many mebibytes for tasks."""
        if self.mebibytes is None or needed <= self.mebibytes:
            return self
        key = "spark.driver.memory" if self.is_local else "spark.executor.memory"
        return msgspec.structs.replace(self, conf={**self.conf, key: f"{needed}m"})


def available_cores() -> int:
    """Answer the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)


def session_conf(settings: SparkSettings, *, local_directory: Path, warehouse: Path, cache: Path) -> dict[str, str]:
    """Answer every setting of the session, the user's own last.

    `local_directory` is where Spark spills and shuffles, `warehouse` where a `saveAsTable` of an author would go, and
    `cache` keeps the downloaded packages and our file system.
    """
    conf = _common_conf(settings, warehouse)
    if settings.is_local:
        conf |= _local_conf(settings, local_directory)
    if settings.packages:
        conf["spark.jars.packages"] = ",".join(settings.packages)
        # A shared ~/.m2 or ~/.ivy2 with half-resolved artefacts breaks resolution, so packages get their own place.
        conf["spark.jars.ivy"] = str(cache / "ivy")
    if any(package.startswith("io.delta:delta-spark") for package in settings.packages):
        conf |= _delta_conf(settings)
    # The user's own options come after ours, and the JVM takes the last of two that contradict each other.
    options = [STACK_OPTION, *_nobody_options(local_directory), settings.conf.get("spark.driver.extraJavaOptions", "")]
    own = conf | settings.conf | FIXED | {"spark.driver.extraJavaOptions": " ".join(options).strip()}
    return own | no_fork_conf(cache, own) if settings.is_local else own


def is_known_user() -> bool:
    """Answer whether this process's user has an entry in passwd; a container's may have none."""
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        return False
    return True


def _nobody_options(home: Path) -> list[str]:
    """Answer what Java must be told of a user without an entry in passwd: it would call his home `?`."""
    return [] if is_known_user() else [shlex.quote(f"-Duser.home={home}"), f"-Duser.name=user{os.getuid()}"]


def _common_conf(settings: SparkSettings, warehouse: Path) -> dict[str, str]:
    return {
        "spark.app.name": "pondage",
        "spark.master": settings.master,
        "spark.driver.memory": settings.heap,
        # Attempts share one driver; each has its own pool, so a short one does not wait behind a long one.
        "spark.scheduler.mode": "FAIR",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        # Of a fused group it says whose code failed: the frames up to the component's own function are needed.
        "spark.sql.stackTracesInDataFrameContext": "24",
        "spark.sql.warehouse.dir": str(warehouse),
        "spark.sql.catalogImplementation": "in-memory",
        # An execution's directory is its own, and a file that is read was listed explicitly.
        "spark.sql.files.ignoreMissingFiles": "false",
        "spark.sql.sources.partitionOverwriteMode": "static",
        # The default is an old form without statistics, which other readers do not like either.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        # Messages of errors never carry the Java trace; it is kept apart (`spark/session/errors.py`).
        "spark.sql.pyspark.jvmStacktrace.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.redaction.regex": REDACTED,
    }


def _delta_conf(settings: SparkSettings) -> dict[str, str]:
    cores = settings.cores or (_cores_of(settings.master) if settings.is_local else available_cores())
    return {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # The default of 50 made an overwrite of ten rows take eleven seconds.
        "spark.databricks.delta.snapshotPartitions": str(cores),
    }


def _local_conf(settings: SparkSettings, local_directory: Path) -> dict[str, str]:
    cores = settings.cores or _cores_of(settings.master)
    conf = {
        "spark.master": f"local[{cores}]",
        "spark.ui.enabled": "false",
        # A few more than the cores: adaptive execution joins small ones, and 200 were nine times slower.
        "spark.sql.shuffle.partitions": str(cores * 2),
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(local_directory),
        "spark.ui.retainedJobs": "200",
        "spark.ui.retainedStages": "400",
        "spark.ui.retainedTasks": "2000",
        "spark.sql.ui.retainedExecutions": "20",
        "spark.driver.maxResultSize": "512m",
    }
    if settings.isolated:
        memory = max(1024, mebibytes(settings.heap))
        conf["spark.master"] = f"local-cluster[1,{cores},{memory}]"
        conf["spark.executor.memory"] = f"{memory}m"
    elif settings.master.startswith("local-cluster["):
        conf["spark.master"] = settings.master
    return conf


def _cores_of(master: str) -> int:
    """Answer N of `local[N]` and all the cores of `local[*]`; plain `local` is one."""
    if master == "local":
        return 1
    inside = master.partition("[")[2].rstrip("]").split(",")
    if master.startswith("local-cluster["):
        inside = inside[1:2]
    first = inside[0].strip() if inside else "*"
    return int(first) if first.isdigit() and int(first) > 0 else available_cores()


def machine_mebibytes() -> int:
    """Answer the memory that this machine, or this container, has."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _MEBIBYTE
    try:
        # In a container the machine's memory is not ours to use.
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        if limit.isdigit():
            total = min(total, int(limit) // _MEBIBYTE)
    except OSError:
        pass
    return total


def _default_heap_mebibytes() -> int:
    return max(1024, min(4096, machine_mebibytes() // 4))
