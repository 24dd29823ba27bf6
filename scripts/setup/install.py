"""Install a set of locked packages with pip, and say how far it is."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scripts.setup import environment as virtual
from scripts.setup.failure import SetupFailed
from scripts.setup.process import run_watched
from scripts.setup.progress import Progress

MEGABYTE = 1_000_000

HINTS = {
    r"No space left on device|Disk quota exceeded": "The disk is full: free some space.",
    r"DO NOT MATCH THE HASHES": (
        "A downloaded file is not the one that was locked. If the lock files are unchanged (git status locks), "
        "the mirror or proxy between here and the registry altered it."
    ),
    r"CERTIFICATE_VERIFY_FAILED|SSLError": (
        "The registry's certificate is not trusted here: name the file of your certificates in PIP_CERT."
    ),
    r"Max retries|NewConnectionError|name resolution|timed out|ProxyError|No matching distribution found": (
        "The package registry was not reached, or does not have the package: check the network, and pip's "
        "settings (pip config list; PIP_INDEX_URL, HTTPS_PROXY)."
    ),
    r"Permission denied": "A file of the checkout belongs to another user: check who owns .venv and .cache.",
}
"""What to do, by what pip printed; the first that matches is told."""


def hint_for(lines: list[str]) -> str:
    """Answer what to do about a failure, judged by what pip printed."""
    text = "\n".join(lines)
    for pattern, hint in HINTS.items():
        if re.search(pattern, text):
            return hint
    return "The lines above say why."


@dataclass(slots=True)
class Step:
    """What pip is doing now, read from its output."""

    text: str = "starting pip"
    is_installing: bool = False

    def read(self, line: str) -> None:
        """Take one line of pip's output."""
        words = line.split()
        if len(words) < 2:
            return
        if words[0] == "Collecting":
            self.text = f"downloading {re.split('[=<>~!;]', words[1])[0]}"
        elif words[0] in ("Downloading", "Using"):
            name = next((word for word in words[1:] if "." in word), words[1]).rsplit("/", 1)[-1]
            self.text = f"downloading {name} {' '.join(words[-2:]) if line.endswith(')') else ''}".rstrip()
        elif words[:3] == ["Building", "wheel", "for"] and len(words) > 3:
            self.text = f"building {words[3]}"
        elif words[:2] == ["Preparing", "metadata"]:
            self.text = "unpacking"
        elif line.startswith("Installing collected packages"):
            self.text, self.is_installing = "installing", True


@dataclass(frozen=True, slots=True, kw_only=True)
class Installer:
    """pip, bound to one virtual environment and one temporary directory."""

    environment: Path
    project: Path
    temporary: Path
    log: Path
    variables: Mapping[str, str]
    progress: Progress
    lock_file: int

    def install(self, what: str, arguments: list[str]) -> None:
        """Run `pip install`, showing what it does.

        Raises SetupFailed with pip's last words when it fails.
        """
        packages = virtual.packages_of(self.environment)
        before = _count_installed(packages)
        step = Step()

        def describe() -> str:
            if step.is_installing:
                return f"installing: {_count_installed(packages) - before} packages done"
            return f"{step.text}: {_bytes_under(self.temporary) / MEGABYTE:.0f} MB on disk"

        pip = virtual.installer(self.environment, self.variables)
        command = [*pip, "install", "--progress-bar", "off", "--no-input", *arguments]
        code, tail = run_watched(
            command,
            variables={**self.variables, "TMPDIR": str(self.temporary), "PYTHONUNBUFFERED": "1"},
            directory=self.project,
            log=self.log,
            on_line=step.read,
            on_tick=lambda: self.progress.move(describe),
            keep_open=(self.lock_file,),
        )
        if code != 0:
            said = "\n".join(f"    {line}" for line in tail)
            raise SetupFailed(
                f"Installing {what} failed (pip ended with {code}). Its last lines:\n{said}\n"
                f"  {hint_for(tail)}\n  All of it: {self.log}. Then run the same command again: it goes on from here."
            )


def _count_installed(packages: Path) -> int:
    return sum(1 for _ in packages.glob("*.dist-info"))


def _bytes_under(directory: Path) -> int:
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            # pip removes its files while we count them.
            with contextlib.suppress(OSError):
                total += os.lstat(f"{folder}/{name}").st_size
    return total
