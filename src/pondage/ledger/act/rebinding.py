"""Left-over work of old code, bound to newer code: the queue is served by that, with everything that still comes."""

from __future__ import annotations

from pondage.define.job.component import ComponentDefinition
from pondage.define.values.names import parsed_version
from pondage.errors import LedgerError, NotFound
from pondage.ledger.act.exposed import deployed_with
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import history
from pondage.ledger.tables.history import Caller

LOOKED_AT = 50
"""How many jobs of a code are asked for its components."""


def rebind(ledger: Ledger, tx: Transaction, queue: int, *, to: str, environment: int, by: Caller | None = None) -> None:
    """Let a queue of components be served by the code `to`; raises `LedgerError` when that cannot do the work.

    It must have every component of the queue under the same major version: a larger one may break what it is given.
    """
    row = tx.row("SELECT code, components FROM queues WHERE id = :id /*lock*/", tuple[str, str], id=queue)
    if row is None or not row[1]:
        raise NotFound(
            f"there is no queue {queue} of components", hint="see them: pondage component queues", code="NO_QUEUE"
        )
    if tx.row("SELECT digest FROM archives WHERE digest = :digest", digest=to) is None:
        raise LedgerError(f"code {to[:12]} is not in the ledger", hint="deploy it first", code="NO_ARCHIVE")
    code, names = row[0], row[1].split()
    old, new = (_components(ledger, tx, each) for each in (code, to))
    for name in names:
        _check(name, old.get(name), new.get(name), to)
    tx.change("UPDATE queues SET served_by = :code WHERE id = :id", code=to, id=queue)
    history.audit(tx, by, environment=environment, verb="component rebind", target=f"{' '.join(names)} → {to[:12]}")


def _check(name: str, old: ComponentDefinition | None, new: ComponentDefinition | None, to: str) -> None:
    if new is None:
        raise LedgerError(
            f"code {to[:12]} has no component {name} that it exposes or that a job names",
            hint="deploy a project that exposes it, or a job that uses it, then bind the queue again",
            code="NO_COMPONENT",
        )
    if old is not None and parsed_version(old.version)[0] != parsed_version(new.version)[0]:
        raise LedgerError(
            f"component {name} is {old.version} in the queue and {new.version} in code {to[:12]}: another major",
            hint="let the old code finish it, or resume the run with the new one: pondage job resume",
            code="OTHER_MAJOR",
        )


def _components(ledger: Ledger, tx: Transaction, code: str) -> dict[str, ComponentDefinition]:
    """Answer the components of a code: those that trees may use, and those of jobs deployed or run with it lately."""
    deployed = tx.rows(
        "SELECT definition FROM jobs WHERE archive = :code ORDER BY id DESC LIMIT :most", int, code=code, most=LOOKED_AT
    )
    ran = tx.rows(
        "SELECT definition FROM job_runs WHERE archive = :code ORDER BY id DESC LIMIT :most",
        int,
        code=code,
        most=LOOKED_AT,
    )
    found: dict[str, ComponentDefinition] = {}
    for definition in dict.fromkeys(deployed + ran):
        found = {**ledger.job(tx, definition).stored.components, **found}
    return {**deployed_with(tx, code), **found}
