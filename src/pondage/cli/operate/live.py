"""`pondage live`: a machine that runs reactors for a ledger; it needs no copy of the project and starts no Spark."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import click
import msgspec

from pondage.cli.client.session import project_if_any
from pondage.cli.client.settings import Settings, pass_settings, verb


@verb
@click.option("--ledger", metavar="URL", help="The ledger, for example postgresql://user@host/name.")
@click.option(
    "--state", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
    help="A directory of this machine for what may be lost: unpacked code, sockets, logs.",
)  # fmt: skip
@click.option(
    "--listen",
    metavar="HOST:PORT",
    help="Let other machines reach them here, over TLS: the address of this machine, and the first port to try.",
)
@pass_settings
def live(settings: Settings, ledger: str | None, state: Path | None, listen: str | None) -> None:
    """Run the deployed reactors on this machine until SIGTERM, which drains them.

    Several machines may: each reactor has one owner, and when that dies another takes over with its state. What is not
    said is taken from the project file here, if there is one. `pondage dev` runs reactors by itself.
    """
    from pondage.engine.process.voice import unhindered
    from pondage.engine.supervise.machine import WorkerOptions, run_worker, worker_config

    project = project_if_any(settings)
    warehouse = None if project is not None or state is None else str(state.absolute() / "warehouse")
    config = worker_config(WorkerOptions(ledger=ledger, warehouse=warehouse, state=state, listen=listen), project)
    with unhindered():
        logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
        code = run_worker(msgspec.structs.replace(config, workers=0), has_live=True)
    click.get_current_context().exit(code)
