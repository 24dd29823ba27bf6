"""Remove what the set-up, the tools and the runs left in the checkout: nothing that git tracks."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

WHOLE = [".venv", ".cache", ".hypothesis", ".import_linter_cache", ".mypy_cache", ".pytest_cache", ".ruff_cache",
         ".pondage", "build", "dist", "metastore_db", "spark-warehouse", "derby.log",
         "ui/node_modules", "src/pondage/server/page"]  # fmt: skip
BY_NAME = ["__pycache__", ".pondage", "spark-warehouse", "metastore_db"]
SEARCHED = ["src", "tests", "scripts", "benchmarks", "examples"]


def left_behind(root: Path) -> list[Path]:
    """Answer the files and folders that a build or a run left behind."""
    found = [root / name for name in WHOLE if (root / name).exists()]
    for folder in SEARCHED:
        for name in BY_NAME:
            found += (root / folder).rglob(name)
    return found


def main() -> int:
    """Remove them and say so."""
    for path in left_behind(ROOT):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    print("Clean: the next command sets up anew.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
