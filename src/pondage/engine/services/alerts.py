"""Alerts: a service that holds the rules against the ledger, and what the outbox does to tell of them."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from pondage.connect import webhook
from pondage.connect.secrets import SecretStore
from pondage.define.project.alert import AlertRule
from pondage.engine.process.config import EngineConfig
from pondage.ledger.database.mapping import of_row
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors
from pondage.ledger.tables.history import OutboxRow
from pondage.ledger.upkeep import alerts
from pondage.ledger.upkeep.alerts import AlertOrder, Trouble
from pondage.views.ponds.troubles import facts, troubles

EVERY_S = 15.0

_log = logging.getLogger(__name__)


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """What a receiver gets. `id` is the same for `open` and `resolved`; moments are microseconds."""

    id: str
    state: str
    rule: str
    environment: str
    kind: str
    subject: str
    text: str
    hint: str
    affected: tuple[str, ...]
    opened_at: int
    resolved_at: int | None


class Alerter:
    """A service that looks for trouble now and then. What is new or over is a row, and a row of the outbox with it."""

    name = "alerts"
    is_woken = False

    def __init__(self, ledger: Ledger, rules: dict[str, AlertRule]) -> None:
        self._ledger = ledger
        self._rules = rules

    def run_once(self) -> float:
        """Open and resolve what is due."""
        for rule in self._rules.values():
            for environment in rule.environments:
                self._look(rule, environment)
        return EVERY_S

    def _look(self, rule: AlertRule, environment: str) -> None:
        with self._ledger.reading() as tx:
            identity = actors.environment(tx, environment)
            if identity is None:
                return
            now = {_key(each): each for each in troubles(facts(tx, self._ledger, environment, rule.on), rule)}
            known = {_key(each.trouble): each.id for each in alerts.open_of(tx, identity, rule.name)}
        if now.keys() == known.keys():
            return
        with self._ledger.transaction() as tx:
            for key, trouble in now.items():
                if key not in known and alerts.raise_alert(tx, self._ledger.ids, identity, rule, trouble):
                    _log.warning("alert %s: %s", rule.name, trouble.text)
            for key, public_id in known.items():
                if key not in now:
                    alerts.resolve(tx, identity, rule, public_id)


def _key(trouble: Trouble) -> tuple[str, str]:
    return trouble.kind, trouble.cause


Send = Callable[[OutboxRow], None]


def sender(ledger: Ledger, config: EngineConfig, *, deliver: Callable[..., None] = webhook.deliver) -> Send:
    """Answer what carries out an `alert` row: it says how the alert is, as of its row, to the webhook of its rule."""

    def send(row: OutboxRow) -> None:
        order = msgspec.json.decode(row.payload, type=AlertOrder)
        with ledger.reading() as tx:
            found = alerts.find(tx, order.alert)
        if found is None:
            return
        message = of_row(
            Message,
            found.trouble,
            id=found.id,
            state=order.state,
            rule=found.rule,
            environment=found.environment,
            opened_at=found.opened_at,
            resolved_at=found.resolved_at if order.state == "resolved" else None,
        )
        secret = SecretStore(ledger, environment=row.environment, key=config.secret_key)[order.secret]
        deliver(
            order.url,
            msgspec.json.encode(message),
            secret=secret,
            delivery=f"{found.id}-{order.state}",
            allow_private=order.allow_private,
        )

    return send
