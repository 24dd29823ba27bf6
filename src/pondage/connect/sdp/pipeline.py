"""A pipeline inside a Pondage project: its own files, unmodified, give the rows of Ponds."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from functools import cached_property, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pondage.connect.sdp.files import Specification, read_specification
from pondage.define.pond.run import Run
from pondage.errors import PondageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from pondage.connect.sdp.registry import Registry
    from pondage.connect.sdp.session import PipelineSession


class Pipeline:
    """The pipeline of a specification file: `Pipeline(__file__, "../spark-pipeline.yml")`."""

    def __init__(self, module: str, specification: str) -> None:
        """Name the file that declares the Ponds, and the specification relative to it. Nothing is read yet."""
        self._path = (Path(module).parent / specification).resolve()
        self._lock = threading.Lock()
        self._loaded: tuple[Registry, PipelineSession] | None = None

    @cached_property
    def specification(self) -> Specification:
        """Answer what the specification says; raises `ProjectError`."""
        return read_specification(self._path)

    @property
    def digest(self) -> str:
        """Answer what changes with any of the pipeline's files: a parameter of its Ponds, so that they run again."""
        return self.specification.digest

    def frame(
        self,
        name: str,
        spark: SparkSession,
        tables: Mapping[str, DataFrame | None] | None = None,
        changes: Mapping[str, DataFrame] | None = None,
        run: Run | None = None,
    ) -> DataFrame:
        """Answer the rows of a dataset, made of `tables`; those in `changes` are what is new where it reads a stream.

        `run` remembers which files of a directory were read, where the dataset reads one as a stream. Temporary views
        are made where they are used. Raises `PondageError` for a dataset that the pipeline lacks.
        """
        registry, session = self._registry(spark)
        given = {key: frame for key, frame in (tables or {}).items() if frame is not None}
        streamed = dict(changes or {})

        def resolve(table: str, is_stream: bool) -> DataFrame | None:
            known = known_dataset(table, registry.datasets)
            if known is None:
                return None
            if is_stream and known in streamed:
                return streamed[known]
            if known in given:
                return given[known]
            if registry.datasets[known].kind == "temporary":
                return make(known)
            raise PondageError(
                f"dataset {name} reads {table}, which this project does not give it",
                hint="run `pondage import-sdp` again: the pipeline has changed",
                code="PIPELINE_CHANGED",
            )

        def make(dataset: str) -> DataFrame:
            declared = registry.datasets[dataset]
            result = reduce(lambda left, right: left.unionByName(right), [flow() for flow in declared.flows])
            return result if declared.schema is None else result.to(_schema(declared.schema))

        def files(key: str, reader: Any, path: str) -> DataFrame:
            from pondage.connect.sdp.streams import new_files

            if run is None:
                raise PondageError(
                    f"dataset {name} reads new files of {path} and was given no run",
                    hint="run `pondage import-sdp` again: the pipeline has changed",
                    code="PIPELINE_CHANGED",
                )
            return new_files(run, key, reader, path)

        if name not in registry.datasets:
            raise PondageError(
                f"the pipeline has no dataset {name}", hint="run `pondage import-sdp` again", code="PIPELINE_CHANGED"
            )
        with session.bound(spark, resolve, files):
            return make(name)

    def _registry(self, spark: SparkSession) -> tuple[Registry, PipelineSession]:
        from pondage.connect.sdp.registry import loaded

        with self._lock:
            if self._loaded is None:
                self._loaded = loaded(self.specification, spark)
            return self._loaded


def known_dataset(table: str, datasets: Iterable[str]) -> str | None:
    """Answer the dataset that a name means: with or without the catalog and the database before it."""
    plain = table.replace("`", "")
    names = list(datasets)
    if plain in names:
        return plain
    ends = [each for each in names if plain.endswith(f".{each}") or each.endswith(f".{plain}")]
    return ends[0] if len(ends) == 1 else None


def _schema(declared: str | StructType) -> StructType:
    from pyspark.sql.types import StructType

    if not isinstance(declared, str):
        return declared
    parsed = StructType.fromDDL(declared)
    assert isinstance(parsed, StructType), "the text of a schema names columns"
    return parsed
