from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from pondage.spark.jvm.workspace import Workspace


def test_leftovers_of_a_dead_driver_are_swept_and_those_of_a_living_one_stay(tmp_path: Path) -> None:
    living = Workspace.create(tmp_path)
    dead = Workspace.create(tmp_path)
    (dead.local / "blockmgr-1").mkdir()
    os.close(dead.lock)  # what the end of its processes does
    created = Workspace.create(tmp_path)
    assert living.path.is_dir()
    assert created.local.is_dir()
    assert not dead.path.exists()


def test_a_directory_counts_as_used_while_a_child_holds_its_lock(tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(workspace.lock,))
    os.close(workspace.lock)
    Workspace.create(tmp_path)
    assert workspace.path.is_dir()
    child.communicate()
    Workspace.create(tmp_path)
    assert not workspace.path.exists()


def test_removing_twice_is_harmless_and_the_log_stays(tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path)
    workspace.log.write_text("last words")
    workspace.remove()
    workspace.remove()
    assert not workspace.path.exists()
    assert workspace.log.read_text() == "last words"


def test_only_the_newest_logs_are_kept(tmp_path: Path) -> None:
    first = Workspace.create(tmp_path)
    for number in range(15):
        (first.root / "logs" / f"run-{number:012x}.log").write_text("")
    Workspace.create(tmp_path)
    assert len(list((first.root / "logs").iterdir())) == 10
