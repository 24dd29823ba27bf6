"""A plan against what is deployed, from declarations that somebody has read: the command line, or the server."""

from __future__ import annotations

from collections.abc import Sequence

from pondage.define.definition import PondDefinition
from pondage.define.reaction import ReactorDefinition
from pondage.ledger.deploy import deployed
from pondage.ledger.ledger import Ledger
from pondage.ledger.reactor_deploy import deployed_reactors
from pondage.ledger.trials import published_schemas
from pondage.plan.columns import has_columns
from pondage.plan.planning import make_plan
from pondage.plan.reactors import check_reactors, reactor_changes
from pondage.plan.values import Deployed, Plan


def planned(
    ledger: Ledger,
    environment: str,
    *,
    project: str,
    ponds: Sequence[PondDefinition],
    reactors: Sequence[ReactorDefinition],
) -> tuple[Plan, list[Deployed]]:
    """Answer what a deploy would do, and what it was compared with; raises `RegistryError` for a foreign reactor."""
    with ledger.reading() as tx:
        found = deployed(tx, ledger, environment)
        running = deployed_reactors(tx, environment)
        schemas = published_schemas(tx, environment) if has_columns(ponds) else {}
    check_reactors(reactors, running, project=project, environment=environment)
    changes = reactor_changes(reactors, running, project=project)
    made = make_plan(ponds, found, project=project, environment=environment, reactors=changes, schemas=schemas)
    return made, found
