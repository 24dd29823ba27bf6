"""The stranger's machine that `make bare` makes of this one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from scripts import bare

GOOD_OUTPUT = (
    "[1/4] Spark: pyspark …\n[2/4] Java: a Java 21 of its own …\n[3/4] Node: a Node of its own …\n"
    "[4/4] Page: building …\n      done in 4 s\nthe demo\nNext: pondage init my-project\n"
)


def make_program(directory: Path, name: str) -> Path:
    directory.mkdir(exist_ok=True)
    program = directory / name
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    return program


def test_everything_but_java_and_node_is_still_found(tmp_path: Path) -> None:
    for name in ("java", "node", "make", "javac"):
        make_program(tmp_path / "with", name)
    make_program(tmp_path / "without", "git")
    path = bare.path_without_hidden(f"{tmp_path / 'with'}:{tmp_path / 'without'}", tmp_path / "shadows")
    assert not any(shutil.which(name, path=path) for name in ("java", "node"))
    assert all(shutil.which(name, path=path) for name in ("make", "javac", "git"))
    assert str(tmp_path / "without") in path.split(":")


def test_a_java_behind_a_linked_directory_is_hidden_too(tmp_path: Path) -> None:
    make_program(tmp_path / "real", "java")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    path = bare.path_without_hidden(f"{tmp_path / 'link'}:{tmp_path / 'real'}", tmp_path / "shadows")
    assert shutil.which("java", path=path) is None


def test_only_what_a_stranger_has_is_kept_of_the_environment(tmp_path: Path) -> None:
    given = {
        "PATH": "/bin",
        "LANG": "C.UTF-8",
        "PIP_CERT": "/certificates",
        "https_proxy": "a-proxy",
        "HTTPS_PROXY": "a-proxy",
        "SSL_CERT_FILE": "/certificates",
        "JAVA_HOME": "/java",
        "HOME": "/root",
        "VIRTUAL_ENV": "/somewhere",
        "SPARK_HOME": "/spark",
    }
    kept = bare.scrubbed(given, path="/scrubbed", home=tmp_path)
    assert kept["PATH"] == "/scrubbed"
    assert kept["HOME"] == str(tmp_path)
    assert set(given) - set(kept) == {"JAVA_HOME", "VIRTUAL_ENV", "SPARK_HOME"}


def test_a_python_is_looked_for_on_the_search_path(tmp_path: Path) -> None:
    me = bare.Identity()
    assert bare.can_run_python(me, {"PATH": os.environ["PATH"]}, tmp_path)
    assert not bare.can_run_python(me, {"PATH": str(tmp_path)}, tmp_path)


def test_a_demo_that_ran_and_said_what_to_type_is_good() -> None:
    assert bare.faults(0, GOOD_OUTPUT) == []


@pytest.mark.parametrize(
    ("code", "output", "fault"),
    [
        (2, GOOD_OUTPUT, "ended with 2"),
        (0, GOOD_OUTPUT.replace("Java: ", ""), "a Java of its own"),
        (0, GOOD_OUTPUT.replace("pondage init", ""), "what to type next"),
        (0, "", "Spark was installed"),
        (0, GOOD_OUTPUT.replace("Node: ", ""), "a Node of its own"),
        (0, GOOD_OUTPUT.replace("done in", "the web page was not built (npm)"), "the web page was built"),
    ],
)
def test_every_fault_of_a_demo_is_named(code: int, output: str, fault: str) -> None:
    assert any(fault in found for found in bare.faults(code, output))


def test_what_a_program_left_running_is_ended(tmp_path: Path) -> None:
    fifo = tmp_path / "alive"
    os.mkfifo(fifo)
    # The child holds the pipe open for writing; the pipe ends when the child does.
    with bare.started(["sh", "-c", f'(exec 3>"{fifo}"; echo up >&3; exec cat) < /dev/zero > /dev/null & wait']):
        reader = fifo.open(encoding="utf-8")
        assert reader.readline() == "up\n"
    with reader:
        assert reader.read() == ""
