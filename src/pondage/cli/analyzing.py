"""`plan --analyze`: a worker calls the Ripples on empty tables, so that the plan knows their schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pondage.cli.asking import answer_of
from pondage.cli.desk import Here
from pondage.cli.session import Session, workers

if TYPE_CHECKING:
    from pondage.plan.values import Deployed, Plan
    from pondage.views.plan import PlanView


def analyzed(opened: Session, plan: Plan, found: list[Deployed], view: PlanView, *, timeout_s: float) -> PlanView:
    """Answer the plan with the schemas of everything that computes anew. Nothing is deployed or written."""
    import msgspec

    from pondage.ledger.trials import published_schemas, submit_infer
    from pondage.plan.schemas import analysed
    from pondage.read.archive import pack_project
    from pondage.views.analysis import InferredSchema, with_schemas
    from pondage.views.questions import known_as

    with opened.ledger.reading() as tx:
        known = published_schemas(tx, opened.environment)
    ponds, asked = analysed(plan, list(known), _same_ripples(plan, found))
    if not asked:
        return msgspec.structs.replace(view, is_analyzed=True)
    archive = pack_project(opened.project).data
    with workers(opened):
        dispatch = submit_infer(
            opened.ledger, opened.environment, ponds, asked=asked, known=known, archive=archive, timeout_s=timeout_s
        )
        answer = answer_of(
            Here(opened), known_as(dispatch), timeout_s=timeout_s, hint="pondage plan shows the rest without a worker"
        )
    return with_schemas(view, plan, msgspec.json.decode(answer, type=tuple[InferredSchema, ...]), known)


def _same_ripples(plan: Plan, found: list[Deployed]) -> list[str]:
    """Answer the tables whose code is deployed as it is in the files."""
    deployed = {
        (each.key, ripple.name): ripple.digest
        for each in found
        if each.environment == plan.environment
        for ripple in each.definition.ripples
    }
    from pondage.plan.graph import key_of

    return [
        f"{key_of(pond)}.{ripple.name}"
        for pond in plan.ponds
        for ripple in pond.ripples
        if deployed.get((key_of(pond), ripple.name)) == ripple.digest
    ]
