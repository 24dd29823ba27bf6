"""Routes that plan and deploy: the client reads its modules and sends definitions and code; nothing is run here."""

from __future__ import annotations

from collections.abc import Mapping

from pondage.ledger.act.branching import Choice
from pondage.ledger.tables import actors, environments
from pondage.operations.deploying import Analysing, Declared, begin_analysis, deploy_declared, plan_inferred
from pondage.operations.going_back import (
    PondBack,
    ProjectBack,
    Promotion,
    back_to_deployment,
    back_to_run,
    promotion,
    target_of,
)
from pondage.server.asking import check_room
from pondage.server.demanding import Plain
from pondage.server.levels import Level
from pondage.server.problems import Refused
from pondage.server.question_ids import sealed
from pondage.server.table import Call, Route
from pondage.server.uploads import LARGE, Slots, Upload, check_upload
from pondage.views.plans.analysis import InferredSchema
from pondage.views.plans.plan import PlanView


class PlanBody(Upload, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An upload, and what was chosen about an environment below another one; without it a new one is below none.

    `inferred` are the schemas that an analysis found.
    """

    choice: Choice | None = None
    inferred: list[InferredSchema] | None = None


class DeployBody(PlanBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An upload, and the digest of the plan that was seen: another one is refused."""

    expected: str | None = None


class PondBackBody(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The Run to show again: its id, or its number."""

    run: str


class ProjectBackBody(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The project that goes back to what it had deployed before."""

    project: str
    is_dry: bool = False
    pools: Mapping[str, Slots] = {}


class PromoteBody(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ponds of the environment, and where they are shown, else in the one above."""

    ponds: list[str]
    to: str | None = None
    is_deployed: bool = False


def _declared(call: Call, sent: PlanBody) -> Declared:
    """Check an upload; raises what is wrong with the archive, a name, a digest, or with the environment above."""
    check_upload(sent)
    choice = sent.choice or Choice(is_empty=True)
    if not choice.is_empty:
        _check_above(call, choice)
    return Declared(
        project=sent.project,
        archive=sent.archive,
        ponds=sent.ponds,
        reactors=sent.reactors,
        jobs=sent.jobs,
        pools=sent.pools,
        exposed=sent.exposed,
        choice=choice,
    )


def _check_above(call: Call, choice: Choice) -> None:
    """Refuse a new environment that would read one which the token does not see."""
    with call.ledger.reading() as tx:
        found = actors.environment(tx, call.environment)
        is_there = found is not None and environments.is_used(tx, found)
    above = choice.parent or (None if is_there else choice.parents.get(call.environment, environments.MAIN))
    if above is not None and above != call.environment and not _may_see(call, above):
        raise Refused(404, "NO_ENVIRONMENT", f"there is no environment {above[:63]!r}", hint="pondage deploy --empty")


def _may_see(call: Call, environment: str) -> bool:
    return call.token is not None and call.token.may_see(environment)


def _plan(call: Call) -> PlanView:
    sent = call.sent(PlanBody)
    return plan_inferred(call.ledger, call.environment, _declared(call, sent), sent.inferred)


def _analyse(call: Call) -> Analysing:
    sent = call.sent(PlanBody)
    check_room(call)
    begun, dispatch = begin_analysis(call.ledger, call.environment, _declared(call, sent))
    return begun if dispatch is None else Analysing(answer=sealed(call, dispatch))


def _deploy(call: Call) -> PlanView:
    sent = call.sent(DeployBody)
    return deploy_declared(
        call.ledger, call.environment, _declared(call, sent), expected=sent.expected, by=call.by(sent.note)
    )


def _roll_back_pond(call: Call) -> PondBack:
    sent = call.sent(PondBackBody)
    return back_to_run(call.ledger, call.environment, call.path["pond"], sent.run, by=call.by(sent.note))


def _roll_back(call: Call) -> ProjectBack:
    sent = call.sent(ProjectBackBody)
    return back_to_deployment(
        call.ledger, call.environment, sent.project, is_dry=sent.is_dry, pools=sent.pools, by=call.by(sent.note)
    )


def _promote(call: Call) -> Promotion:
    sent = call.sent(PromoteBody)
    to = sent.to or target_of(call.ledger, call.environment)
    if not _may_see(call, to):
        raise Refused(404, "NO_ENVIRONMENT", f"there is no environment {to[:63]!r}", hint="pondage env list")
    return promotion(
        call.ledger, call.environment, sent.ponds, to=to, is_deployed=sent.is_deployed, by=call.by(sent.note)
    )


ROUTES = (
    Route(
        method="POST",
        path="/v1/plan",
        level=Level.READ,
        handler=_plan,
        may_begin=True,
        request=PlanBody,
        response=PlanView,
        summary="What a deploy would change; nothing is stored.",
        limit_bytes=LARGE,
    ),
    Route(
        method="POST",
        path="/v1/analyses",
        level=Level.OPERATE,
        handler=_analyse,
        request=PlanBody,
        response=Analysing,
        summary="Let a worker call changed Ripples on empty tables; its answer goes into a plan as `inferred`.",
        status=202,
        limit_bytes=LARGE,
        may_begin=True,
    ),
    Route(
        method="POST",
        path="/v1/deploy",
        level=Level.OPERATE,
        handler=_deploy,
        may_begin=True,
        request=DeployBody,
        response=PlanView,
        summary="Put Ponds, reactors, jobs and what trees may use in force, with their code.",
        limit_bytes=LARGE,
    ),
    Route(
        method="POST",
        path="/v1/ponds/{pond}/rollback",
        level=Level.OPERATE,
        handler=_roll_back_pond,
        request=PondBackBody,
        response=PondBack,
        summary="Show an older completed Run of a Pond again; nothing is computed.",
    ),
    Route(
        method="POST",
        path="/v1/rollback",
        level=Level.OPERATE,
        handler=_roll_back,
        request=ProjectBackBody,
        response=ProjectBack,
        summary="Deploy what a project had deployed before.",
    ),
    Route(
        method="POST",
        path="/v1/promote",
        level=Level.OPERATE,
        handler=_promote,
        request=PromoteBody,
        response=Promotion,
        summary="Show what an environment made in the one above, without computing anything.",
    ),
)
