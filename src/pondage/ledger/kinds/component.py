"""Components of jobs: one, or the members of a fused group. The machine of their run is told how they ended."""

from __future__ import annotations

import msgspec

from pondage.kernel.control.events import Settled
from pondage.ledger.data import run_tables
from pondage.ledger.data.run_tables import RunTable, digest_of
from pondage.ledger.database.driver import Transaction
from pondage.ledger.kinds.kind import Dispatched, Ending, Kind, Work
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue.claims import Claim
from pondage.ledger.queue.executions import Outcome
from pondage.ledger.step.job_inputs import component_inputs, component_task
from pondage.ledger.tables import job_runs
from pondage.work.component import ComponentResult, ComponentTask, MemberResult
from pondage.work.failure import Failure


class ComponentEnded(Ending, frozen=True):
    """The components of an execution ended, each well or not. Only what succeeded hands its tables on."""

    result: ComponentResult

    @property
    def outcome(self) -> Outcome:
        """Answer whether all of them succeeded."""
        return "ok" if self._failed is None else "failed"

    @property
    def error(self) -> str | None:
        """Answer why the first one failed."""
        failed = self._failed
        if failed is None:
            return None
        failure = Failure(code=failed.code, message=failed.raises or "", place=failed.instance, trace=failed.trace)
        return msgspec.json.encode(failure).decode()

    @property
    def is_failure(self) -> bool:
        """Answer whether one of them raised."""
        return any(member.raises is not None for member in self.result.members)

    @property
    def keeps_files(self) -> bool:
        """Answer whether nobody raised."""
        return not self.is_failure

    @property
    def lacked_memory(self) -> str | None:
        """Answer what a member said that ran out of memory."""
        return next((member.raises for member in self.result.members if member.code == "OUT_OF_MEMORY"), None)

    def write(self, tx: Transaction, ledger: Ledger, work: Work) -> Settled:
        """Write the tables, and answer how the machine must go on."""
        failed = self._failed
        if failed is None:
            self._write_tables(tx, ledger, work)
        last = self.result.members[-1]
        if failed is not None and failed.instance != last.instance:
            return Settled(
                instance=work.claim.node,
                attempt=work.claim.number,
                raises=failed.raises,
                code=failed.code,
                member=failed.instance,
                is_cut=self._is_cut,
            )
        return Settled(
            instance=work.claim.node,
            attempt=work.claim.number,
            raises=last.raises,
            code=last.code,
            writes=last.globals,
            deletes=last.deletes,
            after=last.after,
            items=last.items,
            is_cut=self._is_cut,
        )

    @property
    def _is_cut(self) -> bool:
        return any(member.is_cut for member in self.result.members)

    @property
    def _failed(self) -> MemberResult | None:
        """Answer the member that failed: it raised, or it is an inner one of a group and wrote what it may not."""
        for member in self.result.members:
            if member.raises is not None:
                return member
            written = sorted({*member.after, *member.globals, *member.deletes})
            if written and member is not self.result.members[-1]:
                code = "UNDECLARED_WRITE"
                return msgspec.structs.replace(member, raises=f"{code}: {', '.join(written)}", code=code)
        return None

    def _write_tables(self, tx: Transaction, ledger: Ledger, work: Work) -> None:
        assert work.claim.actor is not None
        run = job_runs.of_actor(tx, work.claim.actor)
        version = ledger.job(tx, run.definition)
        for member, given in zip(self.result.members, component_inputs(work.claim.inputs).members, strict=True):
            for port, content in member.outputs.items():
                table = RunTable(
                    instance=given.instance,
                    component=given.component,
                    port=port,
                    execution=work.claim.execution,
                    content=content,
                    digest=digest_of(content),
                    kept_us=version.kept_us(given.component, port),
                )
                run_tables.insert(tx, run.id, table)


class ComponentKind(Kind):
    """Components, whose end is `ComponentEnded`."""

    name = "component"

    def load(self, tx: Transaction, ledger: Ledger, claim: Claim) -> ComponentTask:
        """Answer parameters, tables, elements, globals and context."""
        return component_task(tx, ledger, claim)

    def failed(self, tx: Transaction, dispatched: Dispatched, failure: Failure) -> Settled:
        """Answer that the component raised."""
        return Settled(instance=dispatched.node, attempt=dispatched.number, raises=failure.message, code=failure.code)

    def left(self, dispatched: Dispatched) -> Settled:
        """Answer that nobody executes it any more: its run was killed."""
        return Settled(instance=dispatched.node, attempt=dispatched.number, is_left=True)
