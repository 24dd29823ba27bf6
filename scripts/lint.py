"""Style, format, types, import rules and lock files. Every check runs, even after one that failed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.setup.page import node_of_machine  # noqa: E402

BIN = Path(sys.executable).parent

CHECKS = {
    "style": [str(BIN / "ruff"), "check"],
    "format": [str(BIN / "ruff"), "format", "--check"],
    "types": [sys.executable, "-m", "mypy", "--strict"],
    "import rules": [str(BIN / "lint-imports"), "--no-cache"],
    "types of the API": [sys.executable, "-m", "scripts.page_types", "--check"],
    "lock files": [sys.executable, str(ROOT / "scripts" / "addresses.py")],
}

COMPILER = ROOT / "ui" / "node_modules" / "typescript" / "lib" / "tsc.js"
NODE = node_of_machine(os.environ)
if NODE is not None and COMPILER.is_file():
    CHECKS["types of the page"] = [str(NODE.program), str(COMPILER), "--noEmit", "--project", str(ROOT / "ui")]


def main() -> int:
    """Run every check; the exit code is 1 when one of them failed."""
    failed = []
    for name, command in CHECKS.items():
        began = time.monotonic()
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        verdict = "ok" if result.returncode == 0 else "FAILED"
        print(f"{name}: {verdict} ({time.monotonic() - began:.1f} s)", flush=True)
        if result.returncode != 0:
            failed.append(name)
            print(result.stdout + result.stderr, flush=True)
    if failed:
        print(f"lint failed: {', '.join(failed)}. Style and format mend themselves: .venv/bin/ruff check --fix; "
              ".venv/bin/ruff format")  # fmt: skip
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
