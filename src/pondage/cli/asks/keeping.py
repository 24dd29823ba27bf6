"""Asks that keep an installation: environments, tokens, secrets, checks of its health, what is deleted."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pondage.cli.client.desk import asks
from pondage.cli.client.session import Session
from pondage.connect.vault import open_vault
from pondage.engine.services.vacuum import VacuumReport
from pondage.engine.services.vacuum import vacuum as sweep
from pondage.ledger.act import removal
from pondage.ledger.act.removal import RemovedEnvironment
from pondage.ledger.tables import actors, api_tokens, history
from pondage.ledger.tables.api_tokens import TokenRow
from pondage.ledger.tables.history import this_person
from pondage.views.answers import DoctorView
from pondage.views.installation import environments as environment_views
from pondage.views.installation import secrets as secret_views
from pondage.views.installation.doctor import examined
from pondage.views.installation.environments import EnvironmentDetailView, EnvironmentsView
from pondage.views.installation.secrets import GoneSecret, KeptSecret, SecretsView
from pondage.views.ponds.troubles import AlertsView, TestedAlert, try_rule
from pondage.views.ponds.troubles import alerts as read_alerts


class MadeToken(msgspec.Struct, frozen=True, kw_only=True):
    """A new token, shown this once."""

    token: str
    row: TokenRow


@asks("GET /v1/environments")
def environments(here: Session) -> EnvironmentsView:
    """Ask for every environment."""
    with here.ledger.reading() as tx:
        return environment_views.all_environments(tx)


@asks("GET /v1/environments/{name}")
def environment(here: Session, *, name: str) -> EnvironmentDetailView:
    """Ask where each Pond of an environment is read from."""
    with here.ledger.reading() as tx:
        return environment_views.environment(tx, name)


@asks("DELETE /v1/environments/{name}")
def remove_environment(here: Session, *, name: str) -> RemovedEnvironment:
    """Take an environment away."""
    return removal.remove(here.ledger, name, by=this_person())


@asks("GET /v1/tokens")
def tokens(here: Session) -> list[TokenRow]:
    """Ask for every token."""
    with here.ledger.reading() as tx:
        return api_tokens.every(tx)


@asks("POST /v1/tokens")
def make_token(
    here: Session, *, name: str, level: str, environments: Sequence[str], lasts_us: int | None = None
) -> MadeToken:
    """Make a token."""
    with here.ledger.transaction() as tx:
        token, row = api_tokens.create(
            tx, here.ledger.ids, name=name, level=level, environments=tuple(environments), lasts_us=lasts_us
        )
        found = actors.environment(tx, here.environment, is_created=True)
        assert found is not None
        history.audit(tx, None, environment=found, verb="token create", target=row.id, detail=row.name)
    return MadeToken(token=token, row=row)


@asks("DELETE /v1/tokens/{token}")
def revoke_token(here: Session, *, token: str) -> TokenRow:
    """End a token."""
    with here.ledger.transaction() as tx:
        row = api_tokens.revoke(tx, token)
        found = actors.environment(tx, here.environment, is_created=True)
        assert found is not None
        history.audit(tx, None, environment=found, verb="token revoke", target=row.id, detail=row.name)
    return row


@asks("GET /v1/secrets")
def secrets(here: Session) -> SecretsView:
    """Ask for the names of the secrets."""
    with here.ledger.reading() as tx:
        return secret_views.names(tx, here.environment)


@asks("POST /v1/secrets/{name}")
def put_secret(here: Session, *, name: str, value: str) -> KeptSecret:
    """Store a secret."""
    vault = open_vault(here.project.secret_key, is_created=True)
    sealed = vault.seal(value, environment=here.environment, name=name)
    with here.ledger.transaction() as tx:
        return secret_views.put(tx, here.environment, name, sealed, by=this_person())


@asks("DELETE /v1/secrets/{name}")
def remove_secret(here: Session, *, name: str) -> GoneSecret:
    """Delete a secret."""
    with here.ledger.transaction() as tx:
        return secret_views.remove(tx, here.environment, name, by=this_person())


@asks("GET /v1/alerts")
def alerts(here: Session, *, limit: int, is_open: bool) -> AlertsView:
    """Ask for the newest alerts."""
    with here.ledger.reading() as tx:
        return read_alerts(tx, here.environment, limit=limit, is_open=is_open)


@asks("POST /v1/alerts/{rule}/test")
def test_alert(here: Session, *, rule: str) -> TestedAlert:
    """Try the webhook of a rule."""
    return try_rule(here.ledger, here.environment, here.project.alerts, rule, by=this_person())


@asks("GET /v1/doctor")
def doctor(here: Session, *, replay: bool, cluster: bool) -> DoctorView:
    """Ask whether everything is here that is needed, and whether anything is stuck."""
    return examined(here.project.root, is_replaying=replay, has_cluster=cluster)


@asks("POST /v1/vacuum")
def vacuum(here: Session, *, dry_run: bool) -> VacuumReport:
    """Delete what nobody needs."""
    if not dry_run:
        with here.ledger.transaction() as tx:
            found = actors.environment(tx, here.environment, is_created=True)
            assert found is not None
            history.audit(tx, this_person(), environment=found, verb="vacuum", target="*")
    return sweep(here.ledger, here.project.warehouse, dry_run=dry_run)
