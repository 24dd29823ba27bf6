"""A flow in one process: the shape of it in virtual time without Spark, or the whole of it on a ledger of its own.

The same planner, machine, ledger, worker and programs as in earnest; only what a test gives stands for nodes.
"""

from __future__ import annotations

import importlib
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from pondage.connect.extraction import extracted, extracted_rows
from pondage.define.job.component import ComponentDefinition, Registry, Schema
from pondage.define.job.flow import FlowFacts, Tree, TreeEdge, TreeNode
from pondage.engine.execute.spark_executor import SparkExecutor
from pondage.engine.process.code import DeployedCode
from pondage.engine.process.config import EngineConfig, WorkerConfig
from pondage.engine.worker.process import Worker
from pondage.errors import PondageError
from pondage.kernel.control.events import Start
from pondage.ledger.act import extracts, jobs
from pondage.ledger.ledger import Ledger
from pondage.ledger.step import advance
from pondage.plan.flow.planner import PlannedFlow, plan_flow
from pondage.plan.job.stored_job import StoredJob, stored_job
from pondage.simulate.control_drive import Ending, play
from pondage.simulate.control_virtual import VirtualControlHost
from pondage.spark.session.driver import SparkDriver
from pondage.views.jobs.flows import FlowDetail, flow_run
from pondage.work.component import Panic

LOOK_S = 0.05
MOST_SLOTS = 32
FAILING = ComponentDefinition(name="fixture_failure", entry="pondage.components.constants:fixture_failure")
Fixture = Mapping[str, object] | BaseException
"""What stands for a node: the rows (or the value) of each of its outputs, or how it fails."""


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What a tree may name: programs with their functions, types, locations, secrets."""

    registry: Registry
    schemas: Mapping[str, Schema] = {}
    functions: Mapping[str, Callable[..., object]] = {}
    """By their entry; others are imported."""
    types: Mapping[str, Any] = {}
    locations: Mapping[str, str] = {}
    secrets: Mapping[str, dict[str, str]] = {}
    root: Path | None = None

    def plan(self, tree: Tree) -> PlannedFlow:
        """Plan a tree; raises FlowRefused."""
        return plan_flow(
            tree, self.registry, schemas=self.schemas, types=self.types, locations=self.locations,
            secrets=self.secrets, name="simulated",
        )  # fmt: skip


class Simulated(msgspec.Struct, frozen=True, kw_only=True):
    """How a flow went. Without Spark there are no rows, no extracts and no panics, only what the machine decided."""

    state: str
    code: str | None
    states: dict[str, str]
    causes: dict[str, str]
    timeline: tuple[str, ...] = ()
    panics: tuple[Panic, ...] = ()
    rows: dict[str, list[dict[str, Any]]] = {}
    """Of each extract that is there: its rows as Python has them."""
    extracts: dict[str, bytes] = {}


def shape_of(planned: PlannedFlow, fixtures: Mapping[str, Fixture]) -> Simulated:
    """Play a planned tree in virtual time: every node takes a second and ends well, unless a fixture fails."""

    def behave(instance: str, _attempt: int) -> Ending:
        fixture = fixtures.get(instance)
        if isinstance(fixture, BaseException):
            return Ending(raises=str(fixture), code=_code_of(fixture))
        return Ending()

    host = VirtualControlHost()
    played = play(host, planned.plan, behave, start=Start(second=1))
    lines = tuple(line for _, found in played.timeline for line in found)
    states = {name: state.value for name, state in host.states().items()}
    return Simulated(state=played.state.value, code=played.code, states=states, causes={}, timeline=lines)


def run_flow(
    tree: Tree, fixtures: Mapping[str, Fixture], known: Known, driver: SparkDriver, *, timeout_s: float
) -> Simulated:
    """Run a tree to its end on a ledger in a temporary directory; raises when it takes too long."""
    given = with_rows(tree, known.plan(tree), fixtures)
    planned = known.plan(given)
    stored = _failing(stored_job(planned.plan, known.registry, flow=planned.facts), fixtures)
    with tempfile.TemporaryDirectory(prefix="pondage-flow-") as directory:
        place = Path(directory)
        ledger = Ledger.open(str(place / "ledger.db"))
        try:
            worker = _worker(ledger, place, known, driver, stored)
            thread = threading.Thread(target=worker.run, name="simulated worker", daemon=True)
            thread.start()
            try:
                view = _ended(ledger, jobs.start_job(ledger, "main", stored), timeout_s)
            finally:
                worker.drain()
                worker.drain()
                thread.join()
            return _simulated(ledger, view, planned.facts)
        finally:
            ledger.close()


def with_rows(tree: Tree, planned: PlannedFlow, fixtures: Mapping[str, Fixture]) -> Tree:
    """Answer a tree in which constants of the right types stand for the nodes that fixtures give rows for."""
    unknown = sorted(set(fixtures) - set(tree.nodes))
    if unknown:
        raise PondageError(f"the tree has no node {unknown[0]!r}", code="BAD_FIXTURE")
    types = {one.source: one.type for one in planned.edges}
    types |= {f"{one.node}.{one.port}": planned.extract_types[name] for name, one in planned.extracts.items()}
    moved: dict[tuple[str, str], str] = {}
    nodes = dict(tree.nodes)
    for name, fixture in fixtures.items():
        if isinstance(fixture, BaseException):
            continue
        del nodes[name]
        for number, (port, value) in enumerate(fixture.items()):
            if f"{name}.{port}" not in types:
                raise PondageError(f"nobody reads {name}.{port}", code="BAD_FIXTURE")
            # The first keeps the name, for states that a test asks for.
            moved[name, port] = title = name if number == 0 else f"{name}_{port}"
            nodes[title] = TreeNode(const={"type": types[f"{name}.{port}"], **_constant(value)})
    edges = [_moved(edge, moved) for edge in tree.edges if edge.target in nodes and edge.target not in _given(fixtures)]
    found = {
        title: msgspec.structs.replace(one, node=moved[one.node, one.port], port="out")
        if (one.node, one.port) in moved
        else one
        for title, one in tree.extracts.items()
    }
    return msgspec.structs.replace(tree, nodes=nodes, edges=tuple(edges), extracts=found)


def _given(fixtures: Mapping[str, Fixture]) -> set[str]:
    return {name for name, fixture in fixtures.items() if not isinstance(fixture, BaseException)}


def _constant(value: object) -> dict[str, object]:
    import base64

    return {"bytes": base64.b64encode(value).decode()} if isinstance(value, bytes) else {"value": value}


def _moved(edge: TreeEdge, moved: Mapping[tuple[str, str], str]) -> TreeEdge:
    title = moved.get((edge.source, edge.source_port))
    return edge if title is None else msgspec.structs.replace(edge, source=title, source_port="out")


def _failing(stored: StoredJob, fixtures: Mapping[str, Fixture]) -> StoredJob:
    """Let the nodes fail whose fixtures are errors."""
    components = tuple(
        msgspec.structs.replace(one, type=FAILING.name, params={"message": str(fixture), "code": _code_of(fixture)})
        if isinstance(fixture := fixtures.get(one.name), BaseException)
        else one
        for one in stored.plan.components
    )
    plan = msgspec.structs.replace(stored.plan, components=components)
    return msgspec.structs.replace(stored, plan=plan, components={**stored.components, FAILING.name: FAILING})


def _code_of(error: BaseException) -> str:
    return error.code if isinstance(error, PondageError) else type(error).__name__


class CodeUnderTest(DeployedCode):
    """The modules as the test has them: nothing is deployed."""

    def __init__(self, ledger: Ledger, known: Known) -> None:
        super().__init__(ledger, "", known.root or Path())
        self._functions = known.functions
        self._root = known.root

    def place(self) -> Path:
        """Answer where the project is, if the test has one."""
        return self._root or Path()

    def component(self, entry: str) -> Callable[..., object]:
        """Answer the function that a test gave, or import it."""
        if entry in self._functions:
            return self._functions[entry]
        module, _, name = entry.partition(":")
        found: Callable[..., object] = getattr(importlib.import_module(module), name)
        return found


def _worker(ledger: Ledger, place: Path, known: Known, driver: SparkDriver, stored: StoredJob) -> Worker:
    labels = {label for one in stored.components.values() for label in one.resources.labels}
    engine = EngineConfig(
        project="simulated",
        root=str(known.root or place),
        ledger=f"sqlite:///{place / 'ledger.db'}",
        warehouse=str(place / "warehouse"),
        state_directory=str(place),
        slots=min(MOST_SLOTS, max(2, len(stored.plan.components))),
        labels=tuple(sorted(labels)),
        secrets=dict(known.secrets),
    )
    config = WorkerConfig(engine=engine, public_id="p-simulated", code="", parent=0)
    executor = SparkExecutor(config, ledger, driver=driver, code=CodeUnderTest(ledger, known), is_owner=False)
    return Worker(config, ledger, executor)


def _ended(ledger: Ledger, run: str, timeout_s: float) -> FlowDetail:
    deadline_s = time.monotonic() + timeout_s
    changes = ledger.driver.changes()
    try:
        while True:
            with ledger.reading() as tx:
                view = flow_run(tx, ledger, "main", run)
            if view.flow.run.ended_at is not None:
                return view
            if time.monotonic() >= deadline_s:
                waiting = [one.name for one in view.flow.components if one.state == "RUNNING"]
                raise PondageError(f"{', '.join(waiting)} did not end in {timeout_s:g} s", code="TIMEOUT")
            changes.wait(LOOK_S)
            advance.advance_due(ledger, process=None)
    finally:
        changes.close()


def _simulated(ledger: Ledger, view: FlowDetail, facts: FlowFacts) -> Simulated:
    rows, data = {}, {}
    for name in facts.extracts:
        with ledger.reading() as tx:
            one = extracts.find(tx, ledger, "main", view.flow.run.id, name)
        if any(found.name == name and found.state == "ready" for found in view.extracts):
            data[name] = b"".join(extracted(ledger, one))
            if facts.types[name].partition("<")[0] in ("Table", "Stream", "infer"):
                rows[name] = list(extracted_rows(ledger, one))
    return Simulated(
        state=view.flow.run.state,
        code=view.flow.run.code,
        states={one.name: one.state for one in view.flow.components},
        causes={one.name: one.cause for one in view.flow.components if one.cause},
        panics=view.panics,
        rows=rows,
        extracts=data,
    )
