"""`pondage dev`: everything on one machine, in the foreground; and a supervisor for the time of one command."""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pondage.engine.process import identity
from pondage.engine.process.config import EngineConfig, SupervisorConfig, config_of, shown_url
from pondage.engine.process.spawn import spawn
from pondage.engine.supervise.supervisor import Supervisor, come_back, supervise
from pondage.errors import PondageError
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.private import make_private, make_private_file
from pondage.project.project import Project

_DRAIN_MARGIN_S = 15.0


class AlreadyRunning(PondageError):
    """Another `pondage dev` serves this project."""

    code = "ALREADY_RUNNING"


def run_dev(project: Project, *, quiet: bool = False, until: Callable[[], bool] | None = None) -> int:
    """Serve a project in the foreground until Ctrl-C, SIGTERM, or until `until` answers True; answer the exit code.

    The first Ctrl-C drains: nothing new is started, what runs may end within `drain_s`. The second gives everything
    back at once. Raises `AlreadyRunning` when somebody serves the project already.
    """
    config = config_of(project)
    say = _silent if quiet else _say
    with _dev_lock(config.state), _logging_to(config.state / "logs" / "dev.log"):
        ledger = config.open_ledger()
        asked = 0

        def on_drain(times: int) -> None:
            nonlocal asked
            asked = times
            say(drain_words(times, config))

        def serve() -> int:
            return supervise(
                lambda: Supervisor(config, ledger, has_live=True, say=lambda line: say(f"  {line}")),
                until=until or (lambda: False),
                on_start=lambda: say("\n".join(_banner(project, config))),
                on_drain=on_drain,
            )

        try:
            return come_back(serve, is_over=lambda: asked > 0, say=say)
        finally:
            ledger.close()


@contextmanager
def attached(project: Project) -> Iterator[None]:
    """See that somebody works for the project while the block runs.

    A live `pondage dev` is used when there is one; else a supervisor is started, with its output in `.pondage/dev.log`,
    and drained when the block ends. It also ends when this process dies.
    """
    config = config_of(project)
    if is_served(config):
        yield
        return
    child = spawn(
        "pondage.engine.supervise.supervisor", SupervisorConfig(engine=config, parent=os.getpid()),
        output=config.state / "dev.log", directory=project.root,
    )  # fmt: skip
    try:
        _wait_until_it_serves(child, config)
        yield
    finally:
        _drained(child, config.durability.drain_s)


def _wait_until_it_serves(child: subprocess.Popen[bytes], config: EngineConfig) -> None:
    """Wait for the row of a supervisor that we started; raises when it ends before."""
    ledger = config.open_ledger()
    try:
        changes = ledger.driver.changes()
        while child.poll() is None:
            with ledger.reading() as tx:
                if any(row.role == "supervisor" and row.pid == child.pid for row in processes.alive(tx)):
                    return
            changes.wait(config.durability.poll_s)
    finally:
        ledger.close()
    raise PondageError(
        f"the supervisor ended at once, with exit code {child.returncode}",
        hint=f"its last words are in {config.state / 'dev.log'}",
        code="NO_SUPERVISOR",
    )


def is_served(config: EngineConfig) -> bool:
    """Answer whether a supervisor that stays is alive: it beats, and when it is of this machine its process runs."""
    ledger = config.open_ledger()
    try:
        return standing_supervisor(ledger) is not None
    finally:
        ledger.close()


def standing_supervisor(ledger: Ledger) -> processes.ProcessRow | None:
    """Answer a live supervisor that does not end with somebody else's command, or None."""
    limit_us = int(ledger.durability.reap_after_s * 1e6)
    here = identity.machine()
    with ledger.reading() as tx:
        silent = {row.id for row in processes.stale(tx, older_than_us=limit_us, not_id=None)}
        rows = processes.alive(tx)
    for row in rows:
        if row.role != "supervisor" or row.labels == "attached" or row.id in silent:
            continue
        if row.machine != here or identity.is_running(row.pid, row.pid_started):
            return row
    return None


def _drained(child: subprocess.Popen[bytes], drain_s: float) -> None:
    """End a supervisor that we started: ask, ask again, and in the end kill it, so that no command hangs for ever."""
    for wait_s, number in ((drain_s + _DRAIN_MARGIN_S, signal.SIGTERM), (_DRAIN_MARGIN_S, signal.SIGTERM)):
        if child.poll() is None:
            child.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            child.wait(wait_s)
            break
    else:
        child.kill()
        child.wait()
    if child.stdin is not None:
        child.stdin.close()


@contextmanager
def _dev_lock(state: Path) -> Iterator[None]:
    """Hold the lock of `pondage dev` for this project. The system frees it however the process ends."""
    make_private(state)
    with (state / "dev.lock").open("a+", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise AlreadyRunning(
                f"pondage dev already serves this project (pid {file.read().strip() or 'unknown'})",
                hint="use it from here (pondage status), or end it with Ctrl-C where it runs",
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


@contextmanager
def _logging_to(file: Path) -> Iterator[None]:
    """Keep what the engine logs in a file: the terminal belongs to the person who looks at it."""
    make_private(file.parent)
    make_private_file(file)
    handler = logging.FileHandler(file, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logger = logging.getLogger("pondage")
    level, propagate = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate
        handler.close()


def _banner(project: Project, config: EngineConfig) -> list[str]:
    return [
        f"Pondage serves project {project.name} (environment {project.environment}).",
        f"  ledger     {shown_url(project.ledger)}",
        f"  warehouse  {project.warehouse}",
        f"  state      {config.state}",
        f"  workers    up to {config.workers}, {config.slots} Ripples side by side in each; Spark starts when needed",
        "",
        "In another terminal: pondage deploy, pondage run POND, pondage status. Ctrl-C here ends it.",
    ]


def drain_words(asked: int, config: EngineConfig) -> str:
    """Answer what a person is told who asks to drain, for the first time or again."""
    if asked == 1:
        return (
            f"Draining: nothing new is started, what runs may take {config.durability.drain_s:g} s more. "
            "Ctrl-C again gives it back at once."
        )
    return "Giving everything back at once. It runs again with the next start."


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _silent(line: str) -> None:
    del line
