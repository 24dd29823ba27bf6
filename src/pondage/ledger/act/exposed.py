"""What projects have given to the trees of an environment: components and types, kept with their deployments."""

from __future__ import annotations

import msgspec

from pondage.define.job.component import ComponentDefinition
from pondage.define.job.exposed import Exposed
from pondage.define.types.type_registry import TypeEntry
from pondage.errors import LedgerError
from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables import actors, environments

NOTHING = Exposed()
_encoder = msgspec.json.Encoder()


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that trees of an environment may use beside the library, and which project each is of."""

    components: dict[str, ComponentDefinition] = {}
    types: dict[str, TypeEntry] = {}
    owners: dict[str, str] = {}
    """Of components and types, by name."""

    @property
    def archives(self) -> set[str]:
        """Answer the code that these components run with."""
        return {one.archive for one in self.components.values()}


def of_projects(tx: Transaction, environment: str) -> dict[str, Exposed]:
    """Answer what each project exposes in an environment: by its newest deployment there, else by the nearest above."""
    identity = actors.environment(tx, environment)
    found: dict[str, Exposed] = {}
    for level in [] if identity is None else environments.chain(tx, identity):
        found = own(tx, level.id) | found
    return found


def own(tx: Transaction, environment: int) -> dict[str, Exposed]:
    """Answer what each project exposes by a deployment to this very environment."""
    found = tx.rows(
        """SELECT d.project AS project, d.exposed AS exposed FROM deployments d
           WHERE d.id IN (SELECT max(n.id) FROM deployments n
                          WHERE n.environment = :environment AND n.exposed IS NOT NULL GROUP BY n.project)""",
        tuple[str, Exposed],
        environment=environment,
    )
    return dict(found)


def given(tx: Transaction, environment: str) -> Given:
    """Answer what trees of an environment may use beside the library."""
    found = Given()
    for project, exposed in sorted(of_projects(tx, environment).items()):
        for one in exposed.components:
            found.components[one.name] = one
            found.owners[one.name] = project
        found.types.update(exposed.types)
        found.owners.update(dict.fromkeys(exposed.types, project))
    return found


def former(tx: Transaction, environment: str, *, project: str, declared: Exposed) -> Exposed:
    """Answer what a project exposes before a deploy; raises `LedgerError` when another one has one of its names."""
    known = of_projects(tx, environment)
    for other, exposed in known.items():
        if other != project:
            _refuse_foreign(declared, exposed, other)
    return known.get(project, NOTHING)


def _refuse_foreign(declared: Exposed, exposed: Exposed, owner: str) -> None:
    names = {one.name for one in exposed.components}
    for one in declared.components:
        if one.name in names:
            raise LedgerError(
                f"component {one.name} belongs to project {owner}",
                hint='give it another name: @component("my_name", …)',
                place=one.entry or None,
                code="FOREIGN_COMPONENT",
            )
    for key, entry in declared.types.items():
        if exposed.types.get(key, entry).definition != entry.definition:
            raise LedgerError(
                f"type {key} means something else in project {owner}",
                hint="give it another name, or another major version",
                code="FOREIGN_TYPE",
            )


def row_of(exposed: Exposed | None) -> str | None:
    """Answer what the row of a deployment says."""
    return None if exposed is None else _encoder.encode(exposed).decode()


def of_row(tx: Transaction, environment: int, project: str, deployment: int) -> Exposed:
    """Answer what a project exposed after one of its deployments."""
    row = tx.row(
        """SELECT exposed FROM deployments WHERE environment = :environment AND project = :project
             AND id <= :deployment AND exposed IS NOT NULL ORDER BY id DESC LIMIT 1""",
        tuple[Exposed],
        environment=environment,
        project=project,
        deployment=deployment,
    )
    return NOTHING if row is None else row[0]
