"""Tokens of the server: 256 random bits, of which the ledger keeps the sha256 only, with a level and environments."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets

import msgspec

from pondage.errors import DefinitionError, NotFound
from pondage.ledger.database.driver import Row, Transaction, number, number_or_none, text
from pondage.ledger.database.ids import Ids

LEVELS = ("read", "demand", "operate", "admin")
EVERYWHERE = "*"
PREFIX = "pondage_"
_VALID = "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :now)"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,62}\Z")


class TokenRow(msgspec.Struct, frozen=True, kw_only=True):
    """A token as the ledger knows it. What it is made of is known to nobody but its bearer."""

    id: str
    name: str
    level: str
    environments: tuple[str, ...]
    created_at: int
    revoked_at: int | None
    expires_at: int | None = None

    def may_see(self, environment: str) -> bool:
        """Answer whether the token is bound to this environment."""
        return EVERYWHERE in self.environments or environment in self.environments


def create(
    tx: Transaction,
    ids: Ids,
    *,
    name: str,
    level: str,
    environments: tuple[str, ...],
    lasts_us: int | None = None,
) -> tuple[str, TokenRow]:
    """Make a token and answer it, for the only time; raises `DefinitionError` for a name that is no plain text.

    With `lasts_us` it is refused after so many microseconds, by the database's clock.
    """
    if not _NAME.match(name):
        raise DefinitionError(
            f"{name!r} is no name for a token",
            hint="use letters, digits, blanks, dots and dashes, 63 at most",
            code="BAD_NAME",
        )
    assert level in LEVELS, level
    assert environments, "a token is bound to some environment"
    token = PREFIX + secrets.token_urlsafe(32)
    public_id = ids.new("t")
    tx.write(
        """INSERT INTO tokens (public_id, name, hash, level, environments, created_at, expires_at)
           VALUES (:public_id, :name, :hash, :level, :environments, :now, :expires_at)""",
        public_id=public_id,
        name=name,
        hash=digest(token),
        level=level,
        environments=msgspec.json.encode(environments).decode(),
        expires_at=None if lasts_us is None else tx.now + lasts_us,
    )
    row = tx.row("SELECT * FROM tokens WHERE public_id = :id", id=public_id)
    assert row is not None
    return token, _row(row)


def digest(token: str) -> str:
    """Answer what is stored of a token. It is random and long, so a plain hash gives nothing away."""
    return hashlib.sha256(token.encode()).hexdigest()


def bearer(tx: Transaction, token: str) -> TokenRow | None:
    """Answer whose token this is; None when it is unknown, revoked or expired."""
    wanted = digest(token)
    row = tx.row(f"SELECT * FROM tokens WHERE hash = :hash AND {_VALID}", hash=wanted)
    if row is None or not hmac.compare_digest(text(row, "hash"), wanted):
        return None
    return _row(row)


def every(tx: Transaction) -> list[TokenRow]:
    """Answer every token, oldest first, revoked ones too."""
    return [_row(row) for row in tx.rows("SELECT * FROM tokens ORDER BY id")]


def revoke(tx: Transaction, public_id: str) -> TokenRow:
    """End a token at once and answer it; raises `NotFound` when no token that is valid has this id."""
    changed = tx.change(
        "UPDATE tokens SET revoked_at = :now WHERE public_id = :id AND revoked_at IS NULL", id=public_id
    )
    row = tx.row("SELECT * FROM tokens WHERE public_id = :id", id=public_id)
    if not changed or row is None:
        raise NotFound(f"there is no valid token {public_id!r}", hint="pondage token list", code="NO_TOKEN")
    return _row(row)


def _row(row: Row) -> TokenRow:
    return TokenRow(
        id=text(row, "public_id"),
        name=text(row, "name"),
        level=text(row, "level"),
        environments=msgspec.json.decode(text(row, "environments"), type=tuple[str, ...]),
        created_at=number(row, "created_at"),
        revoked_at=number_or_none(row, "revoked_at"),
        expires_at=number_or_none(row, "expires_at"),
    )


def secret_hash(tx: Transaction, public_id: str) -> str:
    """Answer the hash of a token: known to nobody outside, so other secrets can be derived from it."""
    row = tx.row("SELECT hash FROM tokens WHERE public_id = :public_id", public_id=public_id)
    assert row is not None, f"there is no token {public_id}"
    return text(row, "hash")


def is_valid(tx: Transaction, public_id: str) -> bool:
    """Answer whether a token exists and is neither revoked nor expired."""
    row = tx.row(f"SELECT id FROM tokens WHERE public_id = :id AND {_VALID}", id=public_id)
    return row is not None
