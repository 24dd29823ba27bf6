"""What somebody has read from a project's files, planned and deployed: the same for the command line and the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from pondage.define.job.exposed import Exposed
from pondage.define.pond.definition import PondDefinition
from pondage.define.reactor.reaction import ReactorDefinition
from pondage.errors import LedgerError
from pondage.ledger.act.branching import Choice, begin
from pondage.ledger.act.deploy import deploy
from pondage.ledger.act.exposed import NOTHING, former, own
from pondage.ledger.act.job_deploys import deploy_jobs, job_changes
from pondage.ledger.act.plan_basis import planned
from pondage.ledger.commit.trials import published_schemas, submit_infer
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors
from pondage.ledger.tables.history import Caller
from pondage.ledger.tables.job_plans import StoredJob
from pondage.operations.questions import known_as
from pondage.plan.deploy.graph import key_of
from pondage.plan.deploy.planner import checked
from pondage.plan.deploy.schemas import analysed
from pondage.plan.deploy.values import Deployed, Plan
from pondage.plan.flow.exposed import exposed_changes
from pondage.views.plans.analysis import InferredSchema, with_schemas
from pondage.views.plans.plan import PlanView, plan_view


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """A project as the machine with its files read it, its code as a zip file, and what the caller chose."""

    project: str
    archive: bytes
    ponds: Sequence[PondDefinition]
    reactors: Sequence[ReactorDefinition]
    jobs: Mapping[str, StoredJob]
    pools: Mapping[str, int]
    choice: Choice | None = None
    exposed: Exposed = NOTHING


def plan_declared(ledger: Ledger, environment: str, declared: Declared) -> tuple[Plan, list[Deployed], PlanView]:
    """Answer the plan, what it was compared with, and the view that tells about jobs too."""
    plan, found = planned(
        ledger,
        environment,
        project=declared.project,
        ponds=declared.ponds,
        reactors=declared.reactors,
        choice=declared.choice,
    )
    if declared.choice is not None and declared.choice.names:
        # Some Ponds were asked for, and nothing else.
        plan = msgspec.structs.replace(plan, reactors=())
        return plan, found, plan_view(plan)
    view = plan_view(plan)
    with ledger.reading() as tx:
        jobs = job_changes(tx, environment, project=declared.project, jobs=declared.jobs)
        is_new = bool(plan.parent) and actors.environment(tx, environment) is None
        visible = plan.parent if is_new else environment
        before = former(tx, visible, project=declared.project, declared=declared.exposed)
    exposed = exposed_changes(declared.exposed, before)
    is_same = all(one.change == "unchanged" for one in jobs) and all(one.change == "unchanged" for one in exposed)
    return plan, found, msgspec.structs.replace(view, jobs=jobs, exposed=exposed, is_empty=view.is_empty and is_same)


class Analysing(msgspec.Struct, frozen=True, kw_only=True):
    """A question for the schemas of what would compute anew; none when nothing would."""

    answer: str | None = None


def begin_analysis(
    ledger: Ledger, environment: str, declared: Declared, *, timeout_s: float | None = None
) -> tuple[Analysing, int | None]:
    """Ask a worker to call the changed Ripples, and those that read them, on empty tables."""
    plan, found, _ = plan_declared(ledger, environment, declared)
    checked(plan)
    with ledger.reading() as tx:
        known = published_schemas(tx, environment)
    ponds, asked = analysed(plan, list(known), _same_ripples(plan, found))
    if not asked:
        return Analysing(), None
    dispatch = submit_infer(
        ledger, environment, ponds, asked=asked, known=known, archive=declared.archive, timeout_s=timeout_s
    )
    return Analysing(answer=known_as(dispatch)), dispatch


def plan_inferred(
    ledger: Ledger, environment: str, declared: Declared, inferred: Sequence[InferredSchema] | None
) -> PlanView:
    """Answer the plan, with the schemas that a worker found where there are some."""
    plan, _, view = plan_declared(ledger, environment, declared)
    if inferred is None:
        return view
    with ledger.reading() as tx:
        known = published_schemas(tx, environment)
    return with_schemas(view, plan, inferred, known)


def _same_ripples(plan: Plan, found: list[Deployed]) -> list[str]:
    """Answer the tables whose code is deployed as it is in the files."""
    deployed = {
        (each.key, ripple.name): ripple.digest
        for each in found
        if each.environment == plan.environment
        for ripple in each.definition.ripples
    }
    return [
        f"{key_of(pond)}.{ripple.name}"
        for pond in plan.ponds
        for ripple in pond.ripples
        if deployed.get((key_of(pond), ripple.name)) == ripple.digest
    ]


def deploy_declared(
    ledger: Ledger, environment: str, declared: Declared, *, expected: str | None = None, by: Caller | None = None
) -> PlanView:
    """Carry out the plan and answer it. Raises `PlanError` for one with problems, and `LedgerError` (PLAN_OUTDATED)
    when it is not the plan that was seen; nothing is changed then."""
    plan, found, view = plan_declared(ledger, environment, declared)
    checked(plan)
    if expected is not None and expected != view.digest:
        raise LedgerError(
            "this is not the plan that was seen", hint="look at the plan again: pondage plan", code="PLAN_OUTDATED"
        )
    if plan.parent:
        begin(ledger, environment, plan.parent)
    if any(change.change != "unchanged" for change in view.jobs):
        deploy_jobs(ledger, environment, project=declared.project, jobs=declared.jobs, archive=declared.archive, by=by)
    is_exposed = any(change.change != "unchanged" for change in view.exposed)
    if plan.is_empty and not is_exposed:
        return view
    has_names = declared.choice is not None and bool(declared.choice.names)
    deploy(
        ledger,
        environment,
        project=declared.project,
        # Unchanged Ponds take the new archive too, so that one worker with one code serves all of them.
        definitions=list(plan.ponds),
        removed=list(plan.removed),
        archive=declared.archive,
        summary=msgspec.json.encode(view).decode(),
        expected=found,
        reactors=None if has_names else declared.reactors,
        pool_sizes=declared.pools,
        parent=plan.parent or None,
        exposed=declared.exposed if is_exposed or _has_own(ledger, environment, declared) else None,
        by=by,
    )
    return view


def _has_own(ledger: Ledger, environment: str, declared: Declared) -> bool:
    """Answer whether what the project exposes is of this environment, and goes along with its code."""
    if declared.choice is not None and declared.choice.names:
        return False
    with ledger.reading() as tx:
        identity = actors.environment(tx, environment)
        return identity is not None and declared.project in own(tx, identity)
