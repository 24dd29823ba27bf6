"""What the doctor looks at on a cluster: its master, and a task of ours on its executors."""

from __future__ import annotations

import os
import secrets
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pondage.engine.process.config import EngineConfig
from pondage.engine.process.store import spark_settings
from pondage.engine.services.ledger_doctor import Finding
from pondage.errors import PondageError
from pondage.spark.files.survey import TASKS, Seen, machines, rows_seen
from pondage.spark.jvm.settings import SparkSettings
from pondage.spark.session.driver import SparkDriver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REACH_TIMEOUT_S = 5.0
TASK_TIMEOUT_S = 90.0
CLOCK_SLACK_S = 2.0


def cluster_findings(config: EngineConfig, *, timeout_s: float = TASK_TIMEOUT_S) -> Iterator[Finding]:
    """Look at the cluster of the project's `[spark]` table. What makes the next look senseless ends it."""
    reached = master_finding(config.spark)
    yield reached
    if not reached.ok:
        return
    with tempfile.TemporaryDirectory(prefix="pondage-doctor-") as state:
        try:
            driver = SparkDriver.start(_settings(config), Path(state))
        except PondageError as error:
            yield Finding(check="session", ok=False, detail=error.message, hint=error.hint)
            return
        try:
            yield from _task_findings(driver, config, timeout_s)
        finally:
            driver.stop()


def _settings(config: EngineConfig) -> SparkSettings:
    ledger = config.open_ledger()
    try:
        return spark_settings(config, ledger)
    finally:
        ledger.close()


def master_finding(spark: SparkSettings) -> Finding:
    """Try to reach whoever gives out executors, without Spark, which would try for minutes."""
    name = spark.remote or spark.master
    if spark.remote is None and spark.is_local:
        return Finding(check="master", ok=True, detail=f"{name}: this machine")
    if name == "yarn":
        place = os.environ.get("HADOOP_CONF_DIR") or os.environ.get("YARN_CONF_DIR")
        return Finding(
            check="master", ok=bool(place),
            detail=f"yarn, by the settings in {place}" if place else "nothing says where yarn is",
            hint="set HADOOP_CONF_DIR to the directory with yarn-site.xml",
        )  # fmt: skip
    addresses = _addresses(name)
    errors = []
    for host, port in addresses:
        try:
            socket.create_connection((host, port), REACH_TIMEOUT_S).close()
        except OSError as error:
            errors.append(f"{host}:{port}: {error.strerror or error}")
        else:
            return Finding(check="master", ok=True, detail=f"{host}:{port} answers")
    return Finding(
        check="master", ok=False, detail="; ".join(errors) or f"{name} names no host and port",
        hint="start it, or correct master (or remote) in the [spark] table of pondage.toml",
    )  # fmt: skip


def _addresses(name: str) -> list[tuple[str, int]]:
    """Answer every host and port of `spark://a:1,b:2`, `k8s://https://host`, `sc://host:15002/;token=…`."""
    kind, _, rest = name.partition("://")
    default = {"k8s": 443, "sc": 15002}.get(kind, 7077)
    found = []
    for each in rest.split(",") if kind == "spark" else [rest]:
        try:
            parts = urlsplit(each if "://" in each else f"//{each}")
            found.append((parts.hostname or "", parts.port or default))
        except ValueError:
            continue
    return [(host, port) for host, port in found if host]


def _task_findings(driver: SparkDriver, config: EngineConfig, timeout_s: float) -> Iterator[Finding]:
    token = f"doctor-{secrets.token_hex(8)}"
    is_late, has_ended = threading.Event(), threading.Event()

    def watch() -> None:
        if has_ended.wait(timeout_s):
            return
        is_late.set()
        # One cancel does not stop the next job.
        while not has_ended.wait(1.0):
            driver.cancel(token)

    watcher = threading.Thread(target=watch, name="pondage-doctor", daemon=True)
    watcher.start()
    try:
        with driver.attempt(token, "pondage doctor") as session:
            seen = machines(session)
            yield from _findings_of(seen)
            yield _warehouse(session, config.warehouse)
    except Exception as error:  # noqa: BLE001 - whatever Spark says is the finding
        yield _late(timeout_s) if is_late.is_set() else _failed(error)
    finally:
        has_ended.set()
        watcher.join()


def _findings_of(seen: list[Seen]) -> Iterator[Finding]:
    ours = f"{sys.version_info.major}.{sys.version_info.minor}"
    others = [each for each in seen if each.python.rpartition(".")[0] != ours]
    yield Finding(
        check="executors", ok=not others,
        detail=", ".join(f"Python {each.python} on {each.host}" for each in others or seen),
        hint=_python_hint(ours),
    )  # fmt: skip
    without = [each.host for each in seen if not each.has_pondage]
    yield Finding(
        check="packages", ok=not without,
        detail=f"pondage is missing on {', '.join(without)}" if without else "pondage can be imported by tasks",
        hint="install pondage and what your modules import into the executors' Python; "
        "user-defined functions import the module that they are in",
    )  # fmt: skip
    furthest = max((each for each in seen), key=lambda each: abs(each.late_s))
    yield Finding(
        check="clocks", ok=abs(furthest.late_s) <= CLOCK_SLACK_S,
        detail=f"{furthest.host} is {abs(furthest.late_s):.1f} s {'ahead' if furthest.late_s > 0 else 'behind'}"
        if furthest.late_s else "no difference between executors and this machine",
        hint="let every machine follow a time server (chrony, systemd-timesyncd)",
    )  # fmt: skip


def _warehouse(session: SparkSession, warehouse: str) -> Finding:
    hint = "use a place that this machine and every executor can write: a shared directory, s3a://, hdfs://, gs://"
    try:
        rows = rows_seen(session, warehouse)
    except Exception as error:  # noqa: BLE001 - whatever Spark says is the finding
        return Finding(check="shared", ok=False, detail=_first_line(error), hint=hint)
    return Finding(
        check="shared", ok=rows == TASKS,
        detail=f"tasks wrote {TASKS} rows to {warehouse}, this machine sees {rows}", hint=hint,
    )  # fmt: skip


def _late(timeout_s: float) -> Finding:
    return Finding(
        check="executors", ok=False, detail=f"no executor did a small task within {timeout_s:g} s",
        hint="another application may hold every core: set spark.cores.max in [spark.conf] of each; "
        "spark.executor.memory must fit into one worker; executors must reach spark.driver.host",
    )  # fmt: skip


def _failed(error: BaseException) -> Finding:
    ours = f"{sys.version_info.major}.{sys.version_info.minor}"
    said = str(error)
    is_python = any(word in said for word in ("PYTHON_VERSION_MISMATCH", "Cannot run program", "Python worker"))
    return Finding(
        check="executors", ok=False, detail=_first_line(error),
        hint=_python_hint(ours) if is_python else "the log of the executor says more",
    )  # fmt: skip


def _python_hint(ours: str) -> str:
    return f'executors need Python {ours} with pyarrow: set "spark.pyspark.python" in [spark.conf] to where it is there'


def _first_line(error: BaseException) -> str:
    from pondage.spark.session.errors import explained

    return explained(error, where="the task").message.partition("\n")[0]
