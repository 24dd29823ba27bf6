"""Tokens of the server: 256 random bits, of which the ledger keeps the sha256 only, with a level and environments."""

from __future__ import annotations

import hashlib
import re
import secrets

import msgspec

from pondage.errors import DefinitionError, NotFound
from pondage.ledger.database.driver import Transaction
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


_ROW = "SELECT public_id AS id, name, level, environments, created_at, revoked_at, expires_at FROM tokens"


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
    return token, tx.one(f"{_ROW} WHERE public_id = :id", TokenRow, id=public_id)


def digest(token: str) -> str:
    """Answer what is stored of a token. It is random and long, so a plain hash gives nothing away."""
    return hashlib.sha256(token.encode()).hexdigest()


def bearer(tx: Transaction, token: str) -> TokenRow | None:
    """Answer whose token this is; None when it is unknown, revoked or expired."""
    return tx.row(f"{_ROW} WHERE hash = :hash AND {_VALID}", TokenRow, hash=digest(token))


def every(tx: Transaction) -> list[TokenRow]:
    """Answer every token, oldest first, revoked ones too."""
    return tx.rows(f"{_ROW} ORDER BY tokens.id", TokenRow)


def revoke(tx: Transaction, public_id: str) -> TokenRow:
    """End a token at once and answer it; raises `NotFound` when no token that is valid has this id."""
    changed = tx.change(
        "UPDATE tokens SET revoked_at = :now WHERE public_id = :id AND revoked_at IS NULL", id=public_id
    )
    row = tx.row(f"{_ROW} WHERE public_id = :id", TokenRow, id=public_id)
    if not changed or row is None:
        raise NotFound(f"there is no valid token {public_id!r}", hint="pondage token list", code="NO_TOKEN")
    return row


def secret_hash(tx: Transaction, public_id: str) -> str:
    """Answer the hash of a token: known to nobody outside, so other secrets can be derived from it."""
    return tx.one("SELECT hash FROM tokens WHERE public_id = :public_id", str, public_id=public_id)


def is_valid(tx: Transaction, public_id: str) -> bool:
    """Answer whether a token exists and is neither revoked nor expired."""
    row = tx.row(f"SELECT id FROM tokens WHERE public_id = :id AND {_VALID}", id=public_id)
    return row is not None
