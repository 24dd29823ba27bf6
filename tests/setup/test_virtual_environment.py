"""Making the virtual environment, also with a Python that lacks ensurepip or pip, and mending a stopped one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from scripts.setup import environment as virtual
from scripts.setup.failure import SetupFailed

VARIABLES = dict(os.environ)


def python_without(modules: list[str], directory: Path) -> str:
    """Answer a Python that cannot import some modules, as Debian's cannot import ensurepip."""
    hooks = directory / "hooks"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(
        "import importlib.abc, sys\n"
        "class Absent(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.split('.')[0] in {modules!r}:\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n",
        encoding="utf-8",
    )
    program = directory / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{hooks}" exec "{sys.executable}" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return str(program)


def make_package(packages: Path, name: str, *, size: int, recorded: int, is_recorded: bool = True) -> None:
    (packages / name).mkdir(parents=True)
    (packages / name / "__init__.py").write_bytes(b"#" * size)
    metadata = packages / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n", encoding="utf-8")
    if is_recorded:
        (metadata / "INSTALLER").write_text("pip\n", encoding="utf-8")
        rows = f"{name}/__init__.py,sha256=x,{recorded}\n{name}-1.0.dist-info/RECORD,,\n"
        (metadata / "RECORD").write_text(rows, encoding="utf-8")


def test_without_ensurepip_the_environment_is_made_and_the_running_pip_serves_it(tmp_path: Path) -> None:
    python = python_without(["ensurepip"], tmp_path)
    target = tmp_path / "made"
    virtual.create(target, VARIABLES, python=python)
    assert virtual.version_of(target) == "{}.{}".format(*sys.version_info)
    assert not virtual.has_module(virtual.python_of(target), "pip", VARIABLES)
    assert virtual.installer(target, VARIABLES, python=python) == [
        python, "-m", "pip", "--python", str(virtual.python_of(target))
    ]  # fmt: skip


def test_without_ensurepip_and_pip_the_answer_says_what_to_install(tmp_path: Path) -> None:
    python = python_without(["ensurepip", "pip"], tmp_path)
    with pytest.raises(SetupFailed) as refusal:
        virtual.create(tmp_path / "made", VARIABLES, python=python)
    assert "neither ensurepip nor pip" in str(refusal.value)
    assert "apt install python3-venv" in str(refusal.value)
    assert not (tmp_path / "made").exists()


def test_a_broken_environment_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "made"
    (target / "bin").mkdir(parents=True)
    (target / "bin" / "python").symlink_to(tmp_path / "a python that was removed")
    assert virtual.version_of(target) is None
    virtual.create(target, VARIABLES, python=python_without(["ensurepip"], tmp_path))
    assert virtual.version_of(target) is not None


def test_an_environment_without_packages_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SetupFailed, match="Remove it"):
        virtual.packages_of(tmp_path)


def test_what_an_interrupted_pip_left_is_installed_again(tmp_path: Path) -> None:
    make_package(tmp_path, "whole", size=10, recorded=10)
    make_package(tmp_path, "cut", size=4, recorded=10)
    make_package(tmp_path, "unrecorded", size=10, recorded=10, is_recorded=False)
    (tmp_path / "~oved").mkdir()
    assert virtual.drop_half_installed(tmp_path) == ["cut-1.0", "unrecorded-1.0"]
    assert sorted(path.name for path in tmp_path.glob("*.dist-info")) == ["whole-1.0.dist-info"]
    assert not (tmp_path / "~oved").exists()


def test_a_whole_environment_loses_nothing(tmp_path: Path) -> None:
    make_package(tmp_path, "whole", size=10, recorded=10)
    assert virtual.drop_half_installed(tmp_path) == []
