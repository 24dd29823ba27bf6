"""`plan --analyze`: a worker calls the Ripples on empty tables, so that the plan knows their schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pondage.cli.client.desk import Desk
from pondage.cli.follow.answer import answer_of

if TYPE_CHECKING:
    from pondage.cli.asks.uploads import Read
    from pondage.ledger.act.branching import Choice
    from pondage.views.plans.plan import PlanView


def analyzed(opened: Desk, read: Read, choice: Choice, view: PlanView, *, timeout_s: float) -> PlanView:
    """Answer the plan with the schemas of everything that computes anew. Nothing is deployed or written."""
    import msgspec

    from pondage.cli.asks import deploying
    from pondage.views.plans.analysis import InferredSchema

    asked = opened.ask(deploying.analysis, **read, choice=choice, timeout_s=timeout_s).answer
    if asked is None:
        return msgspec.structs.replace(view, is_analyzed=True)
    hint = "pondage plan shows the rest without a worker"
    with opened.workers():
        answer = answer_of(opened, asked, timeout_s=timeout_s, hint=hint)
    inferred = msgspec.json.decode(answer, type=tuple[InferredSchema, ...])
    return opened.ask(deploying.plan, **read, choice=choice, inferred=inferred)
