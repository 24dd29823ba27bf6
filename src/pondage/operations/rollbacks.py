"""Older states shown again, and states shown one environment further up: decided here, computed nowhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from pondage.define.pond.definition import PondDefinition
from pondage.define.values.names import PondKey
from pondage.errors import NotFound
from pondage.ledger.act import promotion
from pondage.ledger.act.branching import deployed
from pondage.ledger.act.deploy import deploy
from pondage.ledger.act.exposed import NOTHING, of_projects
from pondage.ledger.act.plan_basis import ground_of, rebinding_problems_of
from pondage.ledger.act.promotion import CannotPromote, Promoted, definition_of
from pondage.ledger.act.reactor_deploy import deployed_reactors, fed_schemas
from pondage.ledger.act.rollback import is_made_by, newest_run_of, previous_deployment, roll_back_pond
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors, environments
from pondage.ledger.tables.archives import stored_archive
from pondage.ledger.tables.environments import environment_id
from pondage.ledger.tables.history import Caller
from pondage.operations.demand import PondRequest
from pondage.operations.operation import Context, Level, NotedRequest, operation
from pondage.operations.uploads import Slots
from pondage.plan.deploy.change import change_of
from pondage.plan.deploy.planner import checked, make_plan, with_problems
from pondage.plan.deploy.reactor_contracts import Promises, reactor_problems, reactor_promises
from pondage.plan.deploy.reactors import check_reactors, reactor_changes
from pondage.plan.deploy.values import Deployed, Plan
from pondage.plan.flow.exposed import exposed_changes
from pondage.views import find
from pondage.views.plans.plan import PlanView, plan_view
from pondage.views.ponds.status import StatusView, status
from pondage.views.runs.runs import RunDetailView, detail, runs


class PondBack(msgspec.Struct, frozen=True, kw_only=True):
    """A Pond that shows an older Run again; `is_shown`: at once, and not only when its active Run has ended."""

    pond: str
    older: RunDetailView
    is_shown: bool
    status: StatusView


class ProjectBack(msgspec.Struct, frozen=True, kw_only=True):
    """An older deployment in force again. `older_runs`: the Runs its code made, by number, of Ponds with newer data."""

    plan: PlanView
    environment: str
    deployed_at: int
    at: int
    older_runs: dict[str, int] = {}


class Promotion(msgspec.Struct, frozen=True, kw_only=True):
    """What one environment made, shown in another."""

    environment: str
    to: str
    ponds: list[Promoted]


class PondBackRequest(PondRequest, frozen=True, kw_only=True):
    """The Run to show again: its id, or its number."""

    run: str


class ProjectBackRequest(NotedRequest, frozen=True, kw_only=True):
    """The project that goes back to what it had deployed before."""

    project: str
    is_dry: bool = False
    pools: Mapping[str, Slots] = {}


class PromoteRequest(NotedRequest, frozen=True, kw_only=True):
    """Ponds of the environment, and where they are shown, else in the one above."""

    ponds: Sequence[str]
    to: str | None = None
    is_deployed: bool = False


@operation("POST /v1/ponds/{pond}/rollback", Level.OPERATE, PondBackRequest)
def rollback_pond(context: Context, asked: PondBackRequest) -> PondBack:
    """Show an older completed Run of a Pond again; nothing is computed.

    Raises `NotFound` and `CannotRollBack`.
    """
    ledger, environment, given = context.ledger, context.environment, asked.run
    with ledger.reading() as tx:
        found = find.environment_id(tx, environment)
        key = find.pond(tx, found, asked.pond).key
        identity = find.run_id(tx, found, given, of=key)
        if identity is None:
            raise NotFound(f"there is no Run {given!r}", hint=f"pondage runs {asked.pond}", code="NO_RUN")
        older = detail(tx, environment, identity)
    roll_back_pond(ledger, environment, key, identity, by=context.by)
    with ledger.reading() as tx:
        view = status(tx, ledger, environment, keys=[key])
        current = runs(tx, environment, pond=key, state="completed", limit=1).runs[0]
    return PondBack(pond=key, older=older, is_shown=current.rolled_back_to == older.run.number, status=view)


@operation("POST /v1/rollback", Level.OPERATE, ProjectBackRequest)
def rollback(context: Context, asked: ProjectBackRequest) -> ProjectBack:
    """Deploy what a project had deployed before.

    Raises `CannotRollBack` when there is nothing.
    """
    ledger, environment, project = context.ledger, context.environment, asked.project
    with ledger.reading() as tx:
        older = previous_deployment(tx, ledger, environment, project)
        found = deployed(tx, ledger, environment)
        running = deployed_reactors(tx, environment)
        fed = fed_schemas(tx, environment, older.definitions)
        current = of_projects(tx, environment)
        ground = ground_of(
            tx, ledger, environment, found, project=project, ponds=older.definitions, reactors=older.reactors
        )
        now = tx.now
    check_reactors(older.reactors, running, project=project, environment=environment)
    here = [each for each in found if each.environment == environment]
    plan = checked(
        make_plan(
            list(older.definitions),
            found,
            project=project,
            environment=environment,
            is_restored=True,
            reactors=reactor_changes(older.reactors, running, project=project),
            promises=reactor_promises(
                older.definitions, older.reactors, project=project, here=here, running=running, fed=fed
            ),
            ground=ground,
        )
    )
    view = plan_view(plan)
    exposed = exposed_changes(older.exposed, current.get(project, NOTHING))
    is_same = all(change.change == "unchanged" for change in exposed)
    view = msgspec.structs.replace(view, exposed=exposed, is_empty=view.is_empty and is_same)
    # Going back is no change that a version should tell.
    kept = tuple(each for each in view.messages if each.kind != "version")
    view = msgspec.structs.replace(view, messages=kept)
    back = ProjectBack(plan=view, environment=environment, deployed_at=older.deployed_at, at=now)
    if asked.is_dry or view.is_empty:
        return back
    deploy(
        ledger,
        environment,
        project=project,
        definitions=list(plan.ponds),
        removed=list(plan.removed),
        archive=older.archive,
        summary=msgspec.json.encode(view).decode(),
        expected=found,
        reactors=older.reactors,
        exposed=older.exposed,
        pool_sizes=asked.pools,
        restored=older.id,
        by=context.by,
    )
    return msgspec.structs.replace(back, older_runs=_older_runs(ledger, environment, view))


def _older_runs(ledger: Ledger, environment: str, view: PlanView) -> dict[str, int]:
    found: dict[str, int] = {}
    with ledger.reading() as tx:
        identity = environment_id(tx, environment)
        for pond in view.ponds:
            row = actors.pond(tx, identity, PondKey(pond.key)) if pond.change == "changed" and pond.runs else None
            run = None if row is None else newest_run_of(tx, row, row.definition)
            # A newer code whose Run failed has made nothing: readers see what is deployed again, and nothing is told.
            if run is not None and row is not None and not is_made_by(tx, row, row.definition):
                found[pond.key] = run
    return found


def target_of(ledger: Ledger, environment: str) -> str:
    """Answer the environment above; raises `CannotPromote` when there is none."""
    with ledger.reading() as tx:
        levels = environments.chain(tx, environments.find(tx, environment).id)
    if len(levels) == 1:
        raise CannotPromote(
            f"environment {environment} is below no other one", hint="pondage env list", code="NOT_BELOW"
        )
    return levels[1].name


@operation("POST /v1/promote", Level.OPERATE, PromoteRequest)
def promote(context: Context, asked: PromoteRequest) -> Promotion:
    """Show what an environment made in the one above, without computing anything.

    In the one above or in `to`, all or none; its code is deployed there first when that is asked for.
    """
    ledger, environment = context.ledger, context.environment
    with ledger.reading() as tx:
        keys = [PondKey(key) for key in find.keys(tx, environment, asked.ponds)]
    target = asked.to or target_of(ledger, environment)
    if asked.is_deployed:
        _deploy_above(ledger, environment, target, keys, context.by)
    promoted = promotion.promote(ledger, environment, target, keys, by=context.by)
    return Promotion(environment=environment, to=target, ponds=promoted)


def _deploy_above(ledger: Ledger, environment: str, target: str, keys: Sequence[PondKey], by: Caller) -> None:
    """Put the declarations that made these Runs in force above, where they are not yet.

    Everything is looked at first, as a deploy there would: raises `PlanError`, or `CannotPromote`, and changes nothing.
    """
    promotion.require_contracts(ledger, environment, target, keys)
    with ledger.reading() as tx:
        found = deployed(tx, ledger, target)
        made_by = {key: definition_of(tx, ledger, environment, key) for key in keys}
        known = {one.key: one.definition for one in found}
        wanted = [one for key, one in made_by.items() if key not in known or change_of(known[key], one) is not None]
        archives = {one.archive: stored_archive(tx, one.archive) for one in wanted}
    plans = _plans_above(ledger, target, found, wanted)
    for digest, archive in archives.items():
        some = [one for one in wanted if one.archive == digest]
        for project in sorted({one.project for one in some}):
            with ledger.reading() as tx:
                found = deployed(tx, ledger, target)
            deploy(
                ledger,
                target,
                project=project,
                definitions=[one for one in some if one.project == project],
                removed=[],
                archive=archive,
                summary=msgspec.json.encode(plan_view(plans[project])).decode(),
                expected=found,
                by=by,
            )


def _plans_above(
    ledger: Ledger, target: str, found: Sequence[Deployed], wanted: Sequence[PondDefinition]
) -> dict[str, Plan]:
    """Answer, for each project of the `wanted` Ponds, the checked plan of having them beside all that is there."""
    there = {one.key: one for one in found}
    after = there | {
        one.key: one for each in wanted for one in [Deployed(definition=each, project=each.project, environment=target)]
    }
    plans: dict[str, Plan] = {}
    for project in sorted({each.project for each in wanted}):
        ponds = [one.definition for one in after.values() if one.project == project]
        own = {one.key: one for one in found if one.project == project}
        others = {key: one for key, one in after.items() if one.project != project}
        with ledger.reading() as tx:
            running = deployed_reactors(tx, target)
        broken = reactor_problems(
            [],
            running,
            before={key: one.definition for key, one in there.items()},
            after={key: one.definition for key, one in after.items()},
        )
        plan = make_plan(
            ponds,
            [*(own | others).values()],
            project=project,
            environment=target,
            is_restored=True,
            promises=Promises(problems=broken),
        )
        plan = with_problems(plan, rebinding_problems_of(ledger, target, None, plan, {}))
        plans[project] = checked(plan)
    return plans
