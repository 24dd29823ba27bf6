"""Style, format, types, import rules and lock files; and the page. Every check runs, even after one that failed."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.setup import page  # noqa: E402

BIN = Path(sys.executable).parent

CHECKS = {
    "style": [str(BIN / "ruff"), "check"],
    "format": [str(BIN / "ruff"), "format", "--check"],
    "types": [sys.executable, "-m", "mypy", "--strict"],
    "import rules": [str(BIN / "lint-imports"), "--no-cache"],
    "rules of the house": [sys.executable, "-m", "scripts.house"],
    "table of rooms": [sys.executable, "-m", "scripts.rooms", "--check"],
    "types of the API": [sys.executable, "-m", "scripts.page_types", "--check"],
    "lock files": [sys.executable, str(ROOT / "scripts" / "addresses.py")],
}

UI = ROOT / "ui"
TOOLS = UI / "node_modules"
PAGE_CHECKS = {
    "types of the page": [str(TOOLS / "typescript" / "lib" / "tsc.js"), "--noEmit"],
    "style of the page": [str(TOOLS / "eslint" / "bin" / "eslint.js"), "--max-warnings", "0", "."],
    "format of the page": [str(TOOLS / "prettier" / "bin" / "prettier.cjs"), "--check", "--log-level", "warn", "."],
}


def main() -> int:
    """Run every check; the exit code is 1 when one of them failed."""
    failed = []
    checks = [(name, command, ROOT) for name, command in CHECKS.items()]
    node = page.node_of_machine(os.environ) or page.node_of_packages(Path(sysconfig.get_path("purelib")))
    if node.program.is_file() and TOOLS.is_dir():
        checks += [(name, [str(node.program), *command], UI) for name, command in PAGE_CHECKS.items()]
    else:
        print("the page: not checked, because it was never built here: make setup", flush=True)
    for name, command, directory in checks:
        began = time.monotonic()
        result = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
        verdict = "ok" if result.returncode == 0 else "FAILED"
        print(f"{name}: {verdict} ({time.monotonic() - began:.1f} s)", flush=True)
        if result.returncode != 0:
            failed.append(name)
            print(result.stdout + result.stderr, flush=True)
    if failed:
        print(f"lint failed: {', '.join(failed)}. Style and format mend themselves: .venv/bin/ruff check --fix; "
              ".venv/bin/ruff format; (cd ui && npm run format)")  # fmt: skip
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
