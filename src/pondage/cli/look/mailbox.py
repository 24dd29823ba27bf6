"""`pondage mailbox`: the verbs of external programs for shells. Bytes go through as they are, NUL included."""

from __future__ import annotations

import os
import sys
import time

import click
import msgspec

from pondage.cli.client.settings import Verb
from pondage.program.serving import transport_of
from pondage.program.transport import JobDesc, Transport

NO_MORE = 3
"""The exit code at the end of a stream, and when there is no other job."""

_PORT = click.argument("port")


@click.group()
def mailbox() -> None:
    """Speak with the worker that started this program, from a shell.

    PONDAGE_QUEUE names the worker. Data comes from stdin and goes to stdout as it is. Exit code 3: there is no more.
    Over a broker, keep what `take` printed in the variable PONDAGE_JOB.
    """


@mailbox.command(cls=Verb)
def take() -> None:
    """Take the job and print it as JSON: its inputs, outputs and params."""
    found = _linked().take()
    if found is None:
        sys.exit(NO_MORE)
    _out(msgspec.json.encode(found) + b"\n")


@mailbox.command(cls=Verb)
@_PORT
def pop(port: str) -> None:
    """Wait for the next segment of an input and print its bytes."""
    found = _linked().pop(port)
    if found is None:
        sys.exit(NO_MORE)
    _out(found)


@mailbox.command(cls=Verb)
@_PORT
def put(port: str) -> None:
    """Put what comes from stdin out as one segment."""
    _linked().put(port, sys.stdin.buffer.read())


@mailbox.command(cls=Verb)
@_PORT
def close(port: str) -> None:
    """Say that an output has ended."""
    _linked().close(port)


@mailbox.command(cls=Verb)
@click.argument("text", required=False)
def panic(text: str | None) -> None:
    """Say that the job failed, and why: TEXT, or what comes from stdin."""
    _linked().panic(sys.stdin.buffer.read().decode("utf-8", "replace") if text is None else text)


@mailbox.command(cls=Verb)
@click.argument("seconds", type=float, default=30.0)
def health(seconds: float) -> None:
    """Say that the job is well for SECONDS from now, and dead when nothing is said until then."""
    _linked().health(int((time.time() + seconds) * 1000))


@mailbox.command("wait-stop", cls=Verb)
def wait_stop() -> None:
    """Wait until the job is asked to stop; exit code 3 when it is over without that."""
    if not _linked().wait_stop():
        sys.exit(NO_MORE)


def _linked() -> Transport:
    taken = os.environ.get("PONDAGE_JOB")
    return transport_of(description=msgspec.json.decode(taken, type=JobDesc) if taken else None)


def _out(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
