"""What triggers that follow their readers have learned: a row for each, beside the state of its Pond."""

from __future__ import annotations

import msgspec

from pondage.define.values.names import PondKey, split_key
from pondage.kernel.reading.profile import Profile
from pondage.ledger.database.driver import Transaction, numbered

_MOST = 500
_profiles = msgspec.json.Decoder(Profile)


class FollowedPond(msgspec.Struct, frozen=True, kw_only=True):
    """A Pond with such a trigger, the actor that is told of its readers, and its latest read that it was told of."""

    key: PondKey
    actor: int
    last_read: int


def load(tx: Transaction, pond: int, trigger: str) -> Profile:
    """Answer what a trigger has learned; raises KeyError when it follows nobody."""
    statement = 'SELECT body FROM profiles WHERE pond = :pond AND "trigger" = :trigger'
    body = tx.row(statement, str, pond=pond, trigger=trigger)
    if body is None:
        raise KeyError(trigger)
    return _profiles.decode(body)


def save(tx: Transaction, pond: int, trigger: str, profile: Profile) -> None:
    """Write what a trigger has learned; its actor is locked."""
    tx.change(
        """INSERT INTO profiles (pond, "trigger", body, last_read) VALUES (:pond, :trigger, :body, :last_read)
           ON CONFLICT (pond, "trigger") DO UPDATE SET body = excluded.body, last_read = excluded.last_read""",
        pond=pond,
        trigger=trigger,
        body=msgspec.json.encode(profile).decode(),
        last_read=profile.last_read,
    )


def forget(tx: Transaction, pond: int, trigger: str) -> None:
    """Delete what a trigger has learned that follows nobody any more."""
    tx.change('DELETE FROM profiles WHERE pond = :pond AND "trigger" = :trigger', pond=pond, trigger=trigger)


def followed(tx: Transaction, environment: int, keys: list[PondKey]) -> list[FollowedPond]:
    """Answer those of these Ponds that have a trigger which follows its readers."""
    wanted = set(keys)
    found: list[FollowedPond] = []
    names = sorted({split_key(key)[0] for key in keys})
    for start in range(0, len(names), _MOST):
        marks, values = numbered("name", names[start : start + _MOST])
        found += tx.rows(
            f"""SELECT p.name || '@' || p.major AS key, p.actor AS actor, max(f.last_read) AS last_read
                FROM ponds p JOIN profiles f ON f.pond = p.id
                WHERE p.environment = :environment AND p.removed_at IS NULL AND p.name IN ({marks})
                GROUP BY p.id, p.name, p.major, p.actor ORDER BY p.id""",
            FollowedPond,
            environment=environment,
            **values,
        )
    return [each for each in found if each.key in wanted]


def all_of(tx: Transaction, environment: int) -> dict[tuple[PondKey, str], str]:
    """Answer everything that was learned in an environment, as it is stored."""
    rows = tx.rows(
        """SELECT p.name || '@' || p.major AS key, f."trigger" AS name, f.body AS body
           FROM profiles f JOIN ponds p ON p.id = f.pond
           WHERE p.environment = :environment AND p.removed_at IS NULL""",
        tuple[PondKey, str, str],
        environment=environment,
    )
    return {(key, name): body for key, name, body in rows}
