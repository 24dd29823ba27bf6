"""What a pipeline's files declare, collected by a registry of our own. No flow is run here."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from pyspark.pipelines.flow import AutoCdcFlow, Flow
from pyspark.pipelines.graph_element_registry import GraphElementRegistry, graph_element_registration_context
from pyspark.pipelines.output import MaterializedView, Output, Sink, StreamingTable, Table, TemporaryView
from pyspark.sql import DataFrame, SparkSession
from sqlglot.dialects.spark import Spark

from pondage.connect.sdp.files import Specification
from pondage.connect.sdp.session import PipelineSession
from pondage.errors import PondageError


class Declared(msgspec.Struct, kw_only=True):
    """A dataset of the pipeline: its kind, the functions that make it (flows), and what was said beside."""

    name: str
    kind: str
    place: str
    comment: str = ""
    schema: Any = None
    flows: list[Callable[[], DataFrame]] = []
    ignored: tuple[str, ...] = ()


class Registry(GraphElementRegistry):
    """Collects declarations. Methods that a later Spark adds to the base class are refused with a name, not guessed."""

    def __init__(self, session: PipelineSession, root: Path) -> None:
        self._session = session
        self._root = root
        self.datasets: dict[str, Declared] = {}
        self.refused: dict[str, str] = {}

    def register_output(self, output: Output) -> None:
        """Note a table, a view or a sink."""
        kind = _KINDS.get(type(output))
        if kind is None:
            what = "a sink" if isinstance(output, Sink) else type(output).__name__
            self.refused[output.name] = f"{what} is not carried over: let a Ripple write there, or publish a table"
            return
        known = self.datasets.setdefault(output.name, Declared(name=output.name, kind=kind, place="", flows=[]))
        location = output.source_code_location
        known.kind, known.place = kind, f"{self._relative(location.filename)}:{location.line_number}"
        known.comment = output.comment or ""
        if isinstance(output, Table):
            known.schema = output.schema
            given = {
                "format": output.format,
                "partition_cols": output.partition_cols,
                "cluster_by": output.cluster_by,
                "table_properties": dict(output.table_properties or {}),
            }
            known.ignored = tuple(name for name, value in given.items() if value)

    def register_flow(self, flow: Flow) -> None:
        """Note a function that makes a dataset, or a part of one."""
        found = self.datasets.setdefault(flow.target, Declared(name=flow.target, kind="table", place="", flows=[]))
        found.flows.append(flow.func)

    def register_auto_cdc_flow(self, flow: AutoCdcFlow) -> None:
        """Refuse change data capture, by name."""
        self.refused[flow.target] = "an automatic CDC flow is not carried over: write a Pond with mode='merge'"

    def register_sql(self, sql_text: str, file_path: Path) -> None:
        """Note what the statements of an SQL file declare."""
        for text, line in statements(sql_text):
            self._register_statement(text, f"{file_path.as_posix()}:{line}")

    def load(self, specification: Specification) -> None:
        """Import the Python files and read the SQL files, as Spark does."""
        with graph_element_registration_context(self), self._session.as_active():
            for file in specification.files:
                if file.suffix == ".sql":
                    self.register_sql(file.read_text(encoding="utf-8"), file.relative_to(specification.root))
                    continue
                spec = importlib.util.spec_from_file_location(file.stem, file)
                assert spec is not None, f"{file} is a Python file"
                assert spec.loader is not None, f"{file} is a Python file"
                module = importlib.util.module_from_spec(spec)
                module.__dict__["spark"] = self._session
                spec.loader.exec_module(module)

    def _register_statement(self, text: str, place: str) -> None:
        plan = self._session.parsed(text)
        kind = str(plan.getClass().getSimpleName())
        match kind:
            case "CreateMaterializedViewAsSelect" | "CreateStreamingTableAsSelect":
                name = ".".join(_parts(plan.name().nameParts()))
                declared = self._declared(name, "view" if "View" in kind else "stream", place)
                declared.flows.append(self._query(str(plan.originalText())))
            case "CreateStreamingTable":
                self._declared(".".join(_parts(plan.name().nameParts())), "stream", place)
            case "CreateViewCommand":
                name = str(plan.name().table())
                self._declared(name, "temporary", place).flows.append(self._query(str(plan.originalText().get())))
            case "CreateFlowCommand":
                into = plan.flowOperation()
                if str(into.getClass().getSimpleName()) != "InsertIntoStatement":
                    self.refused[place] = f"a flow of kind {into.getClass().getSimpleName()} is not carried over"
                    return
                target = ".".join(_parts(into.table().multipartIdentifier()))
                found = self.datasets.setdefault(target, Declared(name=target, kind="stream", place=place, flows=[]))
                found.flows.append(self._query(_query_text(text)))
            case _:
                self.refused[place] = f"the statement {kind} is not carried over"

    def _declared(self, name: str, kind: str, place: str) -> Declared:
        found = self.datasets.setdefault(name, Declared(name=name, kind=kind, place=place, flows=[]))
        found.kind, found.place = kind, place
        return found

    def _query(self, text: str) -> Callable[[], DataFrame]:
        return lambda: self._session.sql(text)

    def _relative(self, filename: str) -> str:
        path = Path(filename)
        return path.relative_to(self._root).as_posix() if path.is_relative_to(self._root) else path.name


_KINDS: dict[type[Output], str] = {MaterializedView: "view", StreamingTable: "stream", TemporaryView: "temporary"}


def loaded(specification: Specification, session: SparkSession) -> tuple[Registry, PipelineSession]:
    """Answer everything that the files of a pipeline declare."""
    proxy = PipelineSession(session)
    registry = Registry(proxy, specification.root.resolve())
    registry.load(specification)
    proxy.datasets = registry.datasets
    return registry, proxy


def statements(text: str) -> list[tuple[str, int]]:
    """Answer the statements of an SQL file, without the semicolons, each with the line that it begins at."""
    found = []
    start, line = None, 0
    end = 0
    for token in Spark().tokenize(text):
        if token.token_type.name == "SEMICOLON":
            if start is not None:
                found.append((text[start : token.start].strip(), line))
            start = None
            continue
        if start is None:
            start, line = token.start, token.line
        end = token.end + 1
    if start is not None:
        found.append((text[start:end].strip(), line))
    return found


def _query_text(flow: str) -> str:
    """Answer the query of `CREATE FLOW f AS INSERT INTO t [BY NAME] SELECT …`."""
    tokens = Spark().tokenize(flow)
    words = [token.text.upper() for token in tokens]
    at = words.index("INTO") + 1
    while at < len(words) and words[at] not in ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "("):
        at += 1
    if at == len(words):
        raise PondageError(f"cannot find the query in: {flow}", code="BAD_PIPELINE")
    return flow[tokens[at].start :]


def _parts(sequence: Any) -> list[str]:
    return [str(sequence.apply(place)) for place in range(sequence.size())]
