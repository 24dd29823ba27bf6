"""Places of snapshots: how Spark names them, and how this process reads and secures the files itself."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from pyarrow import fs

from pondage.errors import PondageError

_GLOB_CHARACTERS = frozenset("{}[]*?\\")


def local_path(place: str) -> Path | None:
    """Answer the place as a path of this machine, or None when it is on another file system."""
    if place.startswith("file:"):
        return Path("/" + place.removeprefix("file:").lstrip("/"))
    return Path(place).absolute() if "://" not in place else None


def spark_path(place: str) -> str:
    """Answer the place as Spark must be given it for writing.

    A plain path says `file:` explicitly: with a cluster's configuration around, Spark would look for it elsewhere.
    """
    local = local_path(place)
    return place if local is None else f"file:{local}"


def readable_path(place: str) -> str:
    """Answer the place as Spark must be given it for reading, where characters like `[` would be a pattern."""
    path = spark_path(place)
    return "".join("\\" + each if each in _GLOB_CHARACTERS else each for each in path)


def data_files(place: str) -> tuple[fs.FileSystem, str, list[tuple[str, int]]]:
    """Answer the file system, the directory in it, and name and size of each parquet file just written there.

    Those of partitions are named with their directories. What lies in one whose name begins like a hidden one is not
    of this write.
    """
    file_system, directory = resolved(place)
    selector = fs.FileSelector(directory, allow_not_found=True, recursive=True)
    found = [
        (name, info.size)
        for info in file_system.get_file_info(selector)
        for name in [info.path.removeprefix(f"{directory}/")]
        if info.type == fs.FileType.File
        and name.endswith(".parquet")
        and not any(part[0] in "._" for part in name.split("/"))
    ]
    return file_system, directory, sorted(found)


def secure(place: str, names: list[str]) -> None:
    """Make written local files survive a loss of power. Other file systems promise it themselves.

    Hadoop's checksum files are removed: a sound data file beside a checksum file that was lost halfway could not be
    read any more.
    """
    directory = local_path(place)
    if directory is None:
        return
    inside = {above for name in names for above in (directory / name).parents if directory in above.parents}
    for each in (found for place in (directory, *inside) for found in place.iterdir()):
        if each.name == "_SUCCESS" or (each.name.startswith(".") and each.name.endswith(".crc")):
            each.unlink(missing_ok=True)
    for name in names:
        _synced(directory / name)
    # A file is found again only when its directory, and the directories made on the way to it, are on the disk too.
    for each in (*inside, directory, *list(directory.parents)[:3]):
        _synced(each)


def _synced(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def resolved(place: str) -> tuple[fs.FileSystem, str]:
    """Answer the file system that a place is on, and the path in it."""
    local = local_path(place)
    if local is not None:
        return fs.LocalFileSystem(), str(local)
    # Hadoop's names for the same stores.
    uri = place.replace("s3a://", "s3://", 1) if place.startswith("s3a://") else place
    try:
        file_system, path = fs.FileSystem.from_uri(uri)
    except (ValueError, OSError) as error:
        raise PondageError(
            f"the warehouse {place} cannot be read by this process: {error}",
            code="WAREHOUSE",
            hint="use a local path, s3a://, gs:// or hdfs://, and see that this machine can reach it",
        ) from error
    return file_system, path


def plain_names(place: str, names: list[str]) -> dict[str, str]:
    """Take `column=` out of the names of directories, and answer how each file is called now.

    Only on a local file system, where it costs nothing; on a store of objects it would copy the files.
    """
    directory = local_path(place)
    if directory is None:
        return {name: name for name in names}
    moved = {name: "/".join(part.rpartition("=")[2] for part in name.split("/")) for name in names}
    for name, plain in moved.items():
        (directory / plain).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).rename(directory / plain)
    for above in {directory / name.split("/")[0] for name, plain in moved.items() if name != plain}:
        shutil.rmtree(above)
    return moved


def moved_up(place: str, folder: str, *, instead_of: list[str]) -> None:
    """Put the files of a folder into the directory that it is in, in place of some that are there."""
    file_system, directory, names = data_files(f"{place}/{folder}")
    above = directory.rpartition("/")[0]
    for name in instead_of:
        file_system.delete_file(f"{above}/{name}")
    for name, _ in names:
        file_system.create_dir(f"{above}/{name}".rpartition("/")[0], recursive=True)
        file_system.move(f"{directory}/{name}", f"{above}/{name}")
    file_system.delete_dir(directory)
    secure(place, [name for name, _ in names])
