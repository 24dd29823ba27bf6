"""What lies in a folder now: one look, without Spark, at every file that a reader asked for."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from pyarrow import fs

from pondage.connect.landing.decision import Folder
from pondage.connect.stores import store_of
from pondage.errors import PondageError

_EMPTY_FOLDER = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")


class LandedFile(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A file as the store shows it, in the order in which files are taken: the oldest first.

    `path` is relative to the folder. A store that knows no time of change says 0.
    """

    modified: int
    path: str
    size: int


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What one look found: files to be judged, and how many must wait until they are complete."""

    files: tuple[LandedFile, ...]
    settling: tuple[str, ...]


def look(
    folder: Folder,
    *,
    now_us: int,
    wanted: Callable[[LandedFile], bool] = lambda _: True,
    see: Callable[[str], None] = lambda _: None,
) -> Seen:
    """Answer the files of the folder and of all folders below it; raises `PondageError` when it cannot be listed.

    Names that begin with `_` or `.` are passed over, as Spark does it: they belong to whoever is still writing. `see`
    is told every file that is meant; only those that are `wanted` are kept, so that many known ones cost no memory.
    """
    means = matcher(folder.glob)
    is_marker = (lambda _: False) if folder.marker is None else matcher(folder.marker)
    # A marker may be listed before its file or after it.
    markers: set[str] | None = None if folder.marker is None else set()
    found: list[LandedFile] = []
    try:
        for file in _listed(folder.path):
            if markers is not None and is_marker(file.path):
                markers.add(file.path)
            if not _is_hidden(file.path) and means(file.path) and not is_marker(file.path):
                see(file.path)
                if wanted(file):
                    found.append(file)
    except OSError as error:
        raise PondageError(
            f"the folder {folder.path} cannot be listed: {error}",
            code="NO_FILE",
            hint="see that it exists and that the worker may read it; an empty folder is fine",
        ) from error
    waiting = {each.path for each in found if _waits(each, markers, folder, now_us)}
    return Seen(
        files=tuple(sorted(each for each in found if each.path not in waiting)), settling=tuple(sorted(waiting))
    )


def _listed(place: str) -> Iterator[LandedFile]:
    """Answer every file below a folder, one after the other."""
    system, root = store_of(place, code="NO_FILE")
    root = root.rstrip("/")
    if isinstance(system, fs.LocalFileSystem):
        yield from _local(Path(root))
        return
    for each in system.get_file_info(fs.FileSelector(root, recursive=True)):
        if each.type == fs.FileType.File:
            yield _landed(each.path.removeprefix(root).lstrip("/"), each)


def _local(root: Path) -> Iterator[LandedFile]:
    """Answer the same of this machine, where a look at each file is not kept."""
    above = [""]
    while above:
        folder = above.pop()
        with os.scandir(root / folder) as found:
            for each in found:
                if each.is_dir():
                    above.append(f"{folder}{each.name}/")
                    continue
                try:
                    known = each.stat()
                except FileNotFoundError:
                    continue  # it went while we looked
                if stat.S_ISREG(known.st_mode):
                    yield LandedFile(
                        modified=known.st_mtime_ns // 1_000, path=f"{folder}{each.name}", size=known.st_size
                    )


def found_files(folder: str, names: Sequence[str]) -> list[LandedFile]:
    """Answer those of these files that are there, as they are now."""
    system, root = store_of(folder, code="NO_FILE")
    found = system.get_file_info([f"{root.rstrip('/')}/{name}" for name in names]) if names else []
    return [_landed(name, each) for name, each in zip(names, found, strict=True) if each.type == fs.FileType.File]


def _landed(name: str, info: fs.FileInfo) -> LandedFile:
    return LandedFile(modified=(info.mtime_ns or 0) // 1_000, path=name, size=info.size)


def _waits(file: LandedFile, markers: set[str] | None, folder: Folder, now_us: int) -> bool:
    if folder.settle_us and file.modified > now_us - folder.settle_us:
        return True
    if markers is None or folder.marker is None:
        return False
    return not any(each in markers for each in _markers(file.path, folder.marker))


def _markers(name: str, marker: str) -> Iterable[str]:
    """Answer the files that say that this one is complete: beside it, named after it with or without its ending."""
    above, _, plain = name.rpartition("/")
    for base in (plain, plain.rpartition(".")[0] or plain):
        beside = marker.replace("*", base)
        yield f"{above}/{beside}" if above else beside


def _is_hidden(name: str) -> bool:
    return any(part[0] in "._" for part in name.split("/") if part)


class matcher:  # noqa: N801 - called like a function
    """A pattern of names: `*` and `?` stay within a folder, `**/` goes through any number of them.

    Without a `/` it is about the name of the file, wherever it lies.
    """

    def __init__(self, glob: str) -> None:
        self._is_name = "/" not in glob
        parts = re.split(r"(\*\*/|\*|\?)", glob)
        words = {"**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
        self._pattern = re.compile("".join(words.get(each, re.escape(each)) for each in parts) + r"\Z")

    def __call__(self, path: str) -> bool:
        """Answer whether a file is meant."""
        return self._pattern.match(path.rpartition("/")[2] if self._is_name else path) is not None


def folder_values(path: str) -> dict[str, str | None]:
    """Answer what the names of the folders say of a file: `day=2026-01-01/region=DE/x.csv` has a day and a region."""
    found: dict[str, str | None] = {}
    for part in path.split("/")[:-1]:
        name, equals, value = part.partition("=")
        if name and equals:
            plain = _ESCAPED.sub(lambda each: chr(int(each[1], 16)), value)
            found[name] = None if plain == _EMPTY_FOLDER else plain
    return found
