"""No lock file names an address: where packages come from is the business of the machine that installs them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

ADDRESS = re.compile(
    r"://|--(extra-)?index|--pypi-url|--find-links|--trusted-host|^\s*-[if]\s|\sfile:|@\s*/", re.MULTILINE
)


def lock_files(root: Path) -> list[Path]:
    """Answer the lock files of the project, those of the web page included."""
    return [*sorted((root / "locks").glob("*.txt")), *sorted((root / "ui").glob("package-lock.json"))]


def offences(path: Path) -> list[str]:
    """Answer the lines of a lock file that name an address, as `file:line: text`.

    The page's lock file may give the addresses of projects that ask for funding; only what npm would download counts.
    """
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        names_one = '"resolved": "' in line if path.suffix == ".json" else ADDRESS.search(line) is not None
        if names_one:
            found.append(f"{path}:{number}: {line.strip()}")
    return found


def main() -> int:
    """Print every offence; the exit code is 1 when there is one."""
    found = [offence for path in lock_files(ROOT) for offence in offences(path)]
    for offence in found:
        print(offence)
    print(f"addresses in {len(lock_files(ROOT))} lock files: {len(found) or 'none'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
