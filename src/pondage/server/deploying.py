"""Routes that plan and deploy: the client reads its modules and sends definitions and code; nothing is run here."""

from __future__ import annotations

import msgspec

from pondage.ledger.branching import Choice
from pondage.ledger.deploy import deploy
from pondage.ledger.job_deploys import deploy_jobs, job_changes
from pondage.ledger.planning import planned
from pondage.plan.planning import checked
from pondage.plan.values import Deployed, Plan
from pondage.server.levels import Level
from pondage.server.problems import Refused
from pondage.server.table import Call, Route
from pondage.server.uploads import LARGE, Upload, check_upload
from pondage.views.plan import PlanView, plan_view


class DeployBody(Upload, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An upload, and the digest of the plan that was seen: another one is refused."""

    expected: str | None = None


def received(call: Call, upload: Upload) -> tuple[Plan, list[Deployed], PlanView]:
    """Check an upload and plan it; raises what is wrong with the archive, with a name, or with a digest."""
    check_upload(upload)
    plan, found = planned(
        call.ledger,
        call.environment,
        project=upload.project,
        ponds=upload.ponds,
        reactors=upload.reactors,
        # An environment that reads another one is made by `pondage deploy --env`; here it only stays one.
        choice=Choice(is_empty=True),
    )
    view = plan_view(plan)
    with call.ledger.reading() as tx:
        changes = job_changes(tx, call.environment, project=upload.project, jobs=upload.jobs)
    is_same = all(change.change == "unchanged" for change in changes)
    return plan, found, msgspec.structs.replace(view, jobs=changes, is_empty=view.is_empty and is_same)


def _plan(call: Call) -> PlanView:
    return received(call, call.sent(Upload))[2]


def _deploy(call: Call) -> PlanView:
    sent = call.sent(DeployBody)
    plan, found, view = received(call, sent)
    checked(plan)
    if sent.expected is not None and sent.expected != view.digest:
        raise Refused(409, "PLAN_OUTDATED", "this is not the plan that was seen", hint="POST /v1/plan")
    if any(change.change != "unchanged" for change in view.jobs):
        deploy_jobs(
            call.ledger,
            call.environment,
            project=sent.project,
            jobs=sent.jobs,
            archive=sent.archive,
            who=_said(call, sent),
        )
    if not plan.is_empty:
        deploy(
            call.ledger,
            call.environment,
            project=sent.project,
            definitions=list(plan.ponds),
            removed=list(plan.removed),
            archive=sent.archive,
            summary=msgspec.json.encode(view).decode(),
            expected=found,
            reactors=sent.reactors,
            pool_sizes=sent.pools,
            who=_said(call, sent),
        )
    return view


def _said(call: Call, sent: Upload) -> str:
    return f"{call.who}: {sent.note}" if sent.note else call.who


ROUTES = (
    Route(
        method="POST",
        path="/v1/plan",
        level=Level.READ,
        handler=_plan,
        request=Upload,
        response=PlanView,
        summary="What a deploy would change; nothing is stored.",
        limit_bytes=LARGE,
    ),
    Route(
        method="POST",
        path="/v1/deploy",
        level=Level.OPERATE,
        handler=_deploy,
        request=DeployBody,
        response=PlanView,
        summary="Put Ponds, reactors and jobs in force, with their code.",
        limit_bytes=LARGE,
    ),
)
