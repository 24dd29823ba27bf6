"""Hosting an external program: it is started, served, watched, and its end becomes the end of its execution."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.executor import Crashed
from pondage.engine.programs import guard
from pondage.engine.programs.session import ProgramSession
from pondage.errors import PondageError
from pondage.work.component import ComponentResult, MemberResult

LOOK_S = 0.05
KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "PYTHONPATH")
"""What a program sees of the worker's environment: the rest may be secret."""


class Queue(Protocol):
    """A transport that serves the session of a program."""

    @property
    def url(self) -> str:
        """Answer what PONDAGE_QUEUE says."""

    @property
    def mailbox(self) -> str:
        """Answer what PONDAGE_JOBS says."""

    @property
    def lost(self) -> str | None:
        """Answer why the program cannot be reached any more; None when it can."""

    def drain(self) -> None:
        """Wait until everything that the program has said is carried out."""

    def close(self) -> None:
        """End it and remove what it made."""


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """What hosting needs: a transport for the session, the folder of the code, the program's own variables."""

    open_queue: Callable[[ProgramSession], Queue]
    folder: Callable[[], Path]
    variables: Mapping[str, str] = {}


def run_program(attempt: Attempt, session: ProgramSession, host: Host, *, instance: str) -> ComponentResult | Crashed:
    """Run a program to its end and answer how its execution ended."""
    try:
        queue = host.open_queue(session)
    except PondageError as error:
        if error.code == "BROKER_LOST":
            return Crashed(reason=error.message)
        raise
    try:
        if session.program.command:
            status = _Running(attempt, session, host, queue).wait()
        else:
            status = _wait(attempt, session, queue)
        if session.failure is None and not _is_gone(attempt):
            queue.drain()
        lost, failure = queue.lost, session.failure
    finally:
        session.end()
        queue.close()
    if failure is None and lost is not None:
        return Crashed(reason=lost)
    if failure is None and status != 0:
        return Crashed(reason=f"the program of {instance} {_died(status)}")
    if failure is None and session.open_outputs:
        failure = PondageError(
            f"{instance} returned and left {', '.join(session.open_outputs)} open", code="OUTPUT_NOT_CLOSED"
        )
    if failure is None:
        return ComponentResult(members=(MemberResult(instance=instance, is_cut=session.is_cut),))
    attempt.log.write("ERROR", f"{failure.code}: {failure.message}")
    if failure.code == "CANCELLED":
        raise failure
    first, _, rest = failure.message.strip().rpartition("\n")
    raises = rest if failure.code == "Panic" else failure.message
    trace = failure.message if failure.code == "Panic" and first else None
    ended = MemberResult(instance=instance, raises=raises, code=failure.code, trace=trace, is_cut=session.is_cut)
    return ComponentResult(members=(ended,))


def _wait(attempt: Attempt, session: ProgramSession, queue: Queue) -> int:
    """Wait for a program that runs elsewhere: it is done when it says so."""
    while not session.is_done and session.failure is None and queue.lost is None and not _is_gone(attempt):
        time.sleep(LOOK_S)
    return 0


class _Running:
    """A program while it runs."""

    def __init__(self, attempt: Attempt, session: ProgramSession, host: Host, queue: Queue) -> None:
        self._attempt = attempt
        self._session = session
        self._queue = queue
        folder = host.folder()
        environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        # The worker's own Python and `pondage` come first: a program is written against them.
        environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", os.defpath)])
        if "PYTHONPATH" in environment:
            places = environment["PYTHONPATH"].split(os.pathsep)
            environment["PYTHONPATH"] = os.pathsep.join(str(Path(place).absolute()) for place in places)
        environment |= {**host.variables, "PONDAGE_QUEUE": queue.url, "PONDAGE_JOBS": queue.mailbox}
        self._guard = guard.Guard()
        try:
            self._process = subprocess.Popen(
                session.program.command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                process_group=self._guard.group,
            )
        except OSError as error:
            self._guard.end()
            raise PondageError(
                f"{session.program.command[0]} cannot be started: {error.strerror}",
                code="NO_PROGRAM",
                hint="the command is looked up on the PATH of the worker, and files in the deployed code",
            ) from error
        self._saying = threading.Thread(target=self._tell_output, name="program output", daemon=True)
        self._saying.start()

    def wait(self) -> int:
        """Wait for its end and answer the status; end it when its execution is over."""
        asked_s: float | None = None
        while (status := self._process.poll()) is None:
            if asked_s is None and self._must_end():
                asked_s = time.monotonic()
                self._guard.signal(signal.SIGTERM)
            if asked_s is not None and time.monotonic() - asked_s > guard.END_GRACE_S:
                self._guard.signal(signal.SIGKILL)
            time.sleep(LOOK_S)
        self._guard.end()  # with whatever it started and left behind
        self._saying.join(guard.END_GRACE_S)
        return status

    def _must_end(self) -> bool:
        return self._session.failure is not None or self._queue.lost is not None or _is_gone(self._attempt)

    def _tell_output(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as said:
            for line in said:
                self._attempt.log.write("INFO", line.decode("utf-8", "replace").rstrip())


def _is_gone(attempt: Attempt) -> bool:
    return attempt.taken_away is not None or attempt.is_settled


def _died(status: int) -> str:
    return f"ended with status {status}" if status > 0 else f"was killed by {signal.Signals(-status).name}"
