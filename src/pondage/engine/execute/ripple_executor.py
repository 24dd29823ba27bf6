"""Executions of Ripples: the author's function, after its Inlet's probe has said that there is something new."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import msgspec

from pondage.define.pond.run import Run, Secrets
from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.executor import Result, Same, Written
from pondage.engine.attempt.probe import Probe, probe_of
from pondage.engine.execute.growing_tables import Growing
from pondage.engine.execute.lineage import LineageKeeper
from pondage.engine.process.code import DeployedCode
from pondage.errors import PondageError
from pondage.ledger.commit import work as ledger_work
from pondage.ledger.commit.positions import Positions
from pondage.ledger.commit.work import RippleTask
from pondage.ledger.ledger import Ledger

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pondage.define.pond.run import Followed
    from pondage.spark.ripple.merge import Merge
    from pondage.spark.ripple.ripple import RippleWork


def execute(
    attempt: Attempt,
    task: RippleTask,
    *,
    ledger: Ledger,
    code: DeployedCode,
    secrets: Secrets,
    lineage: LineageKeeper,
    destination: str,
    opened: Callable[[], AbstractContextManager[SparkSession]],
) -> Result:
    """Run a Ripple and answer what it wrote.

    An Inlet's probe comes first. When it answers as it did for the last snapshot, nothing else is done; one that does
    not ask for `spark` does not even start it.
    """
    probe, answer = _probe(code, task), None
    if probe is not None and not probe.needs_spark:
        answer = probe.answer(_run(task, secrets))
        if answer == task.probe:
            return Same()
    with opened() as session:
        if probe is not None and answer is None:
            answer = probe.answer(_run(task, secrets), session)
            if answer == task.probe:
                return Same()

        def prepared(followed: Followed, merge: Merge | None) -> RippleWork:
            run = _run(task, secrets, followed, Positions(ledger, attempt.work))
            on_frame = lineage.watcher(attempt.work.claim.dispatch, task)
            return _work(code, task, run, destination=destination, merge=merge, on_frame=on_frame)

        result = Growing(session, ledger, attempt.work.claim, task).run(prepared)
    if result is not None:
        return Written(msgspec.structs.replace(result, probe=answer))
    if not ledger_work.has_snapshot(ledger, attempt.work):
        raise PondageError(
            f"{task.definition.name}.{task.ripple.name} called run.unchanged() before it ever published",
            hint="return the data the first time: `run.previous_freshness is None` tells",
            code="NOTHING_UNCHANGED",
        )
    return Same()


def _work(
    code: DeployedCode,
    task: RippleTask,
    run: Run,
    *,
    destination: str,
    merge: Merge | None,
    on_frame: Callable[[DataFrame], None] | None,
) -> RippleWork:
    """Answer the author's functions, and everything that they are given."""
    from pondage.spark.ripple.ripple import RippleWork

    pond = code.pond(task.definition.entry)
    ripple = pond.ripples[task.ripple.name]
    return RippleWork(
        pond=task.definition.name,
        ripple=task.ripple,
        function=ripple.function,
        inputs=task.inputs,
        run=run,
        destination=destination,
        checks={each.name: each.function for each in ripple.expectations if each.function is not None},
        contract=task.contract,
        place=task.definition.place or None,
        on_frame=on_frame,
        merge=merge,
        volumes=task.volumes,
        fused={each.name: pond.ripples[each.name].function for each in task.ripple.members},
    )


def _probe(code: DeployedCode, task: RippleTask) -> Probe | None:
    return probe_of(code.pond(task.definition.entry), task.ripple.name) if task.ripple.has_probe else None


def _run(
    task: RippleTask, secrets: Secrets, followed: Followed | None = None, positions: Positions | None = None
) -> Run:
    """Answer what the author's functions may know about their Run."""
    return Run(
        freshness_us=task.freshness,
        previous_freshness_us=task.previous_freshness,
        parameters=task.ripple.parameters,
        logger=logging.getLogger(f"pondage.ripple.{task.definition.name}.{task.ripple.name}"),
        idempotency_key=task.idempotency_key,
        secrets=secrets,
        followed=followed,
        positions=positions,
    )
