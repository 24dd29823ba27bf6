"""Left-over work of old code, bound to newer code: the queue is served by that, with everything that still comes."""

from __future__ import annotations

import msgspec

from pondage.define.job.component import ComponentDefinition
from pondage.errors import LedgerError, NotFound
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import history
from pondage.ledger.tables.history import Caller
from pondage.ledger.upkeep import serving


class Rebinding(msgspec.Struct, frozen=True, kw_only=True):
    """What a queue was bound to: the code, its components with their versions, and when it was deployed last."""

    code: str
    before: str
    components: dict[str, str]
    deployed_at: int | None


def rebind(
    ledger: Ledger,
    tx: Transaction,
    queue: int,
    *,
    to: str | None,
    environment: int,
    is_back: bool = False,
    by: Caller | None = None,
) -> Rebinding:
    """Let a queue of components be served by other code: `to`, else the newest deployment that can do the work.

    It must have every component of the queue under the same major version: a larger one may break what it is given.
    Code that is older than what serves the queue is refused unless `is_back`. Raises `LedgerError`.
    """
    row = tx.row(
        "SELECT served_by, code, components FROM queues WHERE id = :id /*lock*/", tuple[str, str, str], id=queue
    )
    if row is None or not row[2]:
        raise NotFound(
            f"there is no queue {queue} of components", hint="see them: pondage component queues", code="NO_QUEUE"
        )
    before, code, names = row[0], row[1], row[2].split()
    if to is None:
        to = serving.newest_that_serves(ledger, tx, code=code, names=names, environment=environment)
        if to is None:
            raise LedgerError(
                f"no deployed code has {' and '.join(names)} under the major version that waits in queue {queue}",
                hint="deploy a project that has it, or name code that is in the ledger: --to CODE",
                code="NO_COMPONENT",
            )
    elif tx.row("SELECT digest FROM archives WHERE digest = :digest", digest=to) is None:
        raise LedgerError(f"code {to[:12]} is not in the ledger", hint="deploy it first", code="NO_ARCHIVE")
    old, new = (serving.components_of(ledger, tx, each) for each in (code, to))
    for name in names:
        _check(name, old.get(name), new.get(name), to)
    if not is_back and to != before and serving.since(tx, to, environment) < serving.since(tx, before, environment):
        raise LedgerError(
            f"code {to[:12]} is older than {before[:12]}, which serves queue {queue}",
            hint="if that is what you want: pondage component rebind --back",
            code="OLDER_CODE",
        )
    tx.change("UPDATE queues SET served_by = :code WHERE id = :id", code=to, id=queue)
    history.audit(tx, by, environment=environment, verb="component rebind", target=f"{' '.join(names)} → {to[:12]}")
    return Rebinding(
        code=to,
        before=before,
        components={name: new[name].version for name in names},
        deployed_at=serving.deployed_at(tx, to, environment),
    )


def _check(name: str, old: ComponentDefinition | None, new: ComponentDefinition | None, to: str) -> None:
    if new is None:
        raise LedgerError(
            f"code {to[:12]} has no component {name} that it exposes or that a job names",
            hint="deploy a project that exposes it, or a job that uses it, then bind the queue again",
            code="NO_COMPONENT",
        )
    if old is not None and not serving.has_major(old, new):
        raise LedgerError(
            f"component {name} is {old.version} in the queue and {new.version} in code {to[:12]}: another major",
            hint="let the old code finish it, or resume the run with the new one: pondage job resume",
            code="OTHER_MAJOR",
        )
