"""Asks that plan, deploy and go back. The files are read here; definitions and code are what is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pondage.cli.desk import asks
from pondage.cli.session import Session
from pondage.define.definition import PondDefinition
from pondage.define.reaction import ReactorDefinition
from pondage.ledger.branching import Choice
from pondage.ledger.job_plans import StoredJob
from pondage.ledger.verbs import who
from pondage.views.analysis import InferredSchema
from pondage.views.deploying import Analysing, Declared, begin_analysis, deploy_declared, plan_inferred
from pondage.views.going_back import PondBack, ProjectBack, Promotion, back_to_deployment, back_to_run, promotion
from pondage.views.plan import PlanView


@asks("POST /v1/plan")
def plan(
    here: Session,
    *,
    project: str,
    archive: bytes,
    ponds: Sequence[PondDefinition],
    reactors: Sequence[ReactorDefinition],
    jobs: Mapping[str, StoredJob],
    pools: Mapping[str, int],
    choice: Choice,
    inferred: Sequence[InferredSchema] | None = None,
) -> PlanView:
    """Ask what a deploy would change, with the schemas that a worker found."""
    declared = Declared(
        project=project, archive=archive, ponds=ponds, reactors=reactors, jobs=jobs, pools=pools, choice=choice
    )
    return plan_inferred(here.ledger, here.environment, declared, inferred)


@asks("POST /v1/analyses", kept=("timeout_s",))
def analysis(
    here: Session,
    *,
    project: str,
    archive: bytes,
    ponds: Sequence[PondDefinition],
    reactors: Sequence[ReactorDefinition],
    jobs: Mapping[str, StoredJob],
    pools: Mapping[str, int],
    choice: Choice,
    timeout_s: float,
) -> Analysing:
    """Ask for the schemas of what would compute anew."""
    declared = Declared(
        project=project, archive=archive, ponds=ponds, reactors=reactors, jobs=jobs, pools=pools, choice=choice
    )
    return begin_analysis(here.ledger, here.environment, declared, timeout_s=timeout_s)[0]


@asks("POST /v1/deploy")
def deploy(
    here: Session,
    *,
    project: str,
    archive: bytes,
    ponds: Sequence[PondDefinition],
    reactors: Sequence[ReactorDefinition],
    jobs: Mapping[str, StoredJob],
    pools: Mapping[str, int],
    choice: Choice,
) -> PlanView:
    """Put it in force."""
    declared = Declared(
        project=project, archive=archive, ponds=ponds, reactors=reactors, jobs=jobs, pools=pools, choice=choice
    )
    return deploy_declared(here.ledger, here.environment, declared)


@asks("POST /v1/ponds/{pond}/rollback")
def roll_back_pond(here: Session, *, pond: str, run: str) -> PondBack:
    """Show an older completed Run of a Pond again."""
    return back_to_run(here.ledger, here.environment, pond, run, who=who())


@asks("POST /v1/rollback")
def roll_back(here: Session, *, project: str, is_dry: bool, pools: Mapping[str, int]) -> ProjectBack:
    """Deploy what a project had deployed before."""
    return back_to_deployment(here.ledger, here.environment, project, is_dry=is_dry, pools=pools)


@asks("POST /v1/promote")
def promote(here: Session, *, ponds: Sequence[str], to: str | None, is_deployed: bool) -> Promotion:
    """Show what an environment made in the one above."""
    return promotion(here.ledger, here.environment, ponds, to=to, is_deployed=is_deployed, who=who())
