"""The virtual environment: made, mended after an interruption, and asked what it holds."""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from scripts.setup.failure import SetupFailed

NO_INSTALLER = (
    "This Python ({python}) can make no virtual environment with pip in it: it has neither ensurepip nor pip.\n"
    "  Debian, Ubuntu: apt install python3-venv    Fedora: dnf install python3-pip    Alpine: apk add py3-pip\n"
    "  Then run the same command again, or name another Python: make demo PYTHON=/path/to/python3.11"
)


def python_of(environment: Path) -> Path:
    """Answer the interpreter of a virtual environment."""
    return environment / "bin" / "python"


def version_of(environment: Path) -> str | None:
    """Answer the Python version (`3.11`) of a virtual environment; None when it does not work."""
    command = [str(python_of(environment)), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None


def packages_of(environment: Path) -> Path:
    """Answer the directory into which packages are installed."""
    found = sorted((environment / "lib").glob("python3.*/site-packages"))
    if not found:
        raise SetupFailed(f"{environment} holds no packages directory.\n  Remove it and run the same command again.")
    return found[0]


def has_module(python: Path | str, module: str, variables: Mapping[str, str]) -> bool:
    """Tell whether an interpreter can import a module."""
    command = [str(python), "-c", f"import {module}"]
    return subprocess.run(command, capture_output=True, check=False, env=dict(variables)).returncode == 0


def create(environment: Path, variables: Mapping[str, str], python: str = sys.executable) -> None:
    """Make the virtual environment anew, with pip in it when this Python can do that.

    Debian's Python comes without ensurepip; then the environment has no pip of its own, and `installer` answers the
    running interpreter's.

    Raises SetupFailed when there is no pip at all.
    """
    if environment.exists():
        shutil.rmtree(environment)
    if has_module(python, "ensurepip", variables):
        made = _run_venv(python, environment, [], variables)
        if made.returncode == 0:
            return
        shutil.rmtree(environment, ignore_errors=True)
    if not has_module(python, "pip", variables):
        raise SetupFailed(NO_INSTALLER.format(python=python))
    made = _run_venv(python, environment, ["--without-pip"], variables)
    if made.returncode != 0:
        shutil.rmtree(environment, ignore_errors=True)
        raise SetupFailed(
            f"Making the virtual environment {environment} failed:\n{made.stdout}{made.stderr}"
            "  Debian, Ubuntu: apt install python3-venv. Then run the same command again."
        )


def _run_venv(
    python: str, environment: Path, options: list[str], variables: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    command = [python, "-m", "venv", *options, str(environment)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=dict(variables))


def installer(environment: Path, variables: Mapping[str, str], python: str = sys.executable) -> list[str]:
    """Answer the pip command that installs into a virtual environment.

    Raises SetupFailed when neither the environment nor the running interpreter has a pip.
    """
    own = python_of(environment)
    if has_module(own, "pip", variables):
        return [str(own), "-m", "pip"]
    if has_module(python, "pip", variables):
        return [python, "-m", "pip", "--python", str(own)]
    raise SetupFailed(NO_INSTALLER.format(python=python))


def drop_half_installed(packages: Path) -> list[str]:
    """Make pip install again what an interrupted pip left half installed; answer the names.

    pip takes a package for installed when its metadata is there, even if it was stopped before the last of its
    files. Without the metadata it installs the package again, over what is there.
    """
    dropped = []
    for leftover in packages.glob("~*"):
        # pip moves a package aside under such a name while it replaces it.
        shutil.rmtree(leftover, ignore_errors=True)
    for metadata in packages.glob("*.dist-info"):
        if not _is_complete(packages, metadata):
            shutil.rmtree(metadata)
            dropped.append(metadata.name.removesuffix(".dist-info"))
    return sorted(dropped)


def _is_complete(packages: Path, metadata: Path) -> bool:
    record = metadata / "RECORD"
    if not record.is_file() or not (metadata / "INSTALLER").is_file():
        return False
    with record.open(encoding="utf-8", newline="") as rows:
        for name, _, size in csv.reader(rows):
            path = packages / name
            if size and (not path.is_file() or path.stat().st_size != int(size)):
                return False
    return True
