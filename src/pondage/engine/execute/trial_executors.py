"""Executions of trials: the author's code of an archive that need not be deployed, on a few rows or on none."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from pondage.components.registry import built_in_function
from pondage.connect.veil import veiled
from pondage.define.job.component import is_library
from pondage.define.pond.definition import PondDefinition, RippleDefinition
from pondage.define.pond.run import Run, Secrets
from pondage.define.values.names import pond_key, table_key
from pondage.engine.attempt.attempt import Attempt
from pondage.engine.execute.bench import Bench, KindExecutor
from pondage.engine.process.code import DeployedCode
from pondage.ledger.kinds.infer import InferTask, TypesFound
from pondage.ledger.kinds.kind import Answered
from pondage.ledger.kinds.sample import SampleTask

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pondage.spark.ripple.ripple import RippleWork
    from pondage.work.snapshot import SnapshotContent


class SampleExecutor(KindExecutor):
    """Runs samples."""

    def execute(self, attempt: Attempt, bench: Bench) -> Answered:
        """Run the Ripples of a sample and answer their rows."""
        with bench.opened(attempt) as session:
            return _sample(
                session, bench.code, attempt.work.given(SampleTask), bench.secrets(attempt.work.claim.environment)
            )


class InferExecutor(KindExecutor):
    """Finds schemas and types."""

    def execute(self, attempt: Attempt, bench: Bench) -> Answered:
        """Find what was asked for and answer it."""
        task = attempt.work.given(InferTask)
        with bench.opened(attempt) as session:
            return _infer_types(session, bench.code, task) if task.questions else _infer(session, bench.code, task)


def _sample(session: SparkSession, code: DeployedCode, task: SampleTask, secrets: Secrets) -> Answered:
    from pondage.spark.ripple.trial import run_sample

    works = [
        _work(
            code,
            task.definition,
            task.definition.ripple(name),
            inputs=task.inputs[name],
            contract=task.contracts.get(name),
            freshness=task.freshness,
            previous=task.previous_freshness,
            secrets=secrets,
        )
        for name in task.ripples
    ]
    tables = run_sample(session, works, rows=task.rows, limit=task.limit)
    return Answered(msgspec.json.encode(tables).decode())


def _infer(session: SparkSession, code: DeployedCode, task: InferTask) -> Answered:
    from pondage.spark.ripple.trial import infer_schemas

    works: list[tuple[str, RippleWork, dict[str, str | None]]] = []
    asked = set(task.asked)
    merged: dict[str, tuple[str, ...]] = {}
    for pond in task.ponds:
        key = pond_key(pond.name, pond.major)
        if pond.mode == "merge":
            merged.update({table_key(key, ripple.name): pond.keys for ripple in pond.ripples})
        for ripple in _in_order(pond):
            table = table_key(key, ripple.name)
            if table in asked:
                contract = task.known.get(table)
                work = _work(code, pond, ripple, inputs={}, contract=contract, freshness=task.freshness, previous=None)
                works.append((table, work, _tables(task, asked, pond, ripple)))
    found = infer_schemas(
        session,
        works,
        known={table: schema for table, schema in task.known.items() if table not in asked},
        merged=merged,
    )
    shown = [msgspec.structs.replace(each, place=code.shown(each.place)) for each in found]
    return Answered(msgspec.json.encode(shown).decode())


def _infer_types(session: SparkSession, code: DeployedCode, task: InferTask) -> TypesFound:
    from pondage.spark.component.inference import infer_types

    found = infer_types(
        session,
        task.questions,
        lambda entry: built_in_function(entry) if is_library(entry) else code.component(entry),
    )
    shown = [msgspec.structs.replace(one, problem=veiled(one.problem), why=veiled(one.why)) for one in found]
    return TypesFound(msgspec.json.encode(shown).decode())


def _tables(task: InferTask, asked: set[str], pond: PondDefinition, ripple: RippleDefinition) -> dict[str, str | None]:
    majors = {source.pond: source.major or 1 for source in pond.sources}
    found: dict[str, str | None] = {}
    for read in ripple.tables:
        owner = pond_key(pond.name, pond.major) if read.pond is None else pond_key(read.pond, majors[read.pond])
        table = table_key(owner, read.ripple)
        is_absent = read.optional and table not in task.known and table not in asked
        found[read.parameter] = None if is_absent else table
    return found


def _in_order(pond: PondDefinition) -> list[RippleDefinition]:
    done: dict[str, RippleDefinition] = {}
    while len(done) < len(pond.ripples):
        ready = [each for each in pond.ripples if each.name not in done and all(up in done for up in each.parents)]
        assert ready, f"the Ripples of {pond.name} wait for each other"
        done.update({each.name: each for each in ready})
    return list(done.values())


def _work(
    code: DeployedCode,
    pond: PondDefinition,
    ripple: RippleDefinition,
    *,
    inputs: dict[str, SnapshotContent | None],
    contract: str | None,
    freshness: int,
    previous: int | None,
    secrets: Secrets | None = None,
) -> RippleWork:
    from pondage.spark.ripple.automatic import WITHOUT_PAST
    from pondage.spark.ripple.merge import Merge
    from pondage.spark.ripple.partition import Cut
    from pondage.spark.ripple.ripple import RippleWork

    declared = code.pond(pond.entry).ripples[ripple.name]
    return RippleWork(
        pond=pond.name,
        ripple=ripple,
        function=declared.function,
        inputs=inputs,
        run=Run(
            freshness_us=freshness,
            previous_freshness_us=previous,
            parameters=ripple.parameters,
            logger=logging.getLogger(f"pondage.ripple.{pond.name}.{ripple.name}"),
            secrets=secrets,
        ),
        destination="",
        merge=Merge(keys=pond.keys, base=lambda: None) if pond.mode == "merge" else None,
        cut=None if pond.partition is None else Cut(definition=pond.partition),
        auto=WITHOUT_PAST if pond.mode == "auto" else None,
        contract=contract,
        place=pond.place or None,
    )
