"""The example that `demo` walks through: where it is, and a copy of it that a person may change."""

from __future__ import annotations

import shutil
from pathlib import Path

from pondage.errors import ProjectError

_LEFT_BEHIND = ("__pycache__", ".pondage", "spark-warehouse", "metastore_db", ".pytest_cache")


def example_directory(name: str = "retail") -> Path:
    """Answer the example: inside the installed package, or in the checkout that this code runs from."""
    import pondage

    package = Path(pondage.__file__).parent
    for place in (package / "examples" / name, package.parent.parent / "examples" / name):
        if (place / "pondage.toml").is_file():
            return place
    raise ProjectError(
        f"the example {name!r} is not in this installation",
        hint="pip install --force-reinstall pondage",
        code="NO_EXAMPLE",
    )


def copy_example(target: Path, name: str = "retail") -> bool:
    """Copy the example into a directory; answer False when it is there already, which is then left as it is.

    Raises `ProjectError` when something else is in the directory.
    """
    source = example_directory(name)
    if (target / "pondage.toml").is_file() and _is_same_project(target, source):
        return False
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ProjectError(
            f"{target} exists and is not the example", hint="pondage demo --into ANOTHER_DIRECTORY", code="EXISTS"
        )
    shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*_LEFT_BEHIND))
    return True


def _is_same_project(target: Path, source: Path) -> bool:
    from pondage.project.project import load_project

    return load_project(target).name == load_project(source).name
