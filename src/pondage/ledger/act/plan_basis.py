"""A plan against what is deployed, from declarations that somebody has read: the command line, or the server."""

from __future__ import annotations

from collections.abc import Sequence

from pondage.define.pond.definition import PondDefinition
from pondage.define.reactor.reaction import ReactorDefinition
from pondage.ledger.act.branching import Choice, deployed, found_above, only_own, parent_of, with_foreign
from pondage.ledger.act.reactor_deploy import deployed_reactors, fed_schemas
from pondage.ledger.act.trials import published_schemas
from pondage.ledger.ledger import Ledger
from pondage.plan.deploy.columns import has_columns
from pondage.plan.deploy.planner import make_plan
from pondage.plan.deploy.reactor_contracts import reactor_promises
from pondage.plan.deploy.reactors import check_reactors, reactor_changes
from pondage.plan.deploy.values import Deployed, Plan


def planned(
    ledger: Ledger,
    environment: str,
    *,
    project: str,
    ponds: Sequence[PondDefinition],
    reactors: Sequence[ReactorDefinition],
    choice: Choice | None = None,
) -> tuple[Plan, list[Deployed]]:
    """Answer what a deploy would do, and what it was compared with; raises `RegistryError` for a foreign reactor.

    With a choice only the Ponds that an environment below another one needs of its own are in the plan.
    """
    with ledger.reading() as tx:
        found = deployed(tx, ledger, environment)
        parent = parent_of(tx, environment, choice or Choice())
        above = found_above(tx, ledger, environment, parent)
        running = deployed_reactors(tx, environment)
        schemas = published_schemas(tx, environment) if has_columns(ponds) else {}
        fed = fed_schemas(tx, environment, ponds)
    check_reactors(reactors, running, project=project, environment=environment)
    against = with_foreign(found, above, project=project)
    here = [each for each in against if each.environment == environment]
    made = make_plan(
        ponds,
        against,
        project=project,
        environment=environment,
        reactors=reactor_changes(reactors, running, project=project),
        schemas=schemas,
        promises=reactor_promises(ponds, reactors, project=project, here=here, running=running, fed=fed),
    )
    return made if choice is None else only_own(made, found, above, choice, parent), found
