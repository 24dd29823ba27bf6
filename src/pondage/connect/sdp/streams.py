"""Streams of the outside world in a pipeline: each Run reads the files that no Run before it has read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from pyspark.sql import DataFrame

from pondage.define.pond.run import Run
from pondage.errors import PondageError

if TYPE_CHECKING:
    from pondage.connect.sdp.session import PipelineSession

FILES = frozenset({"csv", "json", "orc", "parquet", "text"})


class Seen(msgspec.Struct, frozen=True):
    """How far a Run reads a directory: the files that are new to it, and those that others have read before."""

    new: list[str]
    before: list[str]


class StreamReader:
    """Stands for `spark.readStream`. Settings are collected; what ends the chain is read as a bounded table."""

    def __init__(self, session: PipelineSession, table: Callable[[str], DataFrame]) -> None:
        self._session = session
        self.table = table
        self._format = str(session.real.conf.get("spark.sql.sources.default"))
        self._schema: Any = None
        self._options: dict[str, Any] = {}

    def format(self, source: str) -> StreamReader:
        """Choose what is read."""
        self._format = source
        return self

    def schema(self, schema: Any) -> StreamReader:
        """Declare the columns."""
        self._schema = schema
        return self

    def option(self, key: str, value: Any) -> StreamReader:
        """Set one option."""
        self._options[key] = value
        return self

    def options(self, **options: Any) -> StreamReader:
        """Set several options."""
        self._options |= options
        return self

    def __getattr__(self, name: str) -> Any:
        if name not in FILES:
            raise AttributeError(name)

        def read(path: str, schema: Any = None, **options: Any) -> DataFrame:
            given = {key: value for key, value in options.items() if value is not None}
            chosen = self.format(name).options(**given)
            return (chosen if schema is None else chosen.schema(schema)).load(path)

        return read

    def load(self, path: str | None = None, **options: Any) -> DataFrame:
        """Answer the new rows; raises `PondageError` for a source that has no files."""
        self.options(**options)
        place = path or self._options.get("path")
        if self._format not in FILES or place is None:
            raise PondageError(
                f"a stream of format {self._format} is not carried over",
                hint="write an Inlet for it: pondage.sources.kafka reads a topic in bulk",
                code="PIPELINE_STREAM",
            )
        reader = self._session.real.read.format(self._format).options(**self._batch_options())
        reader = reader if self._schema is None else reader.schema(self._schema)
        return self._session.new_files(f"{self._format}:{place}", reader, str(place))

    def _batch_options(self) -> dict[str, Any]:
        """Answer the options without those that only mean something to a stream."""
        only_streams = ("path", "maxfilespertrigger", "maxbytespertrigger", "latestfirst", "maxfileage", "cleansource")
        return {key: value for key, value in self._options.items() if key.casefold() not in only_streams}


def new_files(run: Run, key: str, reader: Any, path: str) -> DataFrame:
    """Answer the rows of the files under `path` that no published Run has read.

    Which files those are is decided once for a Run: whoever tries it again reads the same. When nothing is new the Pond
    ends as unchanged.
    """
    position = run.position(key)
    before = None if position is None else msgspec.convert(position, Seen)
    known = [] if before is None else [*before.before, *before.new]

    def decide() -> dict[str, list[str]]:
        found = sorted(set(reader.load(path).inputFiles()) - set(known))
        return {"new": found, "before": known}

    decided = msgspec.convert(run.read_to(key, decide), Seen)
    if not decided.new and before is not None:
        run.unchanged()
    frame: DataFrame = reader.load(decided.new) if decided.new else reader.load(path).limit(0)
    return frame
