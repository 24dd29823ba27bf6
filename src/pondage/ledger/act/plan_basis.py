"""A plan against what is deployed, from declarations that somebody has read: the command line, or the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pondage.define.pond.definition import PondDefinition
from pondage.define.reactor.reaction import ReactorDefinition
from pondage.define.values.names import PondKey
from pondage.ledger.act.bindings import columns_read, gone, holders
from pondage.ledger.act.branching import Choice, deployed, found_above, only_own, parent_of, with_foreign
from pondage.ledger.act.reactor_deploy import deployed_reactors, fed_schemas, former_reactors
from pondage.ledger.act.trials import published_schemas
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.plan.deploy.change import change_of
from pondage.plan.deploy.columns import has_columns
from pondage.plan.deploy.graph import key_of
from pondage.plan.deploy.majors import rebinding_problems
from pondage.plan.deploy.planner import Ground, make_plan, with_problems
from pondage.plan.deploy.reactor_binding import bound_reactors
from pondage.plan.deploy.reactor_contracts import reactor_promises
from pondage.plan.deploy.reactors import check_reactors, reactor_changes
from pondage.plan.deploy.values import Deployed, Plan, Problem


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
        schemas = published_schemas(tx, environment, parent) if has_columns(ponds) else {}
        fed = fed_schemas(tx, environment, ponds)
        former = former_reactors(tx, environment, project=project, parent=parent)
        there = [one.definition for one in found if one.environment == environment]
        reactors = bound_reactors(reactors, former, ponds, there)
        ground = ground_of(tx, ledger, environment, found, project=project, ponds=ponds, reactors=reactors)
    ground = ground._replace(above={one.key: one.definition for one in above}, ended=choice.ended if choice else ())
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
        promises=reactor_promises(
            ponds, reactors, project=project, here=here, running=running, fed=fed, ended=ground.ended
        ),
        ground=ground,
    )
    made = with_problems(made, rebinding_problems_of(ledger, environment, parent, made, ground.above))
    return made if choice is None else only_own(made, found, above, choice, parent), found


def ground_of(
    tx: Transaction,
    ledger: Ledger,
    environment: str,
    found: Sequence[Deployed],
    *,
    project: str,
    ponds: Sequence[PondDefinition],
    reactors: Sequence[ReactorDefinition],
) -> Ground:
    """Answer what was deployed here once, and what is bound to the Ponds that a project no longer declares."""
    declared = {key_of(pond) for pond in ponds}
    left = [each.key for each in found if each.project == project and each.key not in declared]
    if not left:
        return Ground(gone=gone(tx, environment))
    running = [each.declaration for each in deployed_reactors(tx, environment) if each.project != project]
    heard = [*(each.declaration for each in reactors), *running]
    return Ground(gone=gone(tx, environment), holders=holders(tx, ledger, environment, left, heard))


def rebinding_problems_of(
    ledger: Ledger, environment: str, parent: str | None, made: Plan, above: Mapping[PondKey, PondDefinition]
) -> list[Problem]:
    """Answer which Ponds would be bound to a major that lacks what they read; asked only when one moves.

    A Pond that is new here moves when it is bound otherwise than above.
    """
    own = {key_of(pond): pond for pond in made.ponds}
    new = [change_of(above[key], own[key]) for key in made.added if key in above]
    moving = [change for change in (*made.changed, *new) if change is not None and change.rebound]
    if not moving:
        return []
    with ledger.reading() as tx:
        read = columns_read(tx, ledger, environment, {change.key: own[change.key] for change in moving}, parent)
        schemas = published_schemas(tx, environment, parent)
    anew = {*(key for key in made.added if key not in above), *(change.key for change in made.changed if change.runs)}
    return rebinding_problems(moving, own, read, schemas, anew)
