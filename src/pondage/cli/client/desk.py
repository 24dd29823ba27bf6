"""Where a verb's answers come from: the project's ledger, or a server. Each ask is declared once, with both ways."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, Generic, ParamSpec, Protocol, TypeVar, get_args, get_type_hints

import pondage
from pondage.cli.client.session import Session, open_project, session, workers
from pondage.cli.client.settings import Settings
from pondage.views.installation.about import AboutView

if TYPE_CHECKING:
    from pondage.cli.client.remote import Server
    from pondage.project.project import Project

Given = ParamSpec("Given")
Answer = TypeVar("Answer")
LOOK_EVERY_S = 0.5


@dataclass(frozen=True)
class Ask(Generic[Given, Answer]):
    """Something to ask: `here` does it on the ledger; the route is where a server does the same.

    What is `kept` is the caller's own business and not sent.
    """

    method: str
    path: str
    here: Callable[Concatenate[Session, Given], Answer]
    kept: tuple[str, ...] = ()

    @property
    def kind(self) -> object:
        """Answer what comes back: the return type of `here`."""
        return get_type_hints(self.here)["return"]


def asks(
    route: str, *, kept: tuple[str, ...] = ()
) -> Callable[[Callable[Concatenate[Session, Given], Answer]], Ask[Given, Answer]]:
    """Declare an ask by its route (`GET /v1/why/{name}`): arguments are named like its places, parameters or fields."""
    method, _, path = route.partition(" ")

    def declared(here: Callable[Concatenate[Session, Given], Answer]) -> Ask[Given, Answer]:
        return Ask(method, path, here, kept)

    return declared


@dataclass(frozen=True)
class Stream(Generic[Given, Answer]):
    """Something to follow: `here` yields it from the ledger's machine; the path is a WebSocket of a server."""

    path: str
    here: Callable[Concatenate[Session, Given], Iterator[Answer]]

    @property
    def kind(self) -> object:
        """Answer what each message is."""
        return get_args(get_type_hints(self.here)["return"])[0]


def streams(path: str) -> Callable[[Callable[Concatenate[Session, Given], Iterator[Answer]]], Stream[Given, Answer]]:
    """Declare what is followed by its WebSocket."""

    def declared(here: Callable[Concatenate[Session, Given], Iterator[Answer]]) -> Stream[Given, Answer]:
        return Stream(path, here)

    return declared


@dataclass(frozen=True)
class Fetch(Generic[Given]):
    """Bytes to fetch from an `offset` on: `here` reads them; the path is a route that answers them."""

    path: str
    here: Callable[Concatenate[Session, Given], Iterator[bytes]]


def fetches(path: str) -> Callable[[Callable[Concatenate[Session, Given], Iterator[bytes]]], Fetch[Given]]:
    """Declare what is fetched by its route."""

    def declared(here: Callable[Concatenate[Session, Given], Iterator[bytes]]) -> Fetch[Given]:
        return Fetch(path, here)

    return declared


class Changes(Protocol):
    """Hints that something has happened."""

    def wait(self, timeout_s: float) -> bool:
        """Wait, and answer whether it is worth looking again."""

    def close(self) -> None:
        """Listen no longer."""


@asks("GET /v1/about")
def about(here: Session) -> AboutView:
    """Say who answers."""
    with here.ledger.reading() as tx:
        at = tx.now
    return AboutView(
        version=str(pondage.__version__), environment=here.environment, warehouse=str(here.warehouse), at=at
    )


class Desk(Protocol):
    """What a verb works with: it asks, and does not know where the answers come from."""

    def ask(self, what: Ask[Given, Answer], *given: Given.args, **named: Given.kwargs) -> Answer:
        """Answer what was asked; raises `PondageError`, the same from near and far."""

    def follow(self, what: Stream[Given, Answer], *given: Given.args, **named: Given.kwargs) -> Iterator[Answer]:
        """Answer what is said, as it is said, until the other side ends or the caller stops."""

    def fetch(self, what: Fetch[Given], *given: Given.args, **named: Given.kwargs) -> Iterator[bytes]:
        """Answer the bytes as they come."""

    def changes(self) -> Changes:
        """Answer what tells that something was committed."""

    def workers(self) -> AbstractContextManager[None]:
        """See that somebody works while the block runs. On a server that is not the caller's business."""

    @property
    def project(self) -> Project:
        """Answer the project of the files here; raises `ProjectError` when there are none."""

    @property
    def environment(self) -> str:
        """Answer the environment that the verb is about."""

    @property
    def warehouse(self) -> Path:
        """Answer where data and logs are, over there."""


class Here:
    """Asks the ledger of the project."""

    def __init__(self, opened: Session) -> None:
        self._opened = opened
        self._has_workers = False

    def ask(self, what: Ask[Given, Answer], *given: Given.args, **named: Given.kwargs) -> Answer:
        """Do it on the ledger."""
        return what.here(self._opened, *given, **named)

    def follow(self, what: Stream[Given, Answer], *given: Given.args, **named: Given.kwargs) -> Iterator[Answer]:
        """Follow it on this machine."""
        return what.here(self._opened, *given, **named)

    def fetch(self, what: Fetch[Given], *given: Given.args, **named: Given.kwargs) -> Iterator[bytes]:
        """Read them on this machine."""
        return what.here(self._opened, *given, **named)

    def changes(self) -> Changes:
        """Answer the ledger's own hints."""
        return self._opened.ledger.driver.changes()

    def workers(self) -> AbstractContextManager[None]:
        """Start workers when nobody else has, and a block around this one neither."""
        return nullcontext() if self._has_workers else self._working()

    @contextmanager
    def _working(self) -> Iterator[None]:
        with workers(self._opened):
            self._has_workers = True
            try:
                yield
            finally:
                self._has_workers = False

    @property
    def project(self) -> Project:
        """Answer the project."""
        return self._opened.project

    @property
    def environment(self) -> str:
        """Answer the environment of the project, or the one that was named."""
        return self._opened.environment

    @property
    def warehouse(self) -> Path:
        """Answer the directory of the warehouse."""
        return self._opened.warehouse


class There:
    """Asks a server."""

    def __init__(self, server: Server, settings: Settings) -> None:
        self._server = server
        self._settings = settings
        self._about: AboutView | None = None

    def ask(self, what: Ask[Given, Answer], *given: Given.args, **named: Given.kwargs) -> Answer:
        """Send it, and read the answer as the type that the ledger would have given."""
        assert not given, "what goes over HTTP has names"
        sent = {name: value for name, value in named.items() if name not in what.kept}
        return self._server.asked(what.method, what.path, sent, what.kind)  # type: ignore[return-value]

    def follow(self, what: Stream[Given, Answer], *given: Given.args, **named: Given.kwargs) -> Iterator[Answer]:
        """Follow it over a WebSocket."""
        assert not given, "what goes over HTTP has names"
        return self._server.followed(what.path, dict(named), what.kind)  # type: ignore[return-value]

    def fetch(self, what: Fetch[Given], *given: Given.args, **named: Given.kwargs) -> Iterator[bytes]:
        """Read them over HTTP."""
        assert not given, "what goes over HTTP has names"
        return self._server.fetched(what.path, dict(named))

    def changes(self) -> Changes:
        """Answer a clock: whoever is far away looks again now and then."""
        return _NowAndThen()

    def workers(self) -> AbstractContextManager[None]:
        """Do nothing: the workers are where the server is."""
        return nullcontext()

    @property
    def project(self) -> Project:
        """Answer the project of the files here."""
        return open_project(self._settings)

    @property
    def environment(self) -> str:
        """Answer the environment that the server takes the call for."""
        return self._said().environment

    @property
    def warehouse(self) -> Path:
        """Answer the directory of the warehouse on the server's machine."""
        return Path(self._said().warehouse)

    def _said(self) -> AboutView:
        if self._about is None:
            self._about = self.ask(about)
        return self._about


class _NowAndThen:
    def wait(self, timeout_s: float) -> bool:
        time.sleep(max(timeout_s, LOOK_EVERY_S))
        return True

    def close(self) -> None:
        """Do nothing."""


@contextmanager
def desk(settings: Settings) -> Iterator[Desk]:
    """Open what a verb asks: the server that the call names, else the project's ledger."""
    if settings.server is None:
        with session(settings) as opened:
            yield Here(opened)
        return
    from pondage.cli.client.remote import server_of

    yield There(server_of(settings), settings)
