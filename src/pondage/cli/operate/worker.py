"""`pondage worker`: a machine that works for a ledger; it needs no copy of the project."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import click

from pondage.cli.client.session import project_if_any
from pondage.cli.client.settings import Settings, pass_settings, verb
from pondage.project.project import is_label


@verb
@click.option(
    "--ledger", metavar="URL", envvar="PONDAGE_LEDGER", help="The ledger, for example postgresql://user@host/name."
)
@click.option(
    "--warehouse", metavar="PLACE", envvar="PONDAGE_WAREHOUSE",
    help="Where the data is: a path or URL that every machine reaches.",
)  # fmt: skip
@click.option(
    "--state", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
    help="A directory of this machine for what may be lost: unpacked code, scratch files, logs.",
)  # fmt: skip
@click.option("--slots", type=click.IntRange(min=1), help="How many Ripples a worker process runs side by side.")
@click.option("--workers", type=click.IntRange(min=1), help="How many worker processes this machine has at most.")
@click.option("--labels", metavar="A,B", help="What this machine offers to Ponds that ask for it.")
@click.option(
    "--component", "components", metavar="NAME", multiple=True,
    help="Serve this component of jobs and flows, and nothing else (may be repeated).",
)  # fmt: skip
@click.option("--memory", metavar="SIZE", help="The memory of each worker's Spark, for example 4g.")
@click.option("--master", metavar="URL", help="Which Spark to use, for example local[4] or spark://host:7077.")
@pass_settings
def worker(
    settings: Settings,
    ledger: str | None,
    warehouse: str | None,
    state: Path | None,
    slots: int | None,
    workers: int | None,
    labels: str | None,
    components: tuple[str, ...],
    memory: str | None,
    master: str | None,
) -> None:
    """Work for a ledger from this machine until SIGTERM, which waits for what runs; a second one gives it back.

    What is not said is taken from the project file here, if there is one. Deployed code comes from the ledger.
    """
    from pondage.engine.process.voice import unhindered
    from pondage.engine.supervise.machine import WorkerOptions, run_worker, worker_config

    given = None if labels is None else tuple(each.strip() for each in labels.split(",") if each.strip())
    for label in given or ():
        if not is_label(label):
            raise click.UsageError(f"{label!r} is no label: give words, with commas between them")
    project = project_if_any(settings)
    options = WorkerOptions(
        ledger=ledger, warehouse=warehouse, state=state, slots=slots, workers=workers, labels=given,
        components=components or None, memory=memory, master=master,
    )  # fmt: skip
    config = worker_config(options, project)
    with unhindered():
        logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
        code = run_worker(config)
    click.get_current_context().exit(code)
