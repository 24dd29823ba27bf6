"""Which code could do the work of which components: what a queue may be bound to, and whether it is left over."""

from __future__ import annotations

from pondage.define.job.component import ComponentDefinition
from pondage.define.job.exposed import Exposed
from pondage.define.values.names import parsed_version
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger

LOOKED_AT = 50
"""How many jobs of a code are asked for its components, and how many deployments may be looked at for one."""


def newest_that_serves(ledger: Ledger, tx: Transaction, *, code: str, names: list[str], environment: int) -> str | None:
    """Answer the newest deployed code that has these components, under the majors that they have in `code`."""
    old = components_of(ledger, tx, code)
    for candidate in dict.fromkeys(tx.rows(_DEPLOYED, str, environment=environment, most=LOOKED_AT)):
        new = old if candidate == code else components_of(ledger, tx, candidate)
        if all(has_major(old.get(name), new.get(name)) for name in names):
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
        and since(tx, newest, environment) > since(tx, served_by, environment)
    )


_DEPLOYED = """SELECT archive FROM (
                   SELECT archive, deployed_at, id FROM deployments WHERE environment = :environment
                   UNION ALL
                   SELECT archive, deployed_at, id FROM jobs WHERE environment = :environment AND archive <> '') each
               ORDER BY deployed_at DESC, id DESC LIMIT :most"""


def deployed_at(tx: Transaction, code: str, environment: int) -> int | None:
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


def since(tx: Transaction, code: str, environment: int) -> int:
    """Answer since when code is what is wanted: when it was deployed last, else when it came into the ledger."""
    found = deployed_at(tx, code, environment)
    if found is not None:
        return found
    return tx.row("SELECT created_at FROM archives WHERE digest = :code", int, code=code) or 0


def has_major(old: ComponentDefinition | None, new: ComponentDefinition | None) -> bool:
    """Answer whether a component is there under the major version that it had; an unknown one may be any."""
    return new is not None and (old is None or parsed_version(old.version)[0] == parsed_version(new.version)[0])


def components_of(ledger: Ledger, tx: Transaction, code: str) -> dict[str, ComponentDefinition]:
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
    return {**_exposed_with(tx, code), **found}


def _exposed_with(tx: Transaction, code: str) -> dict[str, ComponentDefinition]:
    """Answer the components that trees could use of a code, by name."""
    row = tx.row(
        "SELECT exposed FROM deployments WHERE archive = :code AND exposed IS NOT NULL ORDER BY id DESC LIMIT 1",
        tuple[Exposed],
        code=code,
    )
    found = Exposed() if row is None else row[0]
    return {one.name: one for one in found.components if one.archive == code}
