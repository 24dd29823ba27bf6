"""Asking for trials: code that need not be deployed, tried by a worker without changing anything.

A *sample* runs Ripples on a few rows of what is published and answers their rows; an *analysis* (`infer`) calls them on
empty tables and answers their schemas. Both are dispatches without a machine and without retries.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from pondage.define.pond.definition import PondDefinition, RippleDefinition
from pondage.define.values.names import PondKey, pond_key, table_key
from pondage.errors import NotFound
from pondage.ledger.data import snapshots
from pondage.ledger.database.driver import Transaction
from pondage.ledger.kinds.infer import InferTask
from pondage.ledger.kinds.sample import SampleInputs
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions
from pondage.ledger.queue.queues import QueueKey
from pondage.ledger.tables import actors, environments, history
from pondage.ledger.tables.history import Caller
from pondage.work.inference import Question

KEEP_US = 86_400_000_000
"""How long code that was only tried is kept: a day, so that the next trial of the same code need not store it."""


def submit_sample(
    ledger: Ledger,
    environment: str,
    definition: PondDefinition,
    *,
    archive: bytes,
    ripple: str | None,
    rows: int,
    limit: int,
    timeout_s: float | None = None,
    by: Caller | None = None,
) -> int:
    """Ask for a sample of a bound Pond, or of one of its Ripples, and answer the id of the work.

    One Ripple reads what its siblings have published; a sibling that never has is run with it. Raises `NotFound` when a
    required Source has never published.
    """
    with ledger.transaction() as tx:
        identity = actors.made_environment(tx, environment)
        inputs = _sample_inputs(tx, identity, definition, ripple=ripple, rows=rows, limit=limit)
        node = definition.name if ripple is None else f"{definition.name}.{ripple}"
        labels = " ".join(sorted(definition.labels))
        history.audit(tx, by, environment=identity, verb="sample", target=definition.name)
        return _dispatch(tx, ledger, identity, "sample", node, inputs, archive, timeout_s, labels=labels)


def submit_infer(
    ledger: Ledger,
    environment: str,
    ponds: Sequence[PondDefinition],
    *,
    asked: Sequence[str],
    known: dict[str, str],
    archive: bytes,
    timeout_s: float | None = None,
) -> int:
    """Ask for the schemas of Ripples and answer the id of the work."""
    with ledger.transaction() as tx:
        identity = actors.made_environment(tx, environment)
        task = InferTask(ponds=tuple(ponds), known=known, asked=tuple(asked), freshness=tx.now)
        return _dispatch(tx, ledger, identity, "infer", "plan", task, archive, timeout_s)


def submit_questions(
    ledger: Ledger,
    environment: str,
    questions: Sequence[Question],
    *,
    archive: bytes,
    code: str = "",
    timeout_s: float | None = None,
) -> int:
    """Ask for the types of components and answer the id of the work; their code is sent, or stored as `code`."""
    with ledger.transaction() as tx:
        identity = actors.made_environment(tx, environment)
        task = InferTask(questions=tuple(questions))
        return _dispatch(tx, ledger, identity, "infer", "types", task, archive, timeout_s, code=code)


def published_schemas(tx: Transaction, environment: str, parent: str | None = None) -> dict[str, str]:
    """Answer the schema of every table that readers see, by `table_key`.

    Before anything was deployed to an environment these are what the one above it, its `parent`, shows.
    """
    identity = actors.environment(tx, environment)
    if parent and (identity is None or not environments.is_used(tx, identity)):
        identity = actors.environment(tx, parent)
    found: dict[str, str] = {}
    for each in [] if identity is None else environments.readable(tx, identity):
        row = each.row
        run = snapshots.current_run(tx, row.id)
        given = {} if run is None else snapshots.outputs(tx, run)
        loaded = snapshots.load(tx, [output.snapshot for output in given.values()])
        for ripple, output in given.items():
            found[table_key(row.key, ripple)] = loaded[output.snapshot].content.schema
    return found


def _dispatch(
    tx: Transaction,
    ledger: Ledger,
    environment: int,
    kind: str,
    node: str,
    inputs: SampleInputs | InferTask,
    archive: bytes,
    timeout_s: float | None,
    *,
    labels: str = "",
    code: str = "",
) -> int:
    queue = ledger.queue(tx, QueueKey(code=code or _stored(tx, archive), labels=labels))
    return executions.ask(
        tx, environment=environment, kind=kind, node=node, queue=queue, inputs=inputs, timeout_s=timeout_s
    )


def _stored(tx: Transaction, archive: bytes) -> str:
    """Keep the code for a worker, deployed or not, and answer its digest; what was only tried long ago goes."""
    digest = hashlib.sha256(archive).hexdigest()
    tx.change(
        """DELETE FROM archives WHERE created_at < :limit AND digest <> :digest
             AND NOT EXISTS (SELECT 1 FROM deployments d WHERE d.archive = archives.digest)
             AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.archive = archives.digest)
             AND NOT EXISTS (SELECT 1 FROM job_runs r WHERE r.archive = archives.digest)
             AND NOT EXISTS (SELECT 1 FROM dispatches d JOIN queues q ON q.id = d.queue
                             WHERE q.served_by = archives.digest AND d.outcome IS NULL)""",
        limit=tx.now - KEEP_US,
        digest=digest,
    )
    tx.change(
        "INSERT INTO archives (digest, data, created_at) VALUES (:digest, :data, :now) ON CONFLICT DO NOTHING",
        digest=digest,
        data=archive,
    )
    return digest


def _sample_inputs(
    tx: Transaction, environment: int, definition: PondDefinition, *, ripple: str | None, rows: int, limit: int
) -> SampleInputs:
    own = _published(tx, environment, pond_key(definition.name, definition.major))
    chosen = _chosen(definition, ripple, own)
    majors = {source.pond: source.major or 1 for source in definition.sources}
    given: dict[str, dict[str, int | None]] = {}
    for each in chosen:
        tables: dict[str, int | None] = {}
        for read in each.tables:
            if read.pond is not None:
                source = _published(tx, environment, pond_key(read.pond, majors[read.pond]))
                if read.ripple not in source and not read.optional:
                    raise NotFound(
                        f"{definition.name}.{each.name} reads {read.pond}.{read.ripple}, which has never published",
                        hint=f"pondage run {read.pond} (deploy it first when it is new)",
                        code="NEVER_PUBLISHED",
                    )
                tables[read.parameter] = source.get(read.ripple)
            elif read.ripple not in {one.name for one in chosen}:
                tables[read.parameter] = own[read.ripple]
        given[each.name] = tables
    row = actors.pond(tx, environment, pond_key(definition.name, definition.major))
    loaded = snapshots.load(tx, [own[each.name] for each in chosen if each.name in own])
    return SampleInputs(
        definition=definition,
        ripples=tuple(each.name for each in chosen),
        rows=rows,
        limit=limit,
        freshness=tx.now,
        previous_freshness=None if row is None else _freshness(tx, row.id),
        snapshots=given,
        contracts={each.name: loaded[own[each.name]].content.schema for each in chosen if each.name in own},
    )


def _chosen(definition: PondDefinition, ripple: str | None, own: dict[str, int]) -> list[RippleDefinition]:
    """Answer the Ripples to run, parents first: all of the Pond, or one and those it needs that never published."""
    wanted = {each.name for each in definition.ripples}
    if ripple is not None:
        wanted, pending = set(), [ripple]
        while pending:
            name = pending.pop()
            if name not in wanted:
                wanted.add(name)
                pending += [parent for parent in definition.ripple(name).parents if parent not in own]
    order: dict[str, RippleDefinition] = {}
    left = [each for each in definition.ripples if each.name in wanted]
    while left:
        ready = [each for each in left if all(parent in order or parent not in wanted for parent in each.parents)]
        assert ready, f"the Ripples of {definition.name} wait for each other"
        order.update({each.name: each for each in ready})
        left = [each for each in left if each.name not in order]
    return list(order.values())


def _published(tx: Transaction, environment: int, key: PondKey) -> dict[str, int]:
    row = actors.pond(tx, environment, key)
    origin = environments.above(tx, environment, key) if row is None else environments.read_from(tx, environment, row)
    run = None if origin is None else snapshots.current_run(tx, origin.row.id)
    return {} if run is None else {name: output.snapshot for name, output in snapshots.outputs(tx, run).items()}


def _freshness(tx: Transaction, pond: int) -> int | None:
    row = tx.row("SELECT max(freshness) AS freshness FROM runs WHERE pond = :pond AND state = 'completed'", pond=pond)
    value = None if row is None else row["freshness"]
    return value if isinstance(value, int) else None
