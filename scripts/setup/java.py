"""Find a Java that Spark can run on."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

SUPPORTED = (17, 21)


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A `java` program and the major version it said it is; None when it said nothing useful."""

    program: Path
    major: int | None
    found_by: str

    @property
    def is_supported(self) -> bool:
        """Whether Spark runs on it."""
        return self.major in SUPPORTED

    def __str__(self) -> str:
        """What a person is told about it."""
        version = "a program that is no working Java" if self.major is None else f"Java {self.major}"
        return f"{version} ({self.program}, by {self.found_by})"


def programs(environment: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """Yield the places to look, best first: JAVA_HOME, then the search path."""
    home = environment.get("JAVA_HOME", "")
    if home and (Path(home) / "bin" / "java").is_file():
        yield Path(home) / "bin" / "java", "JAVA_HOME"
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    if on_path is not None:
        yield Path(on_path), "PATH"


def major_version(program: Path) -> int | None:
    """Ask a `java` program for its major version; None when it does not run or does not say."""
    try:
        answer = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    # `openjdk version "17.0.15"`, and until Java 8 `java version "1.8.0_292"`.
    match = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(match.group(1)) if match and answer.returncode == 0 else None


def find(environment: Mapping[str, str]) -> tuple[Java | None, list[Java]]:
    """Answer the first Java that Spark runs on, and those that were passed over before it."""
    passed_over: list[Java] = []
    for program, found_by in programs(environment):
        java = Java(program=program, major=major_version(program), found_by=found_by)
        if java.is_supported:
            return java, passed_over
        passed_over.append(java)
    return None, passed_over


def fingerprint(environment: Mapping[str, str]) -> list[list[str]]:
    """Answer what `find` would look at, without running it: equal fingerprints give equal answers."""
    seen = []
    for program, found_by in programs(environment):
        real = program.resolve()
        seen.append([found_by, str(real), str(real.stat().st_mtime_ns)])
    return seen
