"""Keeping an installation: who answers, its health, who changed what, who was told of trouble, what is deleted."""

from __future__ import annotations

from typing import Annotated

import msgspec

import pondage
from pondage.engine.services.vacuum import VacuumReport
from pondage.engine.services.vacuum import vacuum as sweep
from pondage.errors import NotFound
from pondage.ledger.tables import actors
from pondage.ledger.upkeep.alerts import put_test
from pondage.operations.operation import Context, Level, LimitRequest, Moment, NotedRequest, Request, operation
from pondage.views.answers import DoctorView
from pondage.views.installation.about import AboutView
from pondage.views.installation.audit import AuditView
from pondage.views.installation.audit import audit as read_audit
from pondage.views.installation.doctor import examined
from pondage.views.ponds.troubles import AlertsView, alerts
from pondage.views.words import list_text


class AuditRequest(Request, frozen=True, kw_only=True):
    """Which acts; `before` goes on behind a page."""

    verb: str | None = None
    target: str | None = None
    before: Moment | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100


class AlertsRequest(LimitRequest, frozen=True, kw_only=True):
    """How many, the newest, and whether only those that are not over."""

    is_open: bool = False


class RuleRequest(NotedRequest, frozen=True, kw_only=True):
    """A rule for alerts."""

    rule: str


class TestedAlert(msgspec.Struct, frozen=True, kw_only=True):
    """An alert that means nothing, on its way."""

    alert: str


class DoctorRequest(Request, frozen=True, kw_only=True):
    """Whether the recorded history is stepped again, and whether a Spark is started to look at its executors."""

    replay: bool = False
    cluster: bool = False


class VacuumRequest(NotedRequest, frozen=True, kw_only=True):
    """Whether only to say what would be deleted."""

    dry_run: bool = False


@operation("GET /v1/about", Level.READ, Request)
def about(context: Context, _: Request) -> AboutView:
    """Who answers, and about which environment."""
    with context.ledger.reading() as tx:
        at = tx.now
    warehouse = str(context.warehouse)
    return AboutView(version=str(pondage.__version__), environment=context.environment, warehouse=warehouse, at=at)


@operation("GET /v1/audit", Level.READ, AuditRequest)
def audit(context: Context, asked: AuditRequest) -> AuditView:
    """Who changed what, newest first."""
    with context.ledger.reading() as tx:
        return read_audit(
            tx, context.environment, verb=asked.verb, target=asked.target, before=asked.before, limit=asked.limit
        )


@operation("GET /v1/alerts", Level.READ, AlertsRequest)
def alert_list(context: Context, asked: AlertsRequest) -> AlertsView:
    """What somebody was told of: one alert for each root cause."""
    with context.ledger.reading() as tx:
        return alerts(tx, context.environment, limit=asked.limit, is_open=asked.is_open)


@operation("POST /v1/alerts/{rule}/test", Level.OPERATE, RuleRequest, status=202)
def alert_test(context: Context, asked: RuleRequest) -> TestedAlert:
    """Send a message that means nothing to the webhook of a rule."""
    rules = context.own_project.alerts
    rule = rules.get(asked.rule)
    if rule is None:
        raise no_rule(asked.rule, list(rules))
    with context.ledger.transaction() as tx:
        environment = actors.made_environment(tx, context.environment)
        return TestedAlert(alert=put_test(tx, context.ledger.ids, environment, rule, by=context.by))


def no_rule(name: str, known: list[str]) -> NotFound:
    """Answer that there is no such rule, and which there are."""
    others = f"there is {list_text(known)}" if known else "there is none"
    return NotFound(f"there is no rule {name!r} for alerts; {others}", hint="[alerts.NAME] in pondage.toml")


@operation("GET /v1/doctor", Level.OPERATE, DoctorRequest)
def doctor(context: Context, asked: DoctorRequest) -> DoctorView:
    """Whether everything is there that is needed, and whether anything is stuck."""
    return examined(context.own_project.root, is_replaying=asked.replay, has_cluster=asked.cluster)


@operation("POST /v1/vacuum", Level.ADMIN, VacuumRequest)
def vacuum(context: Context, asked: VacuumRequest) -> VacuumReport:
    """Delete data that nobody needs."""
    warehouse = context.own_project.warehouse
    if not asked.dry_run:
        # First, because it deletes in many steps: one that dies on the way has deleted something.
        with context.ledger.transaction() as tx:
            context.audit(tx, "vacuum", "*")
    return sweep(context.ledger, warehouse, dry_run=asked.dry_run)
