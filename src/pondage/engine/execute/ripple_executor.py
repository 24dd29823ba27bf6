"""Executions of Ripples: the author's function, after its Inlet's probe has said that there is something new."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from pondage.connect.landing.asked import PREFIX
from pondage.define.pond.partition import Chunk
from pondage.define.pond.run import Run, Secrets
from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.executor import Result
from pondage.engine.attempt.followed_tables import Following
from pondage.engine.attempt.probe import Probe, probe_of
from pondage.engine.execute.automatic_table import BESIDE, AutomaticTable
from pondage.engine.execute.bench import Bench, KindExecutor, remove_local
from pondage.engine.execute.growing_tables import Growing, elsewhere
from pondage.engine.process.code import DeployedCode
from pondage.errors import PondageError
from pondage.ledger.commit.positions import Positions
from pondage.ledger.kinds.ripple import RippleTask, Same, Written, has_snapshot
from pondage.work.snapshot import SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pondage.define.pond.run import Followed
    from pondage.spark.ripple.ripple import RippleWork


class RippleExecutor(KindExecutor):
    """Runs Ripples."""

    def execute(self, attempt: Attempt, bench: Bench) -> Result:
        """Run a Ripple and answer what it wrote.

        An Inlet's probe comes first. When it answers as it did for the last snapshot, nothing else is done; one that
        does not ask for `spark` does not even start it.
        """
        task, secrets = attempt.work.given(RippleTask), bench.secrets(attempt.work.claim.environment)
        is_chunk = task.chunk is not None  # whoever asked for that knows that nothing is new
        probe, answer = None if is_chunk else _probe(bench.code, task), None
        if probe is not None and not probe.needs_spark:
            answer = probe.answer(_run(task, secrets))
            if answer == task.probe:
                return Same()
        if probe is None and not is_chunk and _is_quiet(attempt, bench):
            return Same()
        with bench.opened(attempt) as session:
            if probe is not None and answer is None:
                answer = probe.answer(_run(task, secrets), session)
                if answer == task.probe:
                    return Same()
            content = _content(session, attempt, bench, secrets)
        if content is not None:
            return Written(content if is_chunk else msgspec.structs.replace(content, probe=answer))
        if not has_snapshot(bench.ledger, attempt.work):
            raise PondageError(
                f"{task.definition.name}.{task.ripple.name} called run.unchanged() before it ever published",
                hint="return the data the first time: `run.previous_freshness is None` tells",
                code="NOTHING_UNCHANGED",
            )
        return Same()

    def discard(self, attempt: Attempt, bench: Bench) -> None:
        """Remove the snapshot that it wrote."""
        task = attempt.work.given(RippleTask)
        remove_local(bench.destination(attempt, dataset=task.dataset_id, run=task.run_id))


def _content(session: SparkSession, attempt: Attempt, bench: Bench, secrets: Secrets) -> SnapshotContent | None:
    """Answer the snapshot that the Ripple wrote, None when it said that nothing changed.

    It is called again, with everything, when a followed table cannot say what changed although it was asked to.
    """
    task = attempt.work.given(RippleTask)
    growing = Growing(session, bench.ledger, attempt.work.claim, task)
    if task.definition.mode == "auto":
        return _kept_up_to_date(attempt, bench, secrets, growing)
    following = growing.following()
    try:
        content = growing.once(_work(attempt, bench, secrets, growing, following))
    except PondageError:
        if not following.has_failed:
            raise
        content = None
    if following.has_failed:
        # The author's code was told that it gets changes, and then they could not be given.
        following = growing.following(is_full=True)
        work = _work(attempt, bench, secrets, growing, following)
        content = growing.once(msgspec.structs.replace(work, destination=elsewhere(work.destination)))
    return None if content is None else growing.with_increment(content, following)


def _kept_up_to_date(attempt: Attempt, bench: Bench, secrets: Secrets, growing: Growing) -> SnapshotContent | None:
    """Answer the same of a Ripple that is called with whole tables, and of whose plan only what changed is computed."""
    following = growing.following(is_full=True)
    table = AutomaticTable(bench.ledger, attempt.work.claim, attempt.work.given(RippleTask), following)
    work = _work(attempt, bench, secrets, growing, following)
    content = growing.once(msgspec.structs.replace(work, auto=table.work()))
    for name in BESIDE:
        remove_local(f"{work.destination}/{work.destination.rpartition('/')[2]}.{name}")
    return None if content is None else table.with_increment(content)


def _work(attempt: Attempt, bench: Bench, secrets: Secrets, growing: Growing, following: Following) -> RippleWork:
    """Answer the author's functions, and everything that they are given."""
    from pondage.spark.ripple.ripple import RippleWork

    task = attempt.work.given(RippleTask)
    pond = bench.code.pond(task.definition.entry)
    ripple = pond.ripples[task.ripple.name]
    return RippleWork(
        pond=task.definition.name,
        ripple=task.ripple,
        function=ripple.function,
        inputs=task.inputs,
        run=_run(task, secrets, following, _positions(attempt, bench), chunk=following.chunk),
        destination=bench.destination(attempt, dataset=task.dataset_id, run=task.run_id),
        checks={each.name: each.function for each in ripple.expectations if each.function is not None},
        contract=task.contract,
        place=task.declared_at,
        on_frame=bench.lineage.watcher(attempt.work.claim.dispatch, task),
        merge=growing.merge(following),
        cut=growing.cut(following),
        volumes=task.volumes,
        batch=task.batch,
        fused={each.name: pond.ripples[each.name].function for each in task.ripple.members},
    )


def _positions(attempt: Attempt, bench: Bench) -> Positions:
    task = attempt.work.given(RippleTask)
    return Positions(bench.ledger, attempt.work, bench.beside(dataset=task.dataset_id))


def _is_quiet(attempt: Attempt, bench: Bench) -> bool:
    """Answer, without Spark, whether all that a Ripple reads are folders in which nothing has landed since.

    Their listing is the probe of whoever declares none.
    """
    task = attempt.work.given(RippleTask)
    if task.ripple.reads or task.ripple.members or task.ripple.kind != "function":
        return False
    positions = _positions(attempt, bench)
    known = positions.of_same_code()
    if not known or not all(name.startswith(PREFIX) for name in known):
        return False
    from pondage.connect.landing.landed_files import is_quiet

    return all(is_quiet(each, positions.place, positions.forgotten) for each in known.values())


def _probe(code: DeployedCode, task: RippleTask) -> Probe | None:
    return probe_of(code.pond(task.definition.entry), task.ripple.name) if task.ripple.has_probe else None


def _run(
    task: RippleTask,
    secrets: Secrets,
    followed: Followed | None = None,
    positions: Positions | None = None,
    *,
    chunk: Chunk | None = None,
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
        chunk=chunk,
    )
