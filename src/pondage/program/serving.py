"""`serve`: find the worker, take jobs and work on them, until there are no more or somebody says SIGTERM."""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress

from pondage.errors import PondageError
from pondage.program.job import Job, JobOver
from pondage.program.transport import JobDesc, Transport, UnixTransport


def serve(work: Callable[[Job], None], *, transport: Transport | None = None) -> int:
    """Work on jobs, one after the other, and answer how many there were.

    An exception of `work` is a panic of its job, with the traceback. After SIGTERM the job at hand is finished and no
    other is taken: that is what draining means.
    """
    link = transport or transport_of()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: link.drain())
    done = 0
    try:
        while (description := link.take()) is not None:
            _work_on(Job(link, description), work)
            done += 1
    finally:
        link.end()
    return done


def transport_of(description: JobDesc | None = None) -> Transport:
    """Answer the transport that the environment names: `unix:PATH` or `amqp://…` in PONDAGE_QUEUE.

    Over a broker, `description` is the job that was taken before.
    """
    address = os.environ.get("PONDAGE_QUEUE", "")
    if address.startswith("unix:"):
        return UnixTransport(address.removeprefix("unix:"))
    if address.startswith(("amqp://", "amqps://")):
        from pondage.program.amqp_transport import AmqpTransport

        return AmqpTransport(address, os.environ.get("PONDAGE_JOBS", ""), description)
    raise PondageError(
        "PONDAGE_QUEUE names no queue of a worker" if not address else "PONDAGE_QUEUE is neither unix: nor amqp:",
        code="NO_QUEUE",
        hint="programs are started by a worker, which sets it",
    )


def _work_on(job: Job, work: Callable[[Job], None]) -> None:
    job.look_after()
    try:
        work(job)
    except JobOver:
        pass  # nobody waits for it any more, and nobody has to be told
    except Exception:  # noqa: BLE001 - it is the job's panic
        with suppress(OSError, PondageError):
            job.panic(traceback.format_exc())
    finally:
        job.over()
