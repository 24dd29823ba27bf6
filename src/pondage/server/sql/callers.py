"""Who calls the SQL door: tokens of the API, as a bearer or as the password of a user."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence

import pyarrow.flight as flight

from pondage.ledger.database.driver import UnfitValue
from pondage.ledger.tables import api_tokens, environments
from pondage.ledger.tables.api_tokens import EVERYWHERE, TokenRow
from pondage.ledger.tables.history import Caller
from pondage.operations.operation import Context, Level
from pondage.server.call import Service

KEY = "pondage"
DATABASE = "database"
"""The header that names the environment; JDBC and ADBC send it for a property of this name."""
_NO_TOKEN = "the token is unknown, revoked or expired: pondage token create --level read"


class CallerOf(flight.ServerMiddleware):  # type: ignore[misc]
    """Of one call: whose token it has, and which environment it is about."""

    def __init__(self, service: Service, token: TokenRow, secret: str, database: str | None) -> None:
        self._service = service
        self.token = token
        self._secret = secret
        self._database = database

    def sending_headers(self) -> dict[str, str]:
        """Give the token back: a client that has sent it as a password sends it as a bearer from then on."""
        return {"authorization": f"Bearer {self._secret}"}

    @property
    def environment(self) -> str:
        """Answer the environment of a question that names none."""
        visible = self.environments()
        if self._database is not None:
            if self._database not in visible:
                raise flight.FlightServerError(f"there is no environment {self._database[:63]!r} (NO_ENVIRONMENT)")
            return self._database
        if self._service.environment in visible or not visible:
            return self._service.environment
        return visible[0]

    def environments(self) -> list[str]:
        """Answer the environments that the token may see, by name."""
        with self._service.ledger.reading() as tx:
            there = [each.name for each in environments.rows(tx)]
        return there if EVERYWHERE in self.token.environments else [e for e in there if self.token.may_see(e)]

    def context(self, environment: str) -> Context:
        """Answer what an operation works with."""
        service = self._service
        return Context(
            ledger=service.ledger,
            environment=environment,
            warehouse=service.warehouse,
            by=Caller(f"token {self.token.name} ({self.token.id})"),
            project=service.project,
            token=self.token.name,
            engine=service.engine,
            level=Level.named(self.token.level),
        )


class Callers(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    """Looks at the token of each call before anything else."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def start_call(self, info: flight.CallInfo, headers: Mapping[str, Sequence[str | bytes]]) -> CallerOf:  # noqa: ARG002
        """Answer who calls; raises for whoever has no valid token."""
        secret = _secret_of(headers)
        row = None
        if secret:
            try:
                with self._service.ledger.reading() as tx:
                    row = api_tokens.bearer(tx, secret)
            except UnfitValue:
                row = None
        if row is None:
            raise flight.FlightUnauthenticatedError(_NO_TOKEN)
        return CallerOf(self._service, row, secret, _first(headers, DATABASE))


class NoHandshake(flight.ServerAuthHandler):  # type: ignore[misc]
    """There is none: every call brings its token along. Clients that begin with one are let through to that check."""

    def authenticate(self, outgoing: object, incoming: object) -> None:
        """Let a client begin."""

    def is_valid(self, token: bytes) -> bytes:  # noqa: ARG002
        """Answer nobody: who calls is found by the header."""
        return b""


def _first(headers: Mapping[str, Sequence[str | bytes]], name: str) -> str | None:
    for key, values in headers.items():
        if key.lower() == name and values:
            value = values[0]
            return value.decode(errors="replace") if isinstance(value, bytes) else value
    return None


def _secret_of(headers: Mapping[str, Sequence[str | bytes]]) -> str:
    kind, _, given = (_first(headers, "authorization") or "").partition(" ")
    if kind.lower() == "bearer":
        return given.strip()
    if kind.lower() != "basic":
        return ""
    try:
        # Some clients leave the padding out.
        whole = given.strip().rstrip("=")
        _, _, password = base64.b64decode(whole + "=" * (-len(whole) % 4), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return ""
    return password
