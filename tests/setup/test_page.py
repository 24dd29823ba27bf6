"""Building the web page: with which Node, and when again."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from scripts.setup import page

ROOT = Path(__file__).resolve().parents[2]
UI = ROOT / "ui"
BUILT = ROOT / "src" / "pondage" / "server" / "page" / "index.html"


def program(folder: Path, name: str, says: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho {says}\n", encoding="utf-8")
    path.chmod(0o755)


def node_on(folder: Path) -> page.Node | None:
    return page.node_of_machine({"PATH": str(folder)})


def test_a_node_that_is_new_enough_and_has_npm_is_used(tmp_path: Path) -> None:
    program(tmp_path, "node", "v20.11.1")
    assert node_on(tmp_path) is None
    program(tmp_path, "npm", "11.0.0")
    assert node_on(tmp_path) == page.Node(program=tmp_path / "node", npm=(str(tmp_path / "npm"),))


def test_an_old_or_broken_node_is_passed_over(tmp_path: Path) -> None:
    program(tmp_path, "npm", "6.0.0")
    for says in ("v12.22.9", "nothing useful"):
        program(tmp_path, "node", says)
        assert node_on(tmp_path) is None
    (tmp_path / "node").unlink()
    assert node_on(tmp_path) is None


def test_the_digest_sees_every_file_but_not_what_npm_installed_and_whether_the_page_is_there(tmp_path: Path) -> None:
    ui, built = tmp_path / "ui", tmp_path / "src" / "pondage" / "server" / "page"
    (ui / "src").mkdir(parents=True)
    (ui / "src" / "main.tsx").write_text("one", encoding="utf-8")
    first = page.digest(tmp_path)
    (ui / "node_modules").mkdir()
    (ui / "node_modules" / "x.js").write_text("x", encoding="utf-8")
    assert page.digest(tmp_path) == first
    (ui / "src" / "main.tsx").write_text("two", encoding="utf-8")
    second = page.digest(tmp_path)
    assert second != first
    built.mkdir(parents=True)
    (built / "index.html").write_text("", encoding="utf-8")
    assert page.digest(tmp_path) not in (first, second)


@pytest.mark.skipif(not (UI / "node_modules").is_dir(), reason="the page is not built here: make setup builds it")
def test_the_pure_parts_of_the_page() -> None:
    node = page.node_of_machine(os.environ) or page.node_of_packages(Path(sysconfig.get_path("purelib")))
    ran = subprocess.run([node.program, "test.mjs"], cwd=UI, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.skipif(not BUILT.is_file(), reason="the page is not built here: make setup builds it")
def test_the_wheel_carries_the_page_so_that_whoever_installs_it_needs_no_node(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        carried = {Path(name).name for name in wheel.namelist() if name.startswith("pondage/server/page/")}
    assert carried == {path.name for path in BUILT.parent.iterdir()}
