"""A call that the guard has let through, what it works with, and the routes and sockets that are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
from starlette.websockets import WebSocket

from pondage.ledger.ledger import Ledger
from pondage.ledger.tables.api_tokens import TokenRow
from pondage.ledger.tables.history import Caller
from pondage.operations.operation import Context, Level, Operation
from pondage.operations.reading import Engine
from pondage.project.project import Project
from pondage.server.fence.shares import SMALL, Bodies
from pondage.server.fence.visitors import Visitors
from pondage.server.hub import Feeds
from pondage.server.limits import Failures, Tickets

Kind = TypeVar("Kind")


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No query parameters."""


@dataclass(frozen=True, kw_only=True)
class Service:
    """What every call works with, for as long as the server runs."""

    ledger: Ledger
    environment: str
    warehouse: Path
    project: Project | None = None
    engine: Engine | None = None
    """The processes apart that answer questions; None: the server itself does."""
    tickets: Tickets = field(default_factory=Tickets)
    feeds: Feeds = field(default_factory=Feeds)
    visitors: Visitors = field(default_factory=Visitors)
    bodies: Bodies = field(default_factory=Bodies)
    refusals: Failures = field(default_factory=Failures)
    """How often each token was refused a command lately."""
    heard: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Questions and pushes, by the name of the token."""
    requests: Counter[tuple[str, str, int]] = field(default_factory=Counter)

    @property
    def is_all_audited(self) -> bool:
        """Answer whether questions and pushes are audited, too."""
        return self.project is not None and self.project.server.audit == "all"


async def _never() -> bool:
    return False


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request that the guard has let through: who asks, about which environment, and what."""

    service: Service
    token: TokenRow | None
    environment: str
    path: Mapping[str, str] = field(default_factory=dict)
    query: object = None
    body: object = None
    is_gone: Callable[[], Awaitable[bool]] = _never
    """Whether whoever calls has closed the connection."""

    @property
    def bearer(self) -> str:
        """Answer the id of the token, which is nothing where none is asked for."""
        return "" if self.token is None else self.token.id

    @property
    def context(self) -> Context:
        """Answer what an operation works with."""
        service = self.service
        return Context(
            ledger=service.ledger,
            environment=self.environment,
            warehouse=service.warehouse,
            by=Caller("nobody" if self.token is None else f"token {self.token.name} ({self.token.id})"),
            project=service.project,
            token="" if self.token is None else self.token.name,
            engine=service.engine,
            level=Level.OPEN if self.token is None else Level.named(self.token.level),
        )

    @property
    def ledger(self) -> Ledger:
        """Answer the ledger."""
        return self.service.ledger

    def may_see(self, environment: str) -> bool:
        """Answer whether the token is bound to an environment."""
        return self.token is not None and self.token.may_see(environment)

    def asked(self, kind: type[Kind]) -> Kind:
        """Answer the query parameters as the struct that the route declares."""
        assert isinstance(self.query, kind), (kind, self.query)
        return self.query


Handler = Callable[[Call], object] | Callable[[Call], Awaitable[object]]


@dataclass(frozen=True, kw_only=True)
class Route:
    """One line of the table. `level` has no default that lets anybody in: None is refused when the server starts."""

    method: Literal["GET", "POST", "DELETE"]
    path: str
    level: Level | None
    handler: Handler
    summary: str
    response: object
    query: type[msgspec.Struct] = Nothing
    request: type[msgspec.Struct] | None = None
    status: int = 200
    media: str = "application/json"
    limit_bytes: int = SMALL
    operation: Operation[..., object] | None = None
    is_relayed: bool = False
    status_of: Callable[[object], int] | None = None
    """The status of an answer, where an answer may be a refusal."""
    refusals: frozenset[int] = frozenset()
    may_begin: bool = False
    """Whether the environment may be one that nobody has deployed to yet."""


@dataclass(frozen=True, kw_only=True)
class Socket:
    """A WebSocket of the table; the guard has checked its caller before the handler accepts it."""

    path: str
    level: Level | None
    handler: Callable[[Call, WebSocket], Awaitable[None]]
    summary: str
    query: type[msgspec.Struct] = Nothing
