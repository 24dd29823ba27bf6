"""A standalone Spark cluster of our own, from the classes in the pip package: a master and two workers on loopback."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import urllib.request
from pathlib import Path

from pondage.spark import command
from pondage.spark.java import find_java
from tests.chaos.fault import PLUGIN, ROOT, parent_of
from tests.services.postgres import _free_port, wait_until

WORKERS = 2
# All of these live for a minute: the time goes into starting them.
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


class StandaloneCluster:
    """One master and two workers of one core each, for as long as the tests run."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pondage-spark-"))
        port, self._page = _free_port(), _free_port()
        self.master = f"spark://127.0.0.1:{port}"
        self._processes: list[subprocess.Popen[bytes]] = []
        try:
            self._start("master.Master", "--port", str(port), "--webui-port", str(self._page))
            for number in range(WORKERS):
                self._start(
                    "worker.Worker", "--cores", "1", "--memory", "700m", "--webui-port", str(_free_port()),
                    "--work-dir", str(self.folder / f"work-{number}"), self.master,
                )  # fmt: skip
            wait_until(lambda: self._state().get("aliveworkers") == WORKERS)
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

    def executors(self) -> list[int]:
        """Answer the executor processes of all applications."""
        workers = {process.pid for process in self._processes[1:]}
        found = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]
        return [pid for pid in found if is_executor(pid) and parent_of(pid) in workers]

    def close(self) -> None:
        for process in reversed(self._processes):
            process.terminate()
        for process in reversed(self._processes):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, name: str, *arguments: str) -> None:
        java, home = find_java(), command.spark_home()
        options = command.jvm_arguments(java, {"spark.driver.memory": "256m"}, command.class_path(home, {}), QUICK)
        changed = {
            "SPARK_HOME": str(home), "JAVA_HOME": str(java.home), "SPARK_SCALA_VERSION": "2.13",
            "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(self.folder),
            # An executor finds Pondage as on a machine of a cluster where it is installed.
            "PYTHONPATH": os.pathsep.join([str(PLUGIN), str(ROOT / "src")]),
        }  # fmt: skip
        with (self.folder / "log").open("ab") as log:
            self._processes.append(
                subprocess.Popen(
                    [
                        str(java.executable),
                        *options,
                        f"org.apache.spark.deploy.{name}",
                        "--host",
                        "127.0.0.1",
                        *arguments,
                    ],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=os.environ | changed,
                    cwd=self.folder,
                )
            )

    def _state(self) -> dict[str, object]:
        for process in self._processes:
            assert process.poll() is None, f"the cluster ended: {(self.folder / 'log').read_text()[-2000:]}"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._page}/json/", timeout=5) as answer:
                state: dict[str, object] = json.load(answer)
        except (OSError, ValueError):
            return {}  # its page has no content before it has a leader
        return state


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
