"""The files of a Spark Declarative Pipeline: its specification and what that includes."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import yaml

from pondage.errors import ProjectError

SPECIFICATIONS = ("spark-pipeline.yml", "spark-pipeline.yaml", "pipeline.yml", "pipeline.yaml")


class Specification(msgspec.Struct, frozen=True, kw_only=True):
    """What the specification file says, as far as it means something here."""

    name: str
    configuration: dict[str, str]
    catalog: str | None
    database: str | None
    files: tuple[Path, ...]
    path: Path

    @property
    def root(self) -> Path:
        """Answer the directory that all paths in the pipeline are relative to."""
        return self.path.parent

    @property
    def digest(self) -> str:
        """Answer what changes when anything in the pipeline does."""
        found = hashlib.sha256()
        for file in (self.path, *self.files):
            found.update(f"{file.relative_to(self.root).as_posix()}\0".encode())
            found.update(hashlib.sha256(file.read_bytes()).digest())
        return found.hexdigest()


def find_specification(directory: Path) -> Path:
    """Answer the specification file in a directory; raises `ProjectError` when there is none, or more than one."""
    found = [directory / name for name in SPECIFICATIONS if (directory / name).is_file()]
    if len(found) == 1:
        return found[0]
    what = "there is no" if not found else "there is more than one"
    raise ProjectError(
        f"{what} {' or '.join(SPECIFICATIONS[:2])} in {directory}",
        hint="name the directory that `spark-pipelines` would be run in",
        code="NO_PIPELINE",
    )


def read_specification(path: Path) -> Specification:
    """Read the specification; raises `ProjectError` for one that Spark would not take."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise _refused(path, str(error)) from None
    if not isinstance(data, dict) or not isinstance(data.get("name"), str):
        raise _refused(path, "it has no `name`")
    configuration = data.get("configuration") or {}
    if not isinstance(configuration, dict):
        raise _refused(path, "`configuration` is no table")
    files: dict[Path, None] = {}
    for entry in data.get("libraries") or []:
        pattern = _pattern(entry)
        if pattern is None:
            raise _refused(path, f"{entry!r} under `libraries` is not of the form `glob: {{include: PATTERN}}`")
        files |= dict.fromkeys(_matching(path.parent, pattern))
    return Specification(
        name=data["name"],
        configuration={str(key): str(value) for key, value in configuration.items()},
        catalog=data.get("catalog"),
        database=data.get("database", data.get("schema")),
        files=tuple(files),
        path=path,
    )


def _pattern(entry: object) -> str | None:
    inner = entry.get("glob") if isinstance(entry, dict) else None
    pattern = inner.get("include") if isinstance(inner, dict) else None
    is_inside = isinstance(pattern, str) and not pattern.startswith("/") and ".." not in Path(pattern).parts
    return pattern if isinstance(pattern, str) and is_inside else None


def _matching(root: Path, pattern: str) -> list[Path]:
    deep = f"{pattern}/*" if pattern.endswith("/**") else pattern
    return sorted(
        file
        for file in root.glob(deep)
        if file.is_file() and file.suffix in (".py", ".sql") and "__pycache__" not in file.parts
    )


def _refused(path: Path, why: str) -> ProjectError:
    return ProjectError(f"{path.name} is no specification of a pipeline: {why}", place=str(path), code="BAD_PIPELINE")
