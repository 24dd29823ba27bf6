"""What a verb works with: the project, its ledger, the environment. Opened when needed, closed at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pondage.cli.client.settings import Settings

if TYPE_CHECKING:
    from pondage.ledger.ledger import Ledger
    from pondage.project.project import Project


@dataclass(frozen=True, kw_only=True)
class Session:
    """An opened project."""

    project: Project
    ledger: Ledger

    @property
    def environment(self) -> str:
        """Answer the environment that this call is about."""
        return self.project.environment

    @property
    def warehouse(self) -> Path:
        """Answer the directory that holds data and logs; of a remote warehouse only the logs are here."""
        return local_warehouse(self.project)


def local_warehouse(project: Project) -> Path:
    """Answer where this machine keeps logs and names of the warehouse: with the state when the data is far away."""
    if project.warehouse.startswith("file:"):
        return Path("/" + project.warehouse.removeprefix("file:").lstrip("/"))
    return project.state if "://" in project.warehouse else Path(project.warehouse)


def open_project(settings: Settings) -> Project:
    """Answer the project that the call is about; raises `ProjectError` when there is none here."""
    import msgspec

    from pondage.define.values.names import checked_name
    from pondage.project.project import find_project

    project = find_project(settings.project or Path.cwd())
    if settings.environment is None:
        return project
    return msgspec.structs.replace(project, environment=checked_name(settings.environment, what="environment"))


def project_if_any(settings: Settings) -> Project | None:
    """Answer the project here; None where there is none and none was named. Raises when the call names a server."""
    from pondage.errors import ProjectError

    try:
        refuse_server(settings)
        return open_project(settings)
    except ProjectError as error:
        if error.code != "NO_PROJECT" or settings.project is not None:
            raise
        return None


def open_ledger(project: Project) -> Ledger:
    """Open the project's ledger, making it when this is the first time; raises `LedgerError`."""
    from pondage.ledger.ledger import Ledger

    return Ledger.open(project.ledger, durability=project.durability, root=project.root)


@contextmanager
def workers(opened: Session) -> Iterator[None]:
    """See that somebody works while the block runs: a running `pondage dev`, or a supervisor of our own for so long."""
    import click

    from pondage.engine.supervise.dev import attached, standing_supervisor

    if standing_supervisor(opened.ledger) is None:
        log = opened.project.state / "dev.log"
        click.echo(f"no `pondage dev` runs: starting workers for this call (their log: {log})", err=True)
    with attached(opened.project):
        yield


def refuse_server(settings: Settings) -> None:
    """Raise `PondageError` when the call names a server, for a verb that needs the ledger itself."""
    if settings.server is not None:
        from pondage.errors import PondageError

        raise PondageError(
            "this verb works on the machine that has the ledger, and not through a server",
            hint="call it there without --server (and without PONDAGE_SERVER)",
            code="NOT_REMOTE",
        )


@contextmanager
def session(settings: Settings) -> Iterator[Session]:
    """Open project and ledger for one verb; raises `PondageError` when the call names a server: it has no ledger."""
    refuse_server(settings)
    project = open_project(settings)
    ledger = open_ledger(project)
    try:
        yield Session(project=project, ledger=ledger)
    finally:
        ledger.close()
