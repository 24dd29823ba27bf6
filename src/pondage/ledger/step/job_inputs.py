"""What a dispatch of components says about its work, and how a claim turns that into the worker's task."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

import msgspec

import pondage
from pondage.define.job.component import ComponentDefinition
from pondage.define.types.port import PANIC_PORT, declared_port
from pondage.kernel.control import State
from pondage.kernel.control.effects import Source
from pondage.kernel.control.names import readable
from pondage.kernel.control.reading import values_of
from pondage.kernel.control.shape import PlanComponent
from pondage.kernel.control.state import ElementsRow, LevelRow, RunRow
from pondage.ledger.data import run_tables, segments
from pondage.ledger.data.segments import Stream
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue.claims import Claim
from pondage.ledger.step import job_ripples, panics
from pondage.ledger.step.job_ripples import Body
from pondage.ledger.tables import job_runs
from pondage.ledger.tables.job_plans import JobVersion
from pondage.ledger.tables.job_runs import JobRunRow, RunRows
from pondage.work.component import (
    ComponentTask,
    Given,
    Input,
    Made,
    Member,
    Panicked,
    Program,
    Publication,
    Stored,
    Streamed,
)

_NUMBERS = re.compile(r"\[#(\d+)\]")


class MemberInputs(msgspec.Struct, frozen=True, omit_defaults=True):
    """One component of the work, and where each of its inputs comes from."""

    instance: str
    component: str
    inputs: dict[str, tuple[Source, ...]] = {}


class ComponentInputs(msgspec.Struct, frozen=True, kw_only=True):
    """The work of one component, or of the members of a fused group; `view` is the row of globals that it sees."""

    members: tuple[MemberInputs, ...]
    view: str = ""


def follows(definition: ComponentDefinition, port: str) -> bool:
    """Does an input read its stream segment by segment, as it comes?"""
    declared = declared_port(definition.inputs, port)
    if definition.mode != "stream" or declared is None:
        return False
    return definition.is_external or declared.type.startswith("Stream")


def program_of(definition: ComponentDefinition, code: str, gives: Mapping[str, str]) -> Program:
    """Answer an external program; its hash names its mailbox, which a deploy of other files leaves as it is.

    `gives` is what its outputs are in this run.
    """
    manifest = msgspec.json.encode(
        [pondage.__version__, definition.digest or code, msgspec.structs.replace(definition, archive="")]
    )
    return Program(
        hash=hashlib.sha256(manifest).hexdigest(),
        command=definition.command,
        transport=definition.transport,
        inputs={name: port.type for name, port in definition.inputs.items()},
        accepts={name: port.accept for name, port in definition.inputs.items() if port.accept != "exact"},
        outputs={name: port.type for name, port in definition.outputs.items()} | dict(gives),
        vars=definition.vars,
    )


component_inputs = msgspec.json.Decoder(ComponentInputs).decode


def component_task(tx: Transaction, ledger: Ledger, claim: Claim) -> ComponentTask:
    """Answer everything that a worker needs: parameters, tables, elements, globals and context."""
    assert claim.actor is not None
    run = job_runs.of_actor(tx, claim.actor)
    return _Resolution(tx, ledger.job(tx, run.definition), run, job_ripples.body_of(tx, ledger, run)).task(claim)


class _Resolution:
    def __init__(self, tx: Transaction, version: JobVersion, run: JobRunRow, body: Body | None) -> None:
        self._tx = tx
        self._version = version
        self._run = run
        self._body = body
        self._rows = RunRows(tx, run.actor)

    def task(self, claim: Claim) -> ComponentTask:
        given = component_inputs(claim.inputs)
        state = self._rows.get("run", "")
        assert isinstance(state, RunRow)
        last = self._version.shapes[given.members[-1].component]
        return ComponentTask(
            job=self._run.job,
            run_id=self._run.public_id,
            attempt=claim.number,
            run=self._run.id,
            members=tuple(self._member(member, given) for member in given.members),
            globals=self._globals(given.view, last),
            context=state.context,
            idempotency_key=self._idempotency_key(claim, given, state),
            is_stopping=claim.is_stopped,
        )

    def _member(self, member: MemberInputs, given: ComponentInputs) -> Member:
        shape = self._version.shapes[member.component]
        definition = self._version.definition(shape)
        inner = {one.instance for one in given.members}
        writes = self._version.writes(shape, is_fused=len(inner) > 1)
        return Member(
            instance=member.instance,
            component=definition.name,
            entry=definition.entry,
            mode=definition.mode,
            params=shape.params,
            inputs={
                port: tuple(
                    found
                    for source in sources
                    for found in self._inputs(source, inner, (shape.name, port), is_followed=follows(definition, port))
                )
                for port, sources in member.inputs.items()
                # What only the body of an iterator reads is none of its own inputs.
                if declared_port(definition.inputs, port) is not None
            }
            | self._pinned(shape.name),
            writes=writes,
            gives=shape.gives,
            program=program_of(definition, self._version.code(shape), shape.gives) if definition.is_external else None,
            publishes=self._publishes(shape.name),
        )

    def _pinned(self, component: str) -> dict[str, tuple[Input, ...]]:
        """Answer what the Ripple whose body this is hands to a component: a Source without data gives nothing."""
        found: dict[str, tuple[Input, ...]] = {}
        for exposed, (name, port) in self._version.stored.plan.inputs.items():
            if self._body is not None and name == component:
                content = self._body.inputs[exposed]
                found[port] = (*found.get(port, ()), *(() if content is None else (Stored(content),)))
        return found

    def _publishes(self, component: str) -> dict[str, Publication]:
        if self._body is None:
            return {}
        name, port = self._version.stored.plan.outputs[job_ripples.MAIN]
        return {port: self._body.publication} if name == component else {}

    def _inputs(self, source: Source, inner: set[str], target: tuple[str, str], *, is_followed: bool) -> list[Input]:
        if source.element:
            return [Given(self._element(source))]
        if source.gathers:
            return self._gathered(source)
        if source.port == PANIC_PORT:
            return [Panicked(panics.of_instance(self._tx, self._run, source.instance))]
        if source.instance in inner:
            return [Made(source.instance, source.port)]
        if is_followed:
            return [Streamed(source.instance, source.port)]
        if self._version.definition(self._version.shape_of(source.instance)).mode == "stream":
            entries = segments.read(self._tx, Stream(self._run.id, source.instance, source.port))
            data = self._version.edge(source, *target)
            found = tuple(one for one in entries if not one.is_eos)
            return [Streamed(source.instance, source.port, found, "" if data is None else data.type)]
        table = run_tables.find(self._tx, self._run.id, source.instance, source.port)
        return [] if table is None else [Stored(table.content)]

    def _element(self, source: Source) -> object:
        row = self._rows.get("elements", source.instance)
        return row.items[source.element - 1] if isinstance(row, ElementsRow) else {"iteration": source.element}

    def _gathered(self, source: Source) -> list[Input]:
        """Answer one table for each iteration that ended OK: a failed one leaves nothing behind (R-162)."""
        port = source.port.removeprefix(f"{source.gathers}.")
        outer = _numbers(source.instance)
        levels = job_runs.machine_rows(self._tx, self._run.actor, "level")
        found = []
        for component, written in self._version.producers(source.gathers, port):
            for table in run_tables.gathered(self._tx, self._run.id, component, written):
                numbers = _numbers(table.instance)
                level = levels.get(f"{source.instance}#{numbers[len(outer)]}")
                if numbers[: len(outer)] == outer and isinstance(level, LevelRow) and level.verdict is not State.ERROR:
                    found.append((numbers, table.content))
        return [Stored(content) for _, content in sorted(found, key=lambda one: one[0])]

    def _globals(self, view: str, shape: PlanComponent) -> dict[str, object]:
        values = values_of(view, self._rows.get)
        return readable(values, shape, self._version.siblings(shape))

    def _idempotency_key(self, claim: Claim, given: ComponentInputs, state: RunRow) -> str:
        """Answer a key that retries, crashes and resumes of the same work share, and no other work has."""
        shape = self._version.shapes[given.members[-1].component]
        place = [claim.environment, self._run.job, state.context.get("run_id"), claim.node, shape.digest]
        return hashlib.sha256(msgspec.json.encode(place)).hexdigest()


def _numbers(instance: str) -> tuple[int, ...]:
    return tuple(int(found) for found in _NUMBERS.findall(instance))
