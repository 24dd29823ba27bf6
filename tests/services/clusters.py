"""Clusters of our own, from the classes in the pip package: a standalone one with two workers, and a Connect server."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterable
from multiprocessing import get_context
from pathlib import Path

from pondage.spark.jvm import command
from pondage.spark.jvm.java import find_java
from tests.chaos.fault import PLUGIN, ROOT, parent_of
from tests.patience import PATIENCE_S
from tests.ports import free_port
from tests.services.postgres import wait_until

WORKERS = 2
START_TIMEOUT_S = 180.0
# All of these live for a minute: the time goes into starting them.
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


class StandaloneCluster:
    """One master and two workers of one core each, for as long as the tests run."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pondage-spark-"))
        port, self._page = free_port(), free_port()
        self.master = f"spark://127.0.0.1:{port}"
        self._processes: list[subprocess.Popen[bytes]] = []
        try:
            self._start("master.Master", "--port", str(port), "--webui-port", str(self._page))
            for number in range(WORKERS):
                self._start(
                    "worker.Worker", "--cores", "1", "--memory", "700m", "--webui-port", str(free_port()),
                    "--work-dir", str(self.folder / f"work-{number}"), self.master,
                )  # fmt: skip
            wait_until(lambda: self._state().get("aliveworkers") == WORKERS, START_TIMEOUT_S)
        except BaseException:
            self.close()
            raise

    @property
    def settings(self) -> str:
        """Answer the `[spark]` table of a project that runs here: all of the cluster for one application."""
        return f"""
[spark]
master = "{self.master}"
memory = "1g"
[spark.conf]
"spark.cores.max" = "2"
"spark.executor.memory" = "512m"
"spark.executor.extraJavaOptions" = "{" ".join(QUICK)}"
"spark.driver.host" = "127.0.0.1"
"spark.driver.bindAddress" = "127.0.0.1"
"spark.ui.enabled" = "false"
"spark.sql.shuffle.partitions" = "4"
"""

    def close(self) -> None:
        end(reversed(self._processes))
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, name: str, *arguments: str) -> None:
        given = ["--host", "127.0.0.1", *arguments]
        self._processes.append(started(self.folder, "256m", f"org.apache.spark.deploy.{name}", *given))

    def _state(self) -> dict[str, object]:
        for process in self._processes:
            assert process.poll() is None, f"the cluster ended: {(self.folder / 'log').read_text()[-2000:]}"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._page}/json/", timeout=5) as answer:
                state: dict[str, object] = json.load(answer)
        except (OSError, ValueError):
            return {}  # its page has no content before it has a leader
        return state


class ConnectServer:
    """A Spark Connect server with two cores on a free loopback port; `gated` is where tasks look for a checkpoint."""

    def __init__(self, gated: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pondage-connect-"))
        (self.folder / "far").mkdir()
        port = free_port()
        self.remote = f"sc://127.0.0.1:{port}"
        conf = {
            "spark.master": "local[2]", "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": port, "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": 4,
            "spark.sql.warehouse.dir": self.folder / "warehouse",
            # A place that the server can read and a client cannot.
            "spark.hadoop.fs.viewfs.mounttable.far.link./data": f"file:{self.folder}/far",
        }  # fmt: skip
        self._process = started(
            self.folder, "1g", "org.apache.spark.sql.connect.service.SparkConnectServer",
            options=tuple(f"-D{key}={value}" for key, value in conf.items()), more=gate(gated),
        )  # fmt: skip
        try:
            wait_until(lambda: self._answers(port), START_TIMEOUT_S)
        except BaseException:
            self.close()
            raise

    @property
    def settings(self) -> str:
        return f'[spark]\nremote = "{self.remote}"\n'

    def close(self) -> None:
        end([self._process])
        shutil.rmtree(self.folder, ignore_errors=True)

    def _answers(self, port: int) -> bool:
        assert self._process.poll() is None, f"the server ended: {(self.folder / 'log').read_text()[-2000:]}"
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            return False
        return True


def gate(root: Path) -> dict[str, str]:
    """Answer the variables by which a task finds the checkpoint of `Dev(project, point=…)` of a project in `root`."""
    return {
        "PONDAGE_CHAOS_PIPE": str(root / "checkpoint.pipe"),
        "PONDAGE_CHAOS_MARK": str(root / "checkpoint.mark"),
    }


def started(
    folder: Path,
    heap: str,
    main: str,
    *arguments: str,
    options: tuple[str, ...] = (),
    more: dict[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a class of the pip package as Spark's own scripts do, with Java's options and variables beyond ours."""
    java, home = find_java(), command.spark_home()
    before = command.jvm_arguments(java, {"spark.driver.memory": heap}, command.class_path(home, {}), QUICK)
    changed = {
        "SPARK_HOME": str(home), "JAVA_HOME": str(java.home), "SPARK_SCALA_VERSION": "2.13",
        "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(folder), "PYSPARK_PYTHON": sys.executable,
        # Tasks find Pondage as on a machine of a cluster where it is installed.
        "PYTHONPATH": os.pathsep.join([str(PLUGIN), str(ROOT / "src")]),
    }  # fmt: skip
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [str(java.executable), *before, *options, main, *arguments],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=os.environ | changed | (more or {}), cwd=folder,
        )  # fmt: skip


def end(processes: Iterable[subprocess.Popen[bytes]]) -> None:
    """End processes that may not want to."""
    asked = list(processes)
    for process in asked:
        process.terminate()
    for process in asked:
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def in_a_process(function: Callable[..., None], *arguments: object) -> None:
    """Call a function of a module where no other Spark is: a process is a client of one kind, once and for all."""
    process = get_context("spawn").Process(target=function, args=arguments)
    process.start()
    process.join()
    assert process.exitcode == 0, "what it printed says why"


def is_executor(pid: int) -> bool:
    try:
        return EXECUTOR.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def executor_above(pid: int) -> int:
    """Answer the executor that a Python worker belongs to."""
    while not is_executor(pid):
        pid = parent_of(pid)
        assert pid > 1, "no executor is above this process"
    return pid


def kill_executor_of(pid: int) -> None:
    """Kill the executor above a Python worker, without a word."""
    os.kill(executor_above(pid), signal.SIGKILL)
