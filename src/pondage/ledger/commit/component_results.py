"""The guarded commit of components: the tables they wrote, and what their run's machine is told."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pondage.kernel.control.events import Settled
from pondage.ledger.commit.work import Failure, Work, commit, never
from pondage.ledger.data import run_tables
from pondage.ledger.data.run_tables import RunTable, digest_of
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.step.job_inputs import ComponentInputs, component_inputs
from pondage.ledger.tables import job_runs
from pondage.work.component import ComponentResult, MemberResult


def commit_component(
    ledger: Ledger, work: Work, result: ComponentResult, *, process: int, give_up: Callable[[], bool] = never
) -> bool:
    """Settle the components of an execution: tables, report and inline advancement in one transaction.

    Only what succeeded hands its tables on. False means fenced: the files must be thrown away and nobody told.
    """
    inputs = component_inputs(work.claim.inputs)
    failed = _failed(result)
    event = _settled(work, result, failed)
    error = None
    if failed is not None:
        failure = Failure(code=failed.code, message=failed.raises or "", place=failed.instance, trace=failed.trace)
        error = msgspec.json.encode(failure).decode()

    def record(tx: Transaction) -> Settled:
        assert work.claim.actor is not None
        if failed is None:
            _write_tables(tx, ledger, work, inputs, result)
        return event

    return commit(
        ledger, work, "ok" if failed is None else "failed", record, process=process, give_up=give_up, error=error
    )


def _failed(result: ComponentResult) -> MemberResult | None:
    """Answer the member that failed: it raised, or it is an inner one of a group and wrote what it may not."""
    for member in result.members:
        if member.raises is not None:
            return member
        written = sorted({*member.after, *member.globals, *member.deletes})
        if written and member is not result.members[-1]:
            code = "UNDECLARED_WRITE"
            return msgspec.structs.replace(member, raises=f"{code}: {', '.join(written)}", code=code)
    return None


def _settled(work: Work, result: ComponentResult, failed: MemberResult | None) -> Settled:
    last = result.members[-1]
    if failed is not None and failed.instance != last.instance:
        return Settled(
            instance=work.claim.node,
            attempt=work.claim.number,
            raises=failed.raises,
            code=failed.code,
            member=failed.instance,
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
    )


def _write_tables(
    tx: Transaction, ledger: Ledger, work: Work, inputs: ComponentInputs, result: ComponentResult
) -> None:
    assert work.claim.actor is not None
    run = job_runs.of_actor(tx, work.claim.actor)
    version = ledger.job(tx, run.definition)
    for member, given in zip(result.members, inputs.members, strict=True):
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
