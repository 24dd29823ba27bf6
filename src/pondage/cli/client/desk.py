"""Where a verb's answers come from: the project's ledger, or a server. What can be asked is the table of operations."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from pondage.cli.client.session import Session, open_project, session, workers
from pondage.cli.client.settings import Settings
from pondage.ledger.tables.history import this_person
from pondage.operations.operation import Answer, Context, Given, Operation, Stream
from pondage.views.installation.about import AboutView

if TYPE_CHECKING:
    from pondage.cli.client.remote import Server
    from pondage.project.project import Project

LOOK_EVERY_S = 0.5


class Changes(Protocol):
    """Hints that something has happened."""

    def wait(self, timeout_s: float) -> bool:
        """Wait, and answer whether it is worth looking again."""

    def close(self) -> None:
        """Listen no longer."""


class Desk(Protocol):
    """What a verb works with: it asks, and does not know where the answers come from."""

    def ask(self, what: Operation[Given, Answer], *given: Given.args, **named: Given.kwargs) -> Answer:
        """Answer what was asked, bytes as they come; raises `PondageError`, the same from near and far."""

    def follow(self, what: Stream[Given, Answer], *given: Given.args, **named: Given.kwargs) -> Iterator[Answer]:
        """Answer what is said, as it is said, until the other side ends or the caller stops."""

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
        self._context = Context(
            ledger=opened.ledger,
            environment=opened.environment,
            warehouse=opened.warehouse,
            by=this_person(),
            project=opened.project,
        )
        self._has_workers = False

    def ask(self, what: Operation[Given, Answer], *given: Given.args, **named: Given.kwargs) -> Answer:
        """Do it on the ledger."""
        return what.do(self._context, what.request(*given, **named))

    def follow(self, what: Stream[Given, Answer], *given: Given.args, **named: Given.kwargs) -> Iterator[Answer]:
        """Follow it on this machine."""
        return what.act(self._context, what.request(*given, **named))

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

    def ask(self, what: Operation[Given, Answer], *given: Given.args, **named: Given.kwargs) -> Answer:
        """Send it, and read the answer as the type that the ledger would have given."""
        sent, kind = _sent(what, what.request(*given, **named)), what.response
        if kind == Iterator[bytes]:
            return self._server.fetched(what.path, sent)  # type: ignore[return-value]
        refusals = frozenset(what.refusals.values())
        return self._server.asked(what.method, what.path, sent, kind, refusals=refusals)  # type: ignore[return-value]

    def follow(self, what: Stream[Given, Answer], *given: Given.args, **named: Given.kwargs) -> Iterator[Answer]:
        """Follow it over a WebSocket."""
        sent = _sent(what, what.request(*given, **named))
        return self._server.followed(what.path, sent, what.message)  # type: ignore[return-value]

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
            # Only whoever asks a server needs it, and it brings along how an installation is kept.
            from pondage.operations import installation

            self._about = self.ask(installation.about)
        return self._about


def _sent(what: Operation[..., object] | Stream[..., object], asked: msgspec.Struct) -> dict[str, object]:
    """Answer what goes to a server: everything that is asked but what is the caller's own business."""
    return {name: getattr(asked, name) for name in asked.__struct_fields__ if name not in what.kept}


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


def asked(settings: Settings, what: Operation[Given, Answer], *given: Given.args, **named: Given.kwargs) -> Answer:
    """Answer one question; raises `PondageError`."""
    with desk(settings) as opened:
        return opened.ask(what, *given, **named)
