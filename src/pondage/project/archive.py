"""The code archive: what a deploy stores and a worker unpacks, so that a worker needs no copy of the project.

Packing is deterministic: the same files give the same bytes and the same digest. Unpacking trusts nothing: it checks
the digest, the size and every name again, and the directory appears whole or not at all.
"""

from __future__ import annotations

import ast
import hashlib
import io
import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

import msgspec

from pondage.errors import ProjectError
from pondage.private import make_private, make_private_file
from pondage.project.project import Project

LIMIT_BYTES = 20 * 1024 * 1024
LIMIT_FILES = 10_000
LONGEST_NAME = 500
LONGEST_PART = 255
"""In bytes, as a file system counts them."""
PROGRAMS = "programs"
"""Where a project keeps external programs: everything in it is packed, and can be started once it is unpacked."""
_MODULES = {".py", ".pyi", ".typed", ".sql"}
_NAMED = {".yaml", ".yml", ".json", ".toml"}
"""They are code when a module names them, as it names its settings. Jobs and trees are planned before, and are data."""
_SETTINGS = ("pondage.toml", "pyproject.toml")
_SKIPPED = {
    "__pycache__", "tests", "test", "data", "out", "node_modules", "venv", "env", "dist", "build", "spark-warehouse"
}  # fmt: skip
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, LookupError, RuntimeError, ValueError)
"""All that the library raises for bytes that are no zip file, or one that lies."""
_TIME = (1980, 1, 1, 0, 0, 0)


class Archive(msgspec.Struct, frozen=True, kw_only=True):
    """A packed project: its bytes, their sha256 in hex, and the names in it."""

    data: bytes
    digest: str
    names: tuple[str, ...]


def pack_project(project: Project, *, limit_bytes: int = LIMIT_BYTES) -> Archive:
    """Answer the archive of the project's code; raises `ProjectError` when it is too large or holds a link.

    In it are modules and SQL files, the JSON, YAML and TOML files that a module names in a text of its own, what
    `code = […]` of the project file names, and all of `programs/`. Left out are hidden directories (`.pondage`, `.git`,
    …), caches, virtual environments, tests, `data`, `out`, and the warehouse wherever it is: what jobs write is none.
    """
    sizes: dict[str, int] = {}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as file:
        for path in _code_files(project):
            name = path.relative_to(project.root).as_posix()
            sizes[name] = path.stat().st_size
            if sum(sizes.values()) > limit_bytes or len(sizes) > LIMIT_FILES:
                raise _too_large(sizes, limit_bytes)
            data = path.read_bytes()
            info = zipfile.ZipInfo(name, date_time=_TIME)
            info.create_system = 3
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(info, data)
    packed = buffer.getvalue()
    return Archive(data=packed, digest=hashlib.sha256(packed).hexdigest(), names=tuple(sizes))


def unpack(data: bytes, into: Path, *, digest: str | None = None, limit_bytes: int = LIMIT_BYTES) -> Path:
    """Unpack an archive as the directory `into` and answer it; when it is already there, only answer it.

    Raises `ProjectError` when the digest differs, a name leaves the directory, something is a link, or it is too large.
    Two processes may do it at once: each fills a directory of its own, and the first rename wins.
    """
    found = hashlib.sha256(data).hexdigest()
    if digest is not None and found != digest:
        raise _refused(f"its digest is {found[:12]}…, not {digest[:12]}…")
    if into.is_dir():
        return into
    make_private(into.parent)
    temporary = Path(tempfile.mkdtemp(prefix=f".{into.name[:40]}-", dir=into.parent))
    try:
        _extract(data, temporary, limit_bytes)
        try:
            os.rename(temporary, into)  # noqa: PTH104 - the rename must fail, not replace, when somebody was faster
        except OSError:
            if not into.is_dir():
                raise
        return into
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def check_archive(data: bytes, *, limit_bytes: int = LIMIT_BYTES) -> str:
    """Answer the digest of an archive that somebody sent; raises `ProjectError` for all that `unpack` refuses."""
    for _ in _files(data, limit_bytes):
        pass
    return hashlib.sha256(data).hexdigest()


def _extract(data: bytes, directory: Path, limit_bytes: int) -> None:
    for name, content in _files(data, limit_bytes):
        target = directory.joinpath(*name.parts)
        make_private(target.parent)
        make_private_file(target)
        target.write_bytes(content)
        if name.parts[0] == PROGRAMS:
            target.chmod(0o700)


def _files(data: bytes, limit_bytes: int) -> Iterator[tuple[PurePosixPath, bytes]]:
    try:
        file = zipfile.ZipFile(io.BytesIO(data))
    except _BROKEN:
        raise _refused("it is not a zip file") from None
    with file:
        size = 0
        files: set[PurePosixPath] = set()
        folders: set[PurePosixPath] = set()
        for count, info in enumerate(file.infolist(), 1):
            name = _checked_name(info)
            if name in files or name in folders or not files.isdisjoint(name.parents):
                raise _refused(f"{info.filename!r} is in it twice")
            files.add(name)
            folders.update(name.parents)
            size += info.file_size
            _check_size(size, count, limit_bytes)
            try:
                with file.open(info) as source:
                    # The header may lie about the size: never read more than it said.
                    content = source.read(info.file_size + 1)
            except _BROKEN:
                raise _refused(f"{info.filename!r} cannot be read") from None
            if len(content) != info.file_size:
                raise _refused(f"{info.filename!r} is not as long as it says")
            yield name, content


def _checked_name(info: zipfile.ZipInfo) -> PurePosixPath:
    name = PurePosixPath(info.filename)
    lengths = [len(os.fsencode(part)) for part in name.parts]
    if len(os.fsencode(info.filename)) > LONGEST_NAME or max(lengths, default=0) > LONGEST_PART:
        raise _refused(f"the name {info.filename[:50]!r}… is too long")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _refused(f"{info.filename!r} is compressed in a way that is not known")
    kind = stat.S_IFMT(info.external_attr >> 16)
    if not name.parts or info.is_dir() or kind not in (0, stat.S_IFREG):
        raise _refused(f"{info.filename!r} is not a plain file")
    is_unsafe = name.is_absolute() or any(part in ("..", ".") for part in name.parts)
    if is_unsafe or "\\" in info.filename or ":" in info.filename or "\0" in info.filename:
        raise _refused(f"{info.filename!r} is not a name inside the project")
    return name


def data_files(project: Project) -> tuple[str, ...]:
    """Answer the packed files that are no modules, by their names from the root; what cannot be packed is left out."""
    try:
        return tuple(path.relative_to(project.root).as_posix() for path in _code_files(project) if path.suffix != ".py")
    except ProjectError:
        return ()  # whoever packs it says why


def _code_files(project: Project) -> Iterator[Path]:
    asked = {path for pattern in project.code for path in project.root.glob(pattern) if not path.is_dir()}
    asked |= {project.root / name for name in _SETTINGS}
    walked = list(_walked(project))
    named = _Named(project.root, [path for path in walked if path.suffix == ".py"])
    data = {path for path in walked if path.suffix in _NAMED and path not in asked and path not in named}
    data = {path for path in data if not path.is_relative_to(project.root / PROGRAMS)}
    for path in sorted({*walked, *(path for path in asked if path.exists())} - data):
        if path.is_symlink() or not path.is_file():
            raise _refused(f"{path.relative_to(project.root).as_posix()!r} is a link or no plain file")
        yield path


def _walked(project: Project) -> Iterator[Path]:
    wanted = {project.root / module for module in project.modules}
    left_out = {Path(project.warehouse), project.state}
    for directory, directories, files in os.walk(project.root):
        here = Path(directory)
        directories[:] = sorted(name for name in directories if not _is_skipped(name) and (here / name) not in left_out)
        for name in directories:
            if (here / name).is_symlink():
                raise _refused(f"{(here / name).relative_to(project.root).as_posix()!r} is a link")
        for name in files:
            path = here / name
            is_known = path.suffix in _MODULES | _NAMED or here.is_relative_to(project.root / PROGRAMS)
            if path in wanted or (is_known and not name.startswith((".", "test_"))):
                yield path


class _Named:
    """The files that modules name in their texts: `"settings.json"` beside the module, or a path from the root."""

    def __init__(self, root: Path, modules: list[Path]) -> None:
        self._root = root
        self._texts: dict[Path, set[str]] = {}
        for module in modules:
            try:
                tree = ast.parse(module.read_bytes())
            except (SyntaxError, ValueError):
                continue  # written for another Python, or no module at all
            texts = {each.value for each in ast.walk(tree) if isinstance(each, ast.Constant)}
            ends = {text.lstrip("./") for text in texts if isinstance(text, str) and text.endswith(tuple(_NAMED))}
            self._texts.setdefault(module.parent, set()).update(ends)

    def __contains__(self, path: Path) -> bool:
        from_root = path.relative_to(self._root).as_posix()
        return any(
            from_root in texts or (path.is_relative_to(here) and path.relative_to(here).as_posix() in texts)
            for here, texts in self._texts.items()
        )


def program_files(root: Path) -> Iterator[Path]:
    """Give the packed files of external programs, in order: what a program may use beside its declaration."""
    for directory, directories, files in os.walk(root / PROGRAMS):
        directories[:] = sorted(name for name in directories if not _is_skipped(name))
        yield from (Path(directory) / name for name in sorted(files) if not name.startswith((".", "test_")))


def _is_skipped(name: str) -> bool:
    return name.startswith(".") or name in _SKIPPED or name.endswith(".egg-info")


def _check_size(size: int, count: int, limit_bytes: int) -> None:
    if size > limit_bytes or count > LIMIT_FILES:
        raise _refused(f"it is larger than {limit_bytes:,} bytes or {LIMIT_FILES:,} files")


def _too_large(sizes: Mapping[str, int], limit_bytes: int) -> ProjectError:
    """Name the largest files: one of them is most likely no code."""
    largest = sorted(sizes.items(), key=lambda each: -each[1])[:3]
    shown = ", ".join(f"{name} ({size:,} bytes)" for name, size in largest)
    return ProjectError(
        f"the code archive is refused: more than {limit_bytes:,} bytes or {LIMIT_FILES:,} files; largest: {shown}",
        hint="keep what is no code below data/, or outside of the project",
        code="BAD_ARCHIVE",
    )


def _refused(what: str) -> ProjectError:
    return ProjectError(
        f"the code archive is refused: {what}", hint="an archive holds code files only: no links, no data",
        code="BAD_ARCHIVE",
    )  # fmt: skip
