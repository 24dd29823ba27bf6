"""Asks that plan, deploy and go back. The files are read here; definitions and code are what is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Unpack

from pondage.cli.asks.uploads import Chosen
from pondage.cli.client.desk import asks
from pondage.cli.client.session import Session
from pondage.ledger.tables.history import this_person
from pondage.operations.deploying import Analysing, Declared, begin_analysis, deploy_declared, plan_inferred
from pondage.operations.going_back import PondBack, ProjectBack, Promotion, back_to_deployment, back_to_run, promotion
from pondage.views.plans.analysis import InferredSchema
from pondage.views.plans.plan import PlanView


@asks("POST /v1/plan")
def plan(here: Session, *, inferred: Sequence[InferredSchema] | None = None, **read: Unpack[Chosen]) -> PlanView:
    """Ask what a deploy would change, with the schemas that a worker found."""
    return plan_inferred(here.ledger, here.environment, Declared(**read), inferred)


@asks("POST /v1/analyses", kept=("timeout_s",))
def analysis(here: Session, *, timeout_s: float, **read: Unpack[Chosen]) -> Analysing:
    """Ask for the schemas of what would compute anew."""
    return begin_analysis(here.ledger, here.environment, Declared(**read), timeout_s=timeout_s)[0]


@asks("POST /v1/deploy")
def deploy(here: Session, **read: Unpack[Chosen]) -> PlanView:
    """Put it in force."""
    return deploy_declared(here.ledger, here.environment, Declared(**read), by=this_person())


@asks("POST /v1/ponds/{pond}/rollback")
def roll_back_pond(here: Session, *, pond: str, run: str) -> PondBack:
    """Show an older completed Run of a Pond again."""
    return back_to_run(here.ledger, here.environment, pond, run, by=this_person())


@asks("POST /v1/rollback")
def roll_back(here: Session, *, project: str, is_dry: bool, pools: Mapping[str, int]) -> ProjectBack:
    """Deploy what a project had deployed before."""
    return back_to_deployment(here.ledger, here.environment, project, is_dry=is_dry, pools=pools, by=this_person())


@asks("POST /v1/promote")
def promote(here: Session, *, ponds: Sequence[str], to: str | None, is_deployed: bool) -> Promotion:
    """Show what an environment made in the one above."""
    return promotion(here.ledger, here.environment, ponds, to=to, is_deployed=is_deployed, by=this_person())
