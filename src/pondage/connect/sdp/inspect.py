"""The subprocess that reads a pipeline: `python -m pondage.connect.sdp.inspect SPECIFICATION ANSWER`.

It imports the author's files and calls the functions of the flows to see which tables they ask for. Spark looks at the
plans and runs none of them.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from pyspark.sql import DataFrame, SparkSession

from pondage.connect.sdp.files import read_specification
from pondage.connect.sdp.graph import Dataset, Imported, Left, pond_names
from pondage.connect.sdp.pipeline import known_dataset
from pondage.connect.sdp.registry import Declared, Registry, loaded

if TYPE_CHECKING:
    from pondage.connect.sdp.session import PipelineSession


class _Reading:
    """Finds out who reads whom: each flow is called with tables that are the plans of the others."""

    def __init__(self, registry: Registry, session: PipelineSession) -> None:
        self._registry = registry
        self._session = session
        self._frames: dict[str, DataFrame] = {}
        self._open: list[str] = []
        self.reads: dict[str, dict[str, None]] = {}
        self.follows: dict[str, dict[str, None]] = {}
        self.watches: dict[str, dict[str, None]] = {}
        self.tables: dict[str, None] = {}
        self.problems: dict[str, str] = {}

    def look(self, name: str) -> DataFrame:
        """Answer the plan of a dataset, made once."""
        if name in self._frames:
            return self._frames[name]
        if name in self._open:
            raise ValueError(f"{' reads '.join([*self._open, name])}: a cycle")
        self._open.append(name)
        declared = self._registry.datasets[name]
        self.reads.setdefault(name, {})
        self.follows.setdefault(name, {})
        try:
            frames: list[DataFrame] = []
            with self._session.bound(self._session.real, partial(self._table, name), partial(self._files, name)):
                frames += [flow() for flow in declared.flows]
            if not frames:
                raise ValueError("nothing flows into it")
        finally:
            self._open.pop()
        self._frames[name] = frames[0]
        return frames[0]

    def _files(self, reader: str, key: str, files: Any, path: str) -> DataFrame:
        self.watches.setdefault(reader, {})[key] = None
        frame: DataFrame = files.load(path)
        return frame

    def _table(self, reader: str, table: str, is_stream: bool) -> DataFrame | None:
        known = known_dataset(table, self._registry.datasets)
        if known is None:
            self.tables[table] = None
            return None
        if self._registry.datasets[known].kind == "temporary":
            frame = self.look(known)
            # A temporary view is made where it is used, so its reader reads what it reads.
            self.reads[reader] |= self.reads[known]
            self.follows[reader] |= self.follows[known]
            self.watches.setdefault(reader, {}).update(self.watches.get(known, {}))
            return frame
        (self.follows if is_stream else self.reads)[reader][known] = None
        return self.look(known)


def imported(specification_path: Path, session: SparkSession) -> Imported:
    """Answer what a pipeline holds. A dataset that cannot be looked into is left out, with the reason."""
    specification = read_specification(specification_path)
    registry, proxy = loaded(specification, session)
    reading = _Reading(registry, proxy)
    left = [Left(what=what, why=why) for what, why in registry.refused.items()]
    for name in registry.datasets:
        try:
            reading.look(name)
        except Exception as error:  # noqa: BLE001 - listed, so that the rest can be used
            reading.problems[name] = str(error).partition("\n")[0]
    tables = [name for name, each in registry.datasets.items() if each.kind != "temporary"]
    usable = [name for name in tables if not _lost(name, reading)]
    left += [Left(what=name, why=_lost(name, reading)) for name in tables if name not in usable]
    left += [
        Left(what=name, why=f"{', '.join(each.ignored)}: Pondage stores its tables in its own way")
        for name, each in registry.datasets.items()
        if each.ignored
    ]
    names = pond_names(usable)
    return Imported(
        name=specification.name,
        specification=specification_path.name,
        datasets=tuple(_dataset(registry.datasets[name], names[name], reading) for name in usable),
        left=tuple(left),
        tables=tuple(reading.tables),
        configuration=specification.configuration,
    )


def _lost(name: str, reading: _Reading) -> str:
    """Answer why a dataset cannot be used: by itself, or because of one that it reads."""
    if name in reading.problems:
        return reading.problems[name]
    return next((f"it reads {each}" for each in reading.reads[name] if each in reading.problems), "")


def _dataset(declared: Declared, pond: str, reading: _Reading) -> Dataset:
    return Dataset(
        name=declared.name,
        pond=pond,
        kind=declared.kind,
        place=declared.place,
        comment=declared.comment,
        reads=tuple(reading.reads[declared.name]),
        follows=tuple(reading.follows[declared.name]),
        watches=tuple(reading.watches.get(declared.name, {})),
    )


def main(arguments: list[str]) -> int:
    """Read the pipeline and write the answer as JSON."""
    from pondage.errors import PondageError
    from pondage.spark.jvm.settings import SparkSettings
    from pondage.spark.session.driver import SparkDriver

    specification, answer, state = (Path(each) for each in arguments)
    driver = SparkDriver.start(SparkSettings(memory="1g"), state)
    try:
        with driver.attempt("import", "import of a pipeline") as session:
            found = msgspec.json.encode(imported(specification, session))
    except PondageError as error:
        found = msgspec.json.encode({"error": error.message, "code": error.code, "hint": error.hint})
    finally:
        driver.stop()
    answer.write_bytes(found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
