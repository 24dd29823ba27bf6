"""Asking a worker to look at rows: those that break a rule, and what differs between two Runs."""

from __future__ import annotations

from collections.abc import Mapping

from pondage.define.pond.definition import ExpectationDefinition, PondDefinition
from pondage.define.values.names import split_key
from pondage.errors import NotFound
from pondage.ledger.act.as_of import NotThere
from pondage.ledger.data import manifests, snapshots
from pondage.ledger.data.checks import Judgement
from pondage.ledger.data.inputs import Breaks, Compared, QueryInputs
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions
from pondage.ledger.queue.queues import QueueKey
from pondage.ledger.tables import environments


def submit_breaks(
    tx: Transaction,
    ledger: Ledger,
    environment: int,
    definition: PondDefinition,
    ripple: str,
    rules: tuple[ExpectationDefinition, ...],
    judged: Judgement,
    *,
    limit: int,
    timeout_s: float | None = None,
) -> int:
    """Ask for rows that break these rules, among those of one judgement, and answer the id of the work."""
    inputs = {rule.input for rule in rules if rule.kind == "foreign_key"}
    views = {name: found for name in inputs if (found := judged.inputs.get(name)) is not None}
    if judged.snapshot is not None:
        views["table"] = judged.snapshot
    # Only an author's own condition needs his code.
    code = definition.archive if any(rule.kind == "check" for rule in rules) else ""
    asked = Breaks(entry=definition.entry, ripple=ripple, rules=rules, rejected=judged.rejected)
    work = QueryInputs(sql="", limit=limit, views=views, breaks=asked)
    queue = ledger.queue(tx, QueueKey(code=code, role="questions"))
    return executions.ask(
        tx, environment=environment, kind="query", node="breaks", queue=queue, inputs=work, timeout_s=timeout_s
    )


def submit_diff(
    tx: Transaction,
    ledger: Ledger,
    environment: int,
    *,
    before: Mapping[str, int],
    after: Mapping[str, int],
    keys: Mapping[str, tuple[str, ...]],
    limit: int,
    tolerance: float = 0.0,
    timeout_s: float | None = None,
) -> int:
    """Ask what differs between two sets of snapshots, by the names of the Ripples; answer the id of the work."""
    views = {f"before.{name}": each for name, each in before.items()}
    views |= {f"after.{name}": each for name, each in after.items()}
    tables = tuple(Compared(ripple=name, keys=given, tolerance=tolerance) for name, given in keys.items())
    inputs = QueryInputs(sql="", limit=limit, views=views, compared=tables)
    queue = ledger.queue(tx, QueueKey(code="", role="questions"))
    return executions.ask(
        tx, environment=environment, kind="query", node="diff", queue=queue, inputs=inputs, timeout_s=timeout_s
    )


def outputs_of(tx: Transaction, run: int) -> dict[str, int]:
    """Answer the snapshots of a completed Run by Ripple; raises `NotThere` when its data is gone, or it has none."""
    public_id, state = tx.one("SELECT public_id, state FROM runs WHERE id = :id", tuple[str, str], id=run)
    if state != "completed":
        raise NotThere(
            f"Run {public_id} is {state}: only a completed Run has tables",
            hint="pondage runs --state completed",
            code="NOT_COMPLETED",
        )
    found = {name: output.snapshot for name, output in snapshots.outputs(tx, run).items()}
    if not found or not manifests.is_whole(tx, list(found.values())) or _is_gone(tx, run):
        raise NotThere(f"the data of Run {public_id} is no longer retained", hint="pondage runs")
    return found


def published_run(tx: Transaction, environment: str, name: str) -> int:
    """Answer the Run of a Pond (`sales`, `sales@2`) that readers of an environment see; raises `NotFound`."""
    plain, _, major = name.partition("@")
    found: dict[int, int] = {}
    for each in environments.readable(tx, environments.find(tx, environment).id):
        known, number = split_key(each.row.key)
        if known == plain and major in ("", str(number)):
            found[number] = each.row.id
    run = snapshots.current_run(tx, found[max(found)]) if found else None
    if run is None:
        raise NotFound(
            f"{name} has no completed Run in environment {environment!r}",
            hint=f"pondage --env {environment} run {plain}",
            code="NEVER_PUBLISHED",
        )
    return run


def _is_gone(tx: Transaction, run: int) -> bool:
    return (
        tx.row(
            """SELECT s.id AS id FROM run_outputs o JOIN snapshots s ON s.id = o.snapshot
               WHERE o.run = :run AND s.tombstoned_at IS NOT NULL LIMIT 1""",
            run=run,
        )
        is not None
    )
