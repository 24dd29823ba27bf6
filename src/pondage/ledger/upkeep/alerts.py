"""Alerts as rows: what somebody was told of, and whether it is over. What is sent is a row of the outbox."""

from __future__ import annotations

import msgspec

from pondage.define.project.alert import AlertRule
from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.ids import Ids
from pondage.ledger.tables import history
from pondage.ledger.tables.history import Caller


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is wrong: one for each root cause. `affected` is what suffers from it."""

    kind: str
    cause: str
    subject: str
    text: str
    hint: str = ""
    affected: tuple[str, ...] = ()


class AlertRow(msgspec.Struct, frozen=True, kw_only=True):
    """An alert. While it is open nobody is told of the same cause again."""

    id: str
    rule: str
    environment: str
    trouble: Trouble
    opened_at: int
    resolved_at: int | None = None


class AlertOrder(msgspec.Struct, frozen=True, kw_only=True):
    """The payload of an `alert` row of the outbox: what to say of which alert, and to whom. Never a secret itself."""

    alert: str
    state: str
    url: str
    secret: str
    allow_private: bool = False


_COLUMNS = """a.public_id AS id, a.rule AS rule, a.trouble AS trouble, a.opened_at AS opened_at,
              a.resolved_at AS resolved_at, e.name AS environment"""


def open_of(tx: Transaction, environment: int, rule: str) -> list[AlertRow]:
    """Answer the open alerts of a rule."""
    return tx.rows(
        f"""SELECT {_COLUMNS} FROM alerts a JOIN environments e ON e.id = a.environment
            WHERE a.environment = :environment AND a.rule = :rule AND a.resolved_at IS NULL ORDER BY a.id""",
        AlertRow,
        environment=environment,
        rule=rule,
    )


def newest(tx: Transaction, environment: int, *, limit: int, is_open: bool = False) -> list[AlertRow]:
    """Answer the newest alerts of an environment, the newest first."""
    condition = "AND a.resolved_at IS NULL" if is_open else ""
    return tx.rows(
        f"""SELECT {_COLUMNS} FROM alerts a JOIN environments e ON e.id = a.environment
            WHERE a.environment = :environment {condition} ORDER BY a.id DESC LIMIT :limit""",
        AlertRow,
        environment=environment,
        limit=limit,
    )


def find(tx: Transaction, public_id: str) -> AlertRow | None:
    """Answer an alert by its id."""
    return tx.row(
        f"""SELECT {_COLUMNS} FROM alerts a JOIN environments e ON e.id = a.environment
            WHERE a.public_id = :public_id""",
        AlertRow,
        public_id=public_id,
    )


def raise_alert(tx: Transaction, ids: Ids, environment: int, rule: AlertRule, trouble: Trouble) -> bool:
    """Open an alert and put what is to be said of it into the outbox; False when somebody else did just now."""
    public_id = ids.new("a")
    made = tx.row(
        """INSERT INTO alerts (public_id, environment, rule, kind, cause, trouble, opened_at)
           VALUES (:public_id, :environment, :rule, :kind, :cause, :trouble, :now)
           ON CONFLICT (environment, rule, kind, cause) WHERE resolved_at IS NULL DO NOTHING RETURNING id""",
        public_id=public_id,
        environment=environment,
        rule=rule.name,
        kind=trouble.kind,
        cause=trouble.cause,
        trouble=msgspec.json.encode(trouble).decode(),
    )
    if made is None:
        return False
    _say(tx, environment, rule, public_id, "open")
    return True


def resolve(tx: Transaction, environment: int, rule: AlertRule, public_id: str) -> bool:
    """Close an alert and say so; False when somebody else did just now."""
    done = tx.row(
        "UPDATE alerts SET resolved_at = :now WHERE public_id = :public_id AND resolved_at IS NULL RETURNING id",
        public_id=public_id,
    )
    if done is None:
        return False
    _say(tx, environment, rule, public_id, "resolved")
    return True


def put_test(tx: Transaction, ids: Ids, environment: int, rule: AlertRule, *, by: Caller) -> str:
    """Say something that means nothing, to see whether it arrives; answer the id of the alert."""
    public_id = ids.new("a")
    trouble = Trouble(
        kind="test", cause=public_id, subject=rule.name, text=f"{by.who} tries this alert: nothing is wrong"
    )
    tx.write(
        """INSERT INTO alerts (public_id, environment, rule, kind, cause, trouble, opened_at, resolved_at)
           VALUES (:public_id, :environment, :rule, 'test', :public_id, :trouble, :now, :now)""",
        public_id=public_id,
        environment=environment,
        rule=rule.name,
        trouble=msgspec.json.encode(trouble).decode(),
    )
    history.audit(tx, by, environment=environment, verb="alert test", target=rule.name)
    _say(tx, environment, rule, public_id, "test")
    return public_id


def _say(tx: Transaction, environment: int, rule: AlertRule, public_id: str, state: str) -> None:
    order = AlertOrder(alert=public_id, state=state, url=rule.url, secret=rule.secret, allow_private=rule.allow_private)
    history.put_outbox(tx, environment=environment, kind="alert", payload=order)
