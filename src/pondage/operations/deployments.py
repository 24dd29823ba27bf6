"""What somebody has read from a project's files, planned and deployed: the same for the command line and the server."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pondage.errors import LedgerError
from pondage.ledger.act.branching import Choice
from pondage.ledger.act.deploy import begin
from pondage.ledger.act.deploy import deploy as put_in_force
from pondage.ledger.act.exposed import former, own
from pondage.ledger.act.job_deploys import deploy_jobs, job_changes
from pondage.ledger.act.plan_basis import planned
from pondage.ledger.act.trials import published_schemas, submit_infer
from pondage.ledger.tables import actors
from pondage.operations.operation import Context, Level, LimitRequest, operation
from pondage.operations.questions import known_as
from pondage.operations.uploads import Chosen
from pondage.plan.deploy.graph import key_of
from pondage.plan.deploy.planner import checked
from pondage.plan.deploy.schemas import analysed
from pondage.plan.deploy.values import Deployed as Known
from pondage.plan.deploy.values import Plan
from pondage.plan.flow.exposed import exposed_changes
from pondage.views.plans.analysis import with_schemas
from pondage.views.plans.deployments import DeploymentsView
from pondage.views.plans.deployments import deployments as read_deployments
from pondage.views.plans.plan import PlanView, plan_view
from pondage.work.answers import InferredSchema


class Analysing(msgspec.Struct, frozen=True, kw_only=True):
    """A question for the schemas of what would compute anew; none when nothing would."""

    answer: str | None = None


class PlanRequest(Chosen, frozen=True, kw_only=True):
    """What would be deployed. `inferred` are the schemas that an analysis found."""

    inferred: Sequence[InferredSchema] | None = None


class AnalysisRequest(PlanRequest, frozen=True, kw_only=True):
    """What would be deployed, and how long the worker may take."""

    timeout_s: float | None = None


class DeployRequest(PlanRequest, frozen=True, kw_only=True):
    """What is deployed, and the digest of the plan that was seen: another one is refused."""

    expected: str | None = None


@operation("POST /v1/plan", Level.READ, PlanRequest, kind="look")
def plan(context: Context, asked: PlanRequest) -> PlanView:
    """What a deploy would change; nothing is stored."""
    made, _, view = _planned(context, asked)
    if asked.inferred is None:
        return view
    with context.ledger.reading() as tx:
        known = published_schemas(tx, context.environment, made.parent)
    return with_schemas(view, made, asked.inferred, known)


@operation("POST /v1/analyses", Level.OPERATE, AnalysisRequest, status=202, kept=("timeout_s",), kind="ask")
def analyze(context: Context, asked: AnalysisRequest) -> Analysing:
    """Let a worker call changed Ripples on empty tables; its answer goes into a plan as `inferred`."""
    made, found, _ = _planned(context, asked)
    checked(made)
    with context.ledger.reading() as tx:
        known = published_schemas(tx, context.environment, made.parent)
    ponds, unknown = analysed(made, list(known), _same_ripples(made, found))
    if not unknown:
        return Analysing()
    dispatch = submit_infer(
        context.ledger,
        context.environment,
        ponds,
        asked=unknown,
        known=known,
        archive=asked.archive,
        timeout_s=min(context.question_s, asked.timeout_s or context.question_s),
    )
    return Analysing(answer=known_as(dispatch))


@operation("POST /v1/deploy", Level.OPERATE, DeployRequest)
def deploy(context: Context, asked: DeployRequest) -> PlanView:
    """Put Ponds, reactors, jobs and what trees may use in force, with their code.

    Raises `PlanError` for a plan with problems, and `LedgerError` (PLAN_OUTDATED) when it is not the one that was
    seen; nothing is changed then.
    """
    ledger, environment = context.ledger, context.environment
    made, found, view = _planned(context, asked)
    checked(made)
    if asked.expected is not None and asked.expected != view.digest:
        raise LedgerError(
            "this is not the plan that was seen", hint="look at the plan again: pondage plan", code="PLAN_OUTDATED"
        )
    if made.parent:
        begin(ledger, environment, made.parent)
    has_jobs = any(change.change != "unchanged" for change in view.jobs)
    is_exposed = any(change.change != "unchanged" for change in view.exposed)
    if made.is_empty and not is_exposed:
        if has_jobs:
            deploy_jobs(
                ledger, environment, project=asked.project, jobs=asked.jobs, archive=asked.archive, by=context.by
            )
        return view
    put_in_force(
        ledger,
        environment,
        project=asked.project,
        # Unchanged Ponds take the new archive too, so that one worker with one code serves all of them.
        definitions=list(made.ponds),
        removed=list(made.removed),
        archive=asked.archive,
        summary=msgspec.json.encode(view).decode(),
        expected=found,
        reactors=None if _has_names(asked) else asked.reactors,
        pool_sizes=asked.pools,
        parent=made.parent or None,
        exposed=asked.exposed if is_exposed or _has_own(context, asked) else None,
        # Unchanged jobs take the new archive too, as Ponds do; a deploy of some Ponds by name says nothing of jobs.
        jobs=None if _has_names(asked) else asked.jobs,
        by=context.by,
    )
    return view


@operation("GET /v1/deployments", Level.READ, LimitRequest)
def deployments(context: Context, asked: LimitRequest) -> DeploymentsView:
    """The newest deployments and their plans."""
    with context.ledger.reading() as tx:
        return read_deployments(tx, context.environment, limit=asked.limit)


def _planned(context: Context, asked: Chosen) -> tuple[Plan, list[Known], PlanView]:
    """Answer the plan, what it was compared with, and the view that tells about jobs too."""
    ledger, environment = context.ledger, context.environment
    made, found = planned(
        ledger,
        environment,
        project=asked.project,
        ponds=asked.ponds,
        reactors=asked.reactors,
        choice=asked.choice or Choice(is_empty=True),
    )
    if _has_names(asked):
        # Some Ponds were asked for, and nothing else.
        made = msgspec.structs.replace(made, reactors=())
        return made, found, plan_view(made)
    view = plan_view(made)
    with ledger.reading() as tx:
        jobs = job_changes(tx, environment, project=asked.project, jobs=asked.jobs)
        is_new = bool(made.parent) and actors.environment(tx, environment) is None
        visible = made.parent if is_new else environment
        before = former(tx, visible, project=asked.project, declared=asked.exposed)
    exposed = exposed_changes(asked.exposed, before)
    is_same = all(one.change == "unchanged" for one in jobs) and all(one.change == "unchanged" for one in exposed)
    return made, found, msgspec.structs.replace(view, jobs=jobs, exposed=exposed, is_empty=view.is_empty and is_same)


def _same_ripples(made: Plan, found: list[Known]) -> list[str]:
    """Answer the tables whose code is deployed as it is in the files."""
    deployed = {
        (each.key, ripple.name): ripple.digest
        for each in found
        if each.environment == made.environment
        for ripple in each.definition.ripples
    }
    return [
        f"{key_of(pond)}.{ripple.name}"
        for pond in made.ponds
        for ripple in pond.ripples
        if deployed.get((key_of(pond), ripple.name)) == ripple.digest
    ]


def _has_names(asked: Chosen) -> bool:
    return asked.choice is not None and bool(asked.choice.names)


def _has_own(context: Context, asked: Chosen) -> bool:
    """Answer whether what the project exposes is of this environment, and goes along with its code."""
    if _has_names(asked):
        return False
    with context.ledger.reading() as tx:
        identity = actors.environment(tx, context.environment)
        return identity is not None and asked.project in own(tx, identity)
