"""`pondage serve`: the API of a project over HTTP, until Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pondage.cli.client.session import Session, session
from pondage.cli.client.settings import Settings, pass_settings, verb
from pondage.errors import PondageError
from pondage.project.project import Project

if TYPE_CHECKING:
    from pondage.server.call import Service


PORT = 8642


@verb
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 takes a free one.")
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="Another name that clients may call it by.")
@click.option(
    "--sql",
    "sql_port",
    type=click.IntRange(0, 65535),
    is_flag=False,
    flag_value=8643,
    metavar="[PORT]",
    help="Serve the tables to BI tools, ADBC and JDBC, too: Arrow Flight SQL on this port (8643).",
)
@click.option("--tls-cert", type=click.Path(path_type=Path), help="A certificate, for https.")
@click.option("--tls-key", type=click.Path(path_type=Path), help="Its key.")
@pass_settings
def serve(
    settings: Settings,
    host: str,
    port: int,
    hosts: tuple[str, ...],
    sql_port: int | None,
    tls_cert: Path | None,
    tls_key: Path | None,
) -> None:
    """Serve the project's API: everything that the command line reads and does, for scripts and other machines.

    Every request needs a token. The first start makes one that may do everything and prints it once; `pondage token`
    makes others. It listens on this machine only, unless --host says otherwise.
    """
    if (tls_cert is None) != (tls_key is None):
        raise click.UsageError("give --tls-cert and --tls-key together")
    for file in (tls_cert, tls_key):
        if file is not None and not file.is_file():
            raise click.UsageError(f"there is no file {file}")
    require_server()
    from pondage.engine.process.voice import unhindered
    from pondage.server.serving import ServeOptions, bound, first_token, url_of
    from pondage.server.serving import serve as run

    options = ServeOptions(host=host, port=port, hosts=hosts, certificate=tls_cert, key=tls_key)
    with session(settings) as opened, unhindered():
        listening = bound(options)
        token = first_token(opened.ledger, opened.project.state, environment=opened.environment)
        click.echo(f"Pondage serves the page and the API of project {opened.project.name}:")
        click.echo(f"  {url_of(options, listening, token)}")
        click.echo(_where(opened.project, is_new=token is not None))
        with ExitStack() as stack:
            service = stack.enter_context(service_of(opened))
            if sql_port is not None:
                from pondage.server.sql.running import sql_door

                click.echo(f"  SQL: {stack.enter_context(sql_door(service, options, sql_port))} (Arrow Flight SQL)")
            run(service, options, listening)


@contextmanager
def beside(settings: Settings, *, port: int, is_quiet: bool) -> Iterator[None]:
    """Serve while `pondage dev` runs; when that is not possible say why, and go on without."""
    with ExitStack() as stack:
        try:
            line = stack.enter_context(_started(settings, port))
        except PondageError as error:
            click.echo(f"no page and no API: {error.message}" + (f" ({error.hint})" if error.hint else ""), err=True)
        else:
            if not is_quiet:
                click.echo(line)
        yield


@contextmanager
def _started(settings: Settings, port: int) -> Iterator[str]:
    require_server()
    from pondage.server.serving import ServeOptions, bound, first_token, serving, url_of

    options = ServeOptions(port=port)
    with session(settings) as opened, bound(options) as listening:
        token = first_token(opened.ledger, opened.project.state, environment=opened.environment)
        with service_of(opened) as service, serving(service, options, listening):
            where = _where(opened.project, is_new=token is not None)
            yield f"Open {url_of(options, listening, token)}\n  ({where})"


@contextmanager
def service_of(opened: Session) -> Iterator[Service]:
    """Give what the server works with: also processes apart, which answer questions and end with the block."""
    from pondage.embedded.apart import Apart
    from pondage.server.call import Service
    from pondage.server.fence.visitors import Visitors
    from pondage.server.serving import limits_of

    engine = Apart(at_once=opened.project.questions.slots)
    try:
        yield Service(
            ledger=opened.ledger,
            environment=opened.environment,
            warehouse=opened.warehouse,
            project=opened.project,
            engine=engine,
            visitors=Visitors(limits_of(opened.project.server)),
        )
    finally:
        engine.close()


def require_server() -> None:
    """Raise `PondageError` when the server's packages are not installed."""
    missing = [name for name in ("starlette", "uvicorn", "websockets") if find_spec(name) is None]
    if missing:
        raise PondageError(
            f"the server needs {', '.join(missing)}", hint="pip install 'pondage[server]'", code="NO_SERVER"
        )


def _where(project: Project, *, is_new: bool) -> str:
    place = project.state / "admin.token"
    return f"the token is shown this once, and kept in {place}" if is_new else f"the admin token is in {place}"
