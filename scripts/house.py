"""Rules of the house that no linter knows: small folders, no imports by name, and documents that name what exists."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

MOST_MODULES = 25
"""A folder with more modules (beside `__init__`) is cut into rooms: nobody takes in a longer list at a glance."""

BY_NAME = {
    "__init__.py": "what authors rarely need is imported when they ask for it",
    "cli/main.py": "each verb is imported when it is called",
    "components/registry.py": "the library is the modules of one folder",
    "connect/tables.py": "packages of other people that may be missing",
    "engine/process/code.py": "an author's code",
    "project/inspect.py": "an author's code",
    "testing/flow_simulation.py": "an author's code",
}
"""Modules that import by a name that is made when they run: no import contract sees what they reach."""

BUILT = ("server/page", "benchmarks/results")
"""Folders that documents name, and a command fills."""


def crowded(package: Path) -> Iterator[str]:
    """Say which folders hold too many modules."""
    for folder in sorted({each.parent for each in package.rglob("*.py")}):
        name = folder.relative_to(package).as_posix()
        number = len([each for each in folder.glob("*.py") if each.name != "__init__.py"])
        if number > MOST_MODULES:
            yield f"{name}/ has {number} modules, and a folder holds at most {MOST_MODULES}: cut it into rooms"


def imported_by_name(package: Path) -> Iterator[str]:
    """Say which modules import by name though they are not among those that may."""
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        lines = sorted(_imports_by_name(ast.parse(path.read_bytes())))
        if lines and name not in BY_NAME:
            yield f"{name}:{lines[0]} imports by name, which no contract sees: write an import (may be in a function)"
        if not lines and name in BY_NAME:
            yield f"{name} imports nothing by name: take it out of BY_NAME in scripts/house.py"
    for name in sorted(BY_NAME):
        if not (package / name).is_file():
            yield f"{name} does not exist: take it out of BY_NAME in scripts/house.py"


def _imports_by_name(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("import_module", "__import__"):
                yield node.lineno


def unknown_files(root: Path, documents: Iterable[Path]) -> Iterator[str]:
    """Say which files and folders of this house the documents name though they do not exist."""
    package = root / "src" / "pondage"
    houses = {each.name for place in (root, package) for each in place.iterdir() if each.is_dir()}
    for document in documents:
        for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), start=1):
            for name in re.findall(r"`([\w.-]+(?:/[\w.-]+)*/?)`", line):
                first, _, rest = name.partition("/")
                is_path = first in houses and bool(rest)
                if (is_path or re.fullmatch(r"\w+\.py", name)) and not _exists(root, package, name):
                    yield f"{document.relative_to(root)}:{number} names {name}, which does not exist"


def _exists(root: Path, package: Path, name: str) -> bool:
    if name.startswith(BUILT):
        return True
    if "/" not in name:
        return any(any((root / place).rglob(name)) for place in ("src", "scripts", "tests"))
    return any((place / tail).exists() for place in (root, package) for tail in (name, f"{name}.py"))


def documents(root: Path) -> list[Path]:
    """Answer the documents that speak of files of the house."""
    return [root / "ARCHITECTURE.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]


def main() -> int:
    """Check all of it; the exit code is 1 when a rule is broken."""
    package = ROOT / "src" / "pondage"
    found = [*crowded(package), *imported_by_name(package), *unknown_files(ROOT, documents(ROOT))]
    for each in found:
        print(each)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
