"""Routes that keep an installation: secrets (which go in and never come out), environments, health, what is deleted."""

from __future__ import annotations

import threading
from typing import Annotated

import msgspec

from pondage.connect.vault import open_vault
from pondage.define.values.names import checked_name
from pondage.engine.services.vacuum import VacuumReport, vacuum
from pondage.ledger.act import removal
from pondage.ledger.act.removal import RemovedEnvironment
from pondage.ledger.tables import history
from pondage.project.project import Project
from pondage.server.demanding import Plain
from pondage.server.levels import Level
from pondage.server.problems import Refused
from pondage.server.reading import Count
from pondage.server.table import Call, Route
from pondage.views import find
from pondage.views.answers import DoctorView
from pondage.views.installation import secrets
from pondage.views.installation.doctor import examined
from pondage.views.installation.secrets import GoneSecret, KeptSecret, SecretsView
from pondage.views.ponds.troubles import AlertsView, TestedAlert, alerts, try_rule

_EXAMINING = threading.Lock()


class SecretBody(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value that no route ever answers."""

    value: Annotated[str, msgspec.Meta(min_length=1, max_length=50_000)]


class VacuumBody(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether only to say what would be deleted."""

    dry_run: bool = False


class AlertsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many, the newest, and whether only those that are not over."""

    limit: Count = 20
    is_open: bool = False


class DoctorQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether the recorded history is stepped again, and whether a Spark is started to look at its executors."""

    replay: bool = False
    cluster: bool = False


def _secrets(call: Call) -> SecretsView:
    with call.ledger.reading() as tx:
        return secrets.names(tx, call.environment)


def _put_secret(call: Call) -> KeptSecret:
    name = checked_name(call.path["name"], what="secret")
    vault = open_vault(_project(call).secret_key, is_created=True)
    sent = call.sent(SecretBody)
    sealed = vault.seal(sent.value, environment=call.environment, name=name)
    with call.ledger.transaction() as tx:
        return secrets.put(tx, call.environment, name, sealed, by=call.by(sent.note))


def _remove_secret(call: Call) -> GoneSecret:
    with call.ledger.transaction() as tx:
        return secrets.remove(tx, call.environment, call.path["name"], by=call.by())


def _remove_environment(call: Call) -> RemovedEnvironment:
    name = call.path["name"]
    if call.token is None or not call.token.may_see(name):
        raise Refused(404, "NO_ENVIRONMENT", f"there is no environment {name[:63]!r}", hint="pondage env list")
    return removal.remove(call.ledger, name, by=call.by())


def _alerts(call: Call) -> AlertsView:
    query = call.asked(AlertsQuery)
    with call.ledger.reading() as tx:
        return alerts(tx, call.environment, limit=query.limit, is_open=query.is_open)


def _test_alert(call: Call) -> TestedAlert:
    rules = _project(call).alerts
    rule = rules.get(call.path["rule"])
    if rule is not None and call.environment not in rule.environments:
        rules = {}
    return try_rule(call.ledger, call.environment, rules, call.path["rule"], by=call.by())


def _doctor(call: Call) -> DoctorView:
    query = call.asked(DoctorQuery)
    # Each look starts a process, and perhaps a Spark: one at a time.
    if not _EXAMINING.acquire(blocking=False):
        raise Refused(429, "BUSY", "somebody else asks the doctor just now", hint="ask again in a minute")
    try:
        return examined(_project(call).root, is_replaying=query.replay, has_cluster=query.cluster)
    finally:
        _EXAMINING.release()


def _vacuum(call: Call) -> VacuumReport:
    if call.token is None or "*" not in call.token.environments:
        raise Refused(403, "FORBIDDEN", "data of every environment is looked at: the token must be bound to all")
    sent = call.sent(VacuumBody)
    report = vacuum(call.ledger, _project(call).warehouse, dry_run=sent.dry_run)
    if not sent.dry_run:
        with call.ledger.transaction() as tx:
            environment = find.environment_id(tx, call.environment)
            history.audit(tx, call.by(sent.note), environment=environment, verb="vacuum", target="*")
    return report


def _project(call: Call) -> Project:
    if call.service.project is None:
        raise Refused(503, "NO_PROJECT", "this server serves a ledger without a project")
    return call.service.project


ROUTES = (
    Route(
        method="GET",
        path="/v1/secrets",
        level=Level.READ,
        handler=_secrets,
        response=SecretsView,
        summary="The names of the secrets. Values are never shown.",
    ),
    Route(
        method="POST",
        path="/v1/secrets/{name}",
        level=Level.ADMIN,
        handler=_put_secret,
        request=SecretBody,
        response=KeptSecret,
        summary="Store a secret, in place of the one before.",
    ),
    Route(
        method="DELETE",
        path="/v1/secrets/{name}",
        level=Level.ADMIN,
        handler=_remove_secret,
        response=GoneSecret,
        summary="Delete a secret.",
    ),
    Route(
        method="DELETE",
        path="/v1/environments/{name}",
        level=Level.ADMIN,
        handler=_remove_environment,
        response=RemovedEnvironment,
        summary="Take an environment away, with the data that no other one shows.",
    ),
    Route(
        method="GET",
        path="/v1/alerts",
        level=Level.READ,
        handler=_alerts,
        query=AlertsQuery,
        response=AlertsView,
        summary="What somebody was told of: one alert for each root cause.",
    ),
    Route(
        method="POST",
        path="/v1/alerts/{rule}/test",
        level=Level.OPERATE,
        handler=_test_alert,
        request=Plain,
        response=TestedAlert,
        summary="Send a message that means nothing to the webhook of a rule.",
        status=202,
    ),
    Route(
        method="GET",
        path="/v1/doctor",
        level=Level.OPERATE,
        handler=_doctor,
        query=DoctorQuery,
        response=DoctorView,
        summary="Whether everything is there that is needed, and whether anything is stuck.",
        is_relayed=True,
    ),
    Route(
        method="POST",
        path="/v1/vacuum",
        level=Level.ADMIN,
        handler=_vacuum,
        request=VacuumBody,
        response=VacuumReport,
        summary="Delete data that nobody needs.",
    ),
)
