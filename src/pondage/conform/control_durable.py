"""The durable host of control scenarios: the shipped ledger on a real SQLite file, a fake clock, fake workers.

Runs, signals, claims with tokens, guarded commits and advancements are the real transactions. Only time and Spark are
played: the clock is set, and what a component wrote is made up. The reports of one instant are committed first and the
run advanced once. Retries are not delayed, as the scenarios say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from pondage.conform.durable import MakeDriver, WorkedPlace
from pondage.define.job.component import ComponentDefinition
from pondage.define.project.durability import Durability
from pondage.define.types.port import Port
from pondage.kernel.control import Effect, Event, JobPlan, JobState, State
from pondage.kernel.control.events import Settled, Start
from pondage.kernel.control.reading import components_of, result_values
from pondage.kernel.control.state import RunRow
from pondage.ledger.act import jobs
from pondage.ledger.commit import guarded
from pondage.ledger.database.driver import Driver
from pondage.ledger.database.ids import SeededIds
from pondage.ledger.kinds.component import ComponentEnded
from pondage.ledger.kinds.kind import Work
from pondage.ledger.ledger import Ledger
from pondage.ledger.step import advance
from pondage.ledger.step.actor import put_event
from pondage.ledger.tables import job_runs
from pondage.ledger.tables.job_plans import StoredJob, stored_job
from pondage.ledger.tables.job_runs import RunRows
from pondage.plan.job.stored_job import shapes_of
from pondage.work.component import ComponentResult, ComponentTask, Member, MemberResult
from pondage.work.snapshot import SnapshotContent

_ENVIRONMENT = "conformance"
_SCHEMA = '{"type":"struct","fields":[]}'

_effects = msgspec.json.Decoder(tuple[Effect, ...])


class LedgerControlHost(WorkedPlace[Ledger]):
    """Runs of one scenario's job on a ledger of its own, in a temporary directory."""

    def __init__(self, make_driver: MakeDriver | None = None) -> None:
        super().__init__(_make_ledger, make_driver)
        self._held: dict[tuple[str, int], Work] = {}
        self._run = ""

    def start(self, plan: JobPlan, start: Start, now: int) -> Sequence[Effect]:
        """Begin a run, as `pondage job run` does."""
        self._clock.time = now
        self._run = self._begin(plan, start)
        return self._advance()

    def _begin(self, plan: JobPlan, start: Start) -> str:
        return jobs.start_job(self._ledger, _ENVIRONMENT, _stored(plan), context=start.context, start=start)

    def resume(self, plan: JobPlan, start: Start, now: int) -> Sequence[Effect]:
        """Begin a new run with what the last one finished, as `pondage job resume` does."""
        self._clock.time = now
        self._held.clear()
        self._run = self._resume(plan, start)
        return self._advance()

    def _resume(self, plan: JobPlan, start: Start) -> str:
        return jobs.resume(self._ledger, _ENVIRONMENT, self._run, job=_stored(plan), is_edited=True, start=start)

    def settle(self, now: int, events: Sequence[Event]) -> Sequence[Effect]:
        """Commit the reports, write other events as signals, advance the run once, claim what became claimable."""
        self._clock.time = now
        for event in events:
            if isinstance(event, Settled):
                self._commit(event)
            else:
                self._write(event)
        return self._advance()

    def states(self) -> Mapping[str, State]:
        """Give the stored states."""
        with self._ledger.reading() as tx:
            run = jobs.find(tx, _ENVIRONMENT, self._run)
            levels, components = (job_runs.machine_rows(tx, run.actor, table) for table in ("level", "component"))
            index = self._ledger.job(tx, run.definition).index
        return {name: row.state for name, row in components_of(index, levels, components)}

    def globals(self) -> Mapping[str, object]:
        """Give the stored values of the run's result."""
        with self._ledger.reading() as tx:
            return result_values(RunRows(tx, jobs.find(tx, _ENVIRONMENT, self._run).actor).get)

    def result(self) -> tuple[JobState, str | None]:
        """Give the state and code of the run."""
        with self._ledger.reading() as tx:
            run = jobs.find(tx, _ENVIRONMENT, self._run)
            row = RunRows(tx, run.actor).get("run", "")
        assert isinstance(row, RunRow)
        assert (row.state or JobState.RUNNING).value == run.state, "the run's row and its machine disagree"
        return JobState(run.state), run.code

    def _commit(self, event: Settled) -> None:
        held = self._held.pop((event.instance, event.attempt), None)
        if held is None:
            return
        members = held.given(ComponentTask).members
        result = ComponentResult(members=tuple(_member(held, member, event) for member in members))
        guarded.commit(self._ledger, held, ComponentEnded(result), process=self._process)

    def _write(self, event: Event) -> None:
        with self._ledger.transaction() as tx:
            put_event(tx, actor=jobs.find(tx, _ENVIRONMENT, self._run).actor, event=event)

    def _advance(self) -> list[Effect]:
        self._step()
        effects = self._decided()
        self._claim()
        return effects

    def _step(self) -> None:
        while advance.advance_due(self._ledger, process=self._process):
            pass

    def _decided(self) -> list[Effect]:
        return [effect for effects in self._decided_steps() for effect in _effects.decode(effects)]

    def _claim(self) -> None:
        for held in self._claimed(code=""):
            self._held[held.claim.node, held.claim.number] = held


def _make_ledger(driver: Driver) -> Ledger:
    return Ledger(driver, ids=SeededIds(1), durability=Durability(retry_delay_s=0), is_advancing=False)


def _stored(plan: JobPlan) -> StoredJob:
    """Store a scenario's plan with components that are nothing but their names and ports."""
    registry: dict[str, ComponentDefinition] = {}
    for shape in shapes_of(plan):
        known = registry.get(shape.type, ComponentDefinition(name=shape.type))
        inputs = {**known.inputs, **{port.name: Port() for port in shape.ports if "." not in port.name}}
        registry[shape.type] = msgspec.structs.replace(known, inputs=inputs)
    return stored_job(plan, registry)


def _member(held: Work, member: Member, event: Settled) -> MemberResult:
    """Make up what one member answered. The event tells of the last one, or of the inner one that failed."""
    if member.instance != (event.member or event.instance):
        return MemberResult(instance=member.instance, outputs=_outputs(held, member))
    return MemberResult(
        instance=member.instance,
        raises=event.raises,
        code=event.code,
        outputs={} if event.raises is not None else _outputs(held, member),
        after=event.after,
        globals=event.writes,
        deletes=event.deletes,
        items=event.items,
    )


def _outputs(held: Work, member: Member) -> dict[str, SnapshotContent]:
    return {
        port: SnapshotContent(path=f"{held.claim.token}/{port}", files=(), schema=_SCHEMA, rows=0, bytes=0)
        for port in member.writes
    }
