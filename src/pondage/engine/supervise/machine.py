"""`pondage worker`: serve a ledger from this machine, with no project beside it, until told to end.

Deployed code travels in the ledger; what is needed here is a way to the ledger and to the warehouse, and a directory
for what may be lost.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from pondage.define.values.size import mebibytes
from pondage.engine.live.reach import read_listening
from pondage.engine.process.config import MOST_SLOTS, EngineConfig, config_of, shown_url
from pondage.engine.supervise.dev import drain_words
from pondage.engine.supervise.supervisor import LOST, Supervisor, come_back, supervise
from pondage.errors import ProjectError
from pondage.ledger.database.driver import LedgerUnavailable
from pondage.private import make_private
from pondage.project.project import Project, location
from pondage.spark.jvm.settings import available_cores

_log = logging.getLogger(__name__)


class WorkerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What was said on the command line; None leaves it to the project file, or to the defaults without one."""

    ledger: str | None = None
    warehouse: str | None = None
    state: Path | None = None
    slots: int | None = None
    workers: int | None = None
    labels: tuple[str, ...] | None = None
    components: tuple[str, ...] | None = None
    memory: str | None = None
    master: str | None = None
    listen: str | None = None


def worker_config(options: WorkerOptions, project: Project | None) -> EngineConfig:
    """Answer what the processes of this machine must know; raises `ProjectError` when something is not said."""
    config = _without_project(options) if project is None else config_of(project)
    here = Path.cwd()
    given = {
        "ledger": options.ledger and location(here, options.ledger),
        "warehouse": options.warehouse and location(here, options.warehouse),
        "state_directory": None if options.state is None else str(options.state.absolute()),
        "slots": options.slots,
        "workers": options.workers,
        "labels": options.labels,
        "components": options.components,
        "listen": options.listen,
    }
    spark = {"master": options.master, "memory": options.memory and f"{mebibytes(options.memory)}m"}
    chosen = {key: value for key, value in spark.items() if value is not None}
    config = msgspec.structs.replace(config, spark=msgspec.structs.replace(config.spark, **chosen))
    return msgspec.structs.replace(config, **{key: value for key, value in given.items() if value is not None})


def _without_project(options: WorkerOptions) -> EngineConfig:
    needed = {"--ledger": options.ledger, "--warehouse": options.warehouse, "--state": options.state}
    missing = [name for name, value in needed.items() if value is None]
    if missing:
        raise ProjectError(
            f"there is no project here, and {', '.join(missing)} was not given",
            hint="pondage worker --ledger postgresql://… --warehouse … --state DIR, or change to a project",
            code="NO_PROJECT",
        )
    assert options.ledger is not None
    assert options.warehouse is not None
    assert options.state is not None
    return EngineConfig(
        project="worker",
        root=str(options.state.absolute()),
        ledger=options.ledger,
        warehouse=options.warehouse,
        state_directory=str(options.state.absolute()),
        secret_key=f"file:{options.state.absolute() / 'secret.key'}",
        slots=min(MOST_SLOTS, available_cores()),
    )


def run_worker(config: EngineConfig, *, has_live: bool = False, say: Callable[[str], None] | None = None) -> int:
    """Serve until SIGTERM or Ctrl-C, which drain; answer the exit code. `has_live`: reactors run here, too.

    A machine that could not reach the ledger for too long stops its work, because others do it now, and comes back
    under a new identity when the ledger answers again.
    """
    say = say or _say
    if has_live and config.listen:
        read_listening(config.listen)
    make_private(config.state)
    ledger = config.open_ledger()
    has_ended = False

    def on_drain(asked: int) -> None:
        nonlocal has_ended
        has_ended = True
        say(drain_words(asked, config))

    def serve() -> int:
        return supervise(
            lambda: Supervisor(config, ledger, has_live=has_live, say=say),
            until=lambda: False,
            on_start=lambda: say(_line(config)),
            on_drain=on_drain,
        )

    try:
        return come_back(serve, is_over=lambda: has_ended, say=say)
    except LedgerUnavailable as error:
        # Whatever was held here is taken back by the others: there is nobody to tell it to.
        say(f"ending without the ledger: {error.message}")
        return LOST
    finally:
        ledger.close()


def _line(config: EngineConfig) -> str:
    labels = f", labels {' '.join(config.labels)}" if config.labels else ""
    labels += f", only for {' '.join(config.components)}" if config.components else ""
    return (
        f"serving {shown_url(config.ledger)} with the warehouse {config.warehouse}: up to {config.workers} workers, "
        f"{config.slots} Ripples side by side in each{labels}"
    )


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
