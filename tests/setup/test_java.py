"""Finding a Java that Spark runs on, with small programs that answer like one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scripts.setup import java

OPENJDK = 'openjdk version "{version}" 2025-04-15\nOpenJDK Runtime Environment'


def make_java(directory: Path, says: str, exit_code: int = 0) -> Path:
    program = directory / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{says}\nEND\nexit {exit_code}\n", encoding="utf-8")
    program.chmod(0o755)
    return program


def search_path(*programs: Path) -> str:
    # The fake programs need a shell's `cat`.
    return os.pathsep.join([*(str(program.parent) for program in programs), os.defpath])


@pytest.mark.parametrize(
    ("says", "major"),
    [
        (OPENJDK.format(version="17.0.15"), 17),
        (OPENJDK.format(version="21"), 21),
        (OPENJDK.format(version="21.0.8-ea"), 21),
        (OPENJDK.format(version="25.0.2"), 25),
        ('java version "1.8.0_292"', 8),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "17.0.1"', 17),
        ("Unable to locate a Java Runtime.", None),
    ],
)
def test_the_major_version_is_read_from_what_java_says(says: str, major: int | None, tmp_path: Path) -> None:
    assert java.major_version(make_java(tmp_path, says)) == major


def test_a_java_that_fails_is_none(tmp_path: Path) -> None:
    assert java.major_version(make_java(tmp_path, OPENJDK.format(version="17.0.1"), exit_code=1)) is None
    assert java.major_version(tmp_path / "absent") is None


def test_java_home_comes_before_the_search_path(tmp_path: Path) -> None:
    at_home = make_java(tmp_path / "home", OPENJDK.format(version="21.0.1"))
    on_path = make_java(tmp_path / "path", OPENJDK.format(version="17.0.1"))
    found, passed_over = java.find({"JAVA_HOME": str(tmp_path / "home"), "PATH": search_path(on_path)})
    assert found is not None
    assert (found.program, found.major, found.found_by) == (at_home, 21, "JAVA_HOME")
    assert passed_over == []


def test_an_unfit_java_home_is_passed_over_and_named(tmp_path: Path) -> None:
    make_java(tmp_path / "home", OPENJDK.format(version="11.0.2"))
    on_path = make_java(tmp_path / "path", OPENJDK.format(version="17.0.1"))
    found, passed_over = java.find({"JAVA_HOME": str(tmp_path / "home"), "PATH": search_path(on_path)})
    assert found is not None
    assert found.program == on_path
    assert [unfit.major for unfit in passed_over] == [11]
    assert "Java 11" in str(passed_over[0])


def test_a_java_that_is_too_new_is_no_java_for_spark(tmp_path: Path) -> None:
    on_path = make_java(tmp_path / "path", OPENJDK.format(version="25.0.2"))
    found, passed_over = java.find({"PATH": search_path(on_path)})
    assert found is None
    assert [unfit.major for unfit in passed_over] == [25]


def test_no_java_at_all_is_answered_without_an_error(tmp_path: Path) -> None:
    environment = {"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(tmp_path)}
    assert java.find(environment) == (None, [])
    assert java.fingerprint(environment) == []


def test_another_java_changes_the_fingerprint(tmp_path: Path) -> None:
    first = make_java(tmp_path / "first", OPENJDK.format(version="17.0.1"))
    second = make_java(tmp_path / "second", OPENJDK.format(version="21.0.1"))
    before = java.fingerprint({"PATH": search_path(first)})
    assert before == java.fingerprint({"PATH": search_path(first)})
    assert before != java.fingerprint({"PATH": search_path(second)})
    assert before != java.fingerprint({"PATH": search_path(first), "JAVA_HOME": str(tmp_path / "second")})
