from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from pondage.spark.jvm.class_archive import cache_directory
from pondage.spark.session import warmup
from pondage.spark.session.warmup import WarmupFailed, is_warm, warm
from tests.patience import PATIENCE_S
from tests.spark.support import python

pytestmark = pytest.mark.spark

MAPPED = """
import sys, pathlib
from pondage.spark.session.driver import SparkDriver
from pondage.spark.jvm.settings import SparkSettings
state, cache = map(pathlib.Path, sys.argv[1:])
driver = SparkDriver.start(SparkSettings(memory="512m", cores=1), state, cache=cache)
print("spark.jsa" in pathlib.Path(f"/proc/{driver.pid}/maps").read_text())
driver.stop()
"""


def test_a_warm_cache_is_built_once_and_used(tmp_path: Path) -> None:
    # The machine's own: building takes a minute, and the set-up has done it where the tests run for the first time.
    phases: list[str] = []
    directory = warm(phases.append)
    assert is_warm()
    assert phases[-1].startswith("warm")
    assert warm(phases.append) == directory
    assert phases[-1] == "warm already"
    process = python(MAPPED, tmp_path / "state", cache_directory())
    said, complained = process.communicate(timeout=PATIENCE_S)
    assert said == "True\n", complained


def test_an_empty_cache_is_not_warm(tmp_path: Path) -> None:
    assert not is_warm(tmp_path / "cache")


def test_a_cache_that_cannot_be_written_says_what_to_set(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WarmupFailed, match="cannot be written") as raised:
        warm(cache=tmp_path / "file")
    assert "XDG_CACHE_HOME" in (raised.value.hint or "")


def test_a_build_that_fails_is_told_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warmup.sys, "executable", "/bin/cat")  # fails at once: no such files
    with pytest.raises(WarmupFailed, match="failed with code"):
        warm(cache=tmp_path)
    assert not is_warm(tmp_path)
    assert not list(tmp_path.rglob("*.jsa"))


def test_building_is_bounded_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warmup.sys, "executable", "/bin/cat")
    with pytest.raises(WarmupFailed, match="failed with code"):
        warm(cache=tmp_path)  # What is built before Spark's archive is there now.
    endless, pid = tmp_path / "endless", tmp_path / "pid"
    endless.write_text(f"#!/bin/sh\necho $$ > {pid}\nexec sleep 100000\n")
    endless.chmod(0o755)
    monkeypatch.setattr(warmup.sys, "executable", str(endless))
    with pytest.raises(WarmupFailed, match="took too long"):
        warm(cache=tmp_path, timeout_s=5)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    assert not is_warm(tmp_path)
    assert not list((tmp_path / "classes").glob(".building-*"))


def test_what_a_killed_builder_left_is_removed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = tmp_path / "classes" / ".building-killed"
    left.mkdir(parents=True)
    (left / "spark.jsa").write_bytes(b"half")
    monkeypatch.setattr(warmup.sys, "executable", "/bin/cat")
    with pytest.raises(WarmupFailed, match="failed with code"):
        warm(cache=tmp_path)
    assert not list((tmp_path / "classes").glob(".building-*"))


def test_one_builds_and_the_others_wait(tmp_path: Path) -> None:
    left = tmp_path / "classes" / ".building-alive"
    left.mkdir(parents=True)
    phases: list[str] = []
    with (tmp_path / "classes" / ".lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(WarmupFailed, match="for too long"):
            warm(phases.append, cache=tmp_path, timeout_s=0)
    assert phases[-1].startswith("waiting for another process")
    assert left.is_dir()
