"""What the last set-up reached: a small file in `.venv`, so that the next call has nothing to ask."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

NAME = "pondage-setup.json"


@dataclass(slots=True, kw_only=True)
class Stamp:
    """The state that `.venv` was brought to. It is written after every phase, never before."""

    location: str = ""
    """Where the checkout was: the programs in a virtual environment name their place."""
    python: str = ""
    sets: dict[str, str] = field(default_factory=dict)
    """Digest of the lock file from which each set was installed."""
    unfinished: str = ""
    """The set whose installation was begun and not ended, if the last call was stopped."""
    project: str = ""
    java: list[list[str]] = field(default_factory=list)
    java_is_found: bool = False
    warmed: str = ""
    page: str = ""
    """Digest of what the web page was built from."""


def read(environment: Path) -> Stamp | None:
    """Answer the stamp of a virtual environment; None when there is none that can be read."""
    try:
        content = json.loads((environment / NAME).read_text(encoding="utf-8"))
        return Stamp(**content)
    except (OSError, ValueError, TypeError):
        return None


def write(environment: Path, stamp: Stamp) -> None:
    """Replace the stamp in one step, so that a kill leaves the old one or the new one."""
    waiting = environment / f"{NAME}.new"
    waiting.write_text(json.dumps(asdict(stamp), indent=2), encoding="utf-8")
    waiting.replace(environment / NAME)


def digest(path: Path) -> str:
    """Answer the digest of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
