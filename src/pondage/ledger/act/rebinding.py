"""Left-over work of old code, bound to newer code: the queue is served by that, with everything that still comes."""

from __future__ import annotations

import msgspec

from pondage.define.job.component import ComponentDefinition
from pondage.define.values.names import parsed_version
from pondage.errors import LedgerError, NotFound
from pondage.ledger.act.exposed import deployed_with
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import history
from pondage.ledger.tables.history import Caller

LOOKED_AT = 50
"""How many jobs of a code are asked for its components, and how many deployments may be looked at for one."""


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

    It must have every component of the queue under the same major version: a larger one may break what it is given. Code
    that is older than what serves the queue is refused unless `is_back`. Raises `LedgerError`.
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
        to = newest_that_serves(ledger, tx, code=code, names=names, environment=environment)
        if to is None:
            raise LedgerError(
                f"no deployed code has {' and '.join(names)} under the major version that waits in queue {queue}",
                hint="deploy a project that has it, or name code that is in the ledger: --to CODE",
                code="NO_COMPONENT",
            )
    elif tx.row("SELECT digest FROM archives WHERE digest = :digest", digest=to) is None:
        raise LedgerError(f"code {to[:12]} is not in the ledger", hint="deploy it first", code="NO_ARCHIVE")
    old, new = (_components(ledger, tx, each) for each in (code, to))
    for name in names:
        _check(name, old.get(name), new.get(name), to)
    if not is_back and to != before and _since(tx, to, environment) < _since(tx, before, environment):
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
        deployed_at=_deployed_at(tx, to, environment),
    )


def newest_that_serves(ledger: Ledger, tx: Transaction, *, code: str, names: list[str], environment: int) -> str | None:
    """Answer the newest deployed code that has these components, under the majors that they have in `code`."""
    old = _components(ledger, tx, code)
    for candidate in dict.fromkeys(tx.rows(_DEPLOYED, str, environment=environment, most=LOOKED_AT)):
        new = old if candidate == code else _components(ledger, tx, candidate)
        if all(_is_served(old.get(name), new.get(name)) for name in names):
            return candidate
    return None


def is_left_over(
    ledger: Ledger, tx: Transaction, *, code: str, served_by: str, names: list[str], environment: int
) -> bool:
    """Answer whether a newer deployment than the code that serves a queue could do what is in it."""
    newest = newest_that_serves(ledger, tx, code=code, names=names, environment=environment)
    return (
        newest is not None
        and newest != served_by
        and _since(tx, newest, environment) > _since(tx, served_by, environment)
    )


_DEPLOYED = """SELECT archive FROM (
                   SELECT archive, deployed_at, id FROM deployments WHERE environment = :environment
                   UNION ALL
                   SELECT archive, deployed_at, id FROM jobs WHERE environment = :environment AND archive <> '') each
               ORDER BY deployed_at DESC, id DESC LIMIT :most"""


def _deployed_at(tx: Transaction, code: str, environment: int) -> int | None:
    """Answer when code was deployed last; None when it never was, but came along with a run."""
    return tx.row(
        """SELECT max(deployed_at) FROM (
               SELECT deployed_at FROM deployments WHERE environment = :environment AND archive = :code
               UNION ALL
               SELECT deployed_at FROM jobs WHERE environment = :environment AND archive = :code) each""",
        int,
        code=code,
        environment=environment,
    )


def _since(tx: Transaction, code: str, environment: int) -> int:
    """Answer since when code is what is wanted: when it was deployed last, else when it came into the ledger."""
    deployed_at = _deployed_at(tx, code, environment)
    if deployed_at is not None:
        return deployed_at
    return tx.row("SELECT created_at FROM archives WHERE digest = :code", int, code=code) or 0


def _is_served(old: ComponentDefinition | None, new: ComponentDefinition | None) -> bool:
    return new is not None and (old is None or parsed_version(old.version)[0] == parsed_version(new.version)[0])


def _check(name: str, old: ComponentDefinition | None, new: ComponentDefinition | None, to: str) -> None:
    if new is None:
        raise LedgerError(
            f"code {to[:12]} has no component {name} that it exposes or that a job names",
            hint="deploy a project that exposes it, or a job that uses it, then bind the queue again",
            code="NO_COMPONENT",
        )
    if old is not None and not _is_served(old, new):
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
