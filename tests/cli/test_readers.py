"""Processes that stay end when they are asked to, whoever reads what they say, has stopped reading it, or has gone."""

from __future__ import annotations

import http.client
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from io import TextIOWrapper
from pathlib import Path

import pytest

import pondage
from pondage.engine.process.voice import KEPT_BYTES, Voice
from tests.engine.projects import write_project
from tests.patience import PATIENCE_S

VERBS = {
    "dev": (("dev", "--no-api"), "Ctrl-C here ends it"),
    "serve": (("serve", "--port", "0"), "admin.token"),
    "worker": (("worker",), "side by side"),
    "live": (("live",), "side by side"),
}
"""Each with its arguments, and with what it says when it may be asked to end."""


class Reader:
    """Reads what a process says, until it has read enough."""

    def __init__(self) -> None:
        self.end, self.mouth = os.pipe()

    def until(self, words: str) -> str:
        """Read until it says this."""
        said = ""
        while words not in said:
            more = os.read(self.end, 4096)
            assert more, f"it ended before it said {words!r}: {said}"
            said += more.decode()
        return said

    def go(self) -> None:
        """Read nothing any more, and be gone."""
        os.close(self.end)
        self.end = -1

    def stop(self) -> None:
        """Read nothing any more, and let everything be full that stands between the two."""
        filling = os.open(f"/proc/self/fd/{self.mouth}", os.O_WRONLY | os.O_NONBLOCK)
        try:
            while True:
                os.write(filling, b"x")
        except BlockingIOError:
            os.close(filling)


@pytest.fixture
def reader() -> Iterator[Reader]:
    opened = Reader()
    yield opened
    for each in (opened.end, opened.mouth):
        if each >= 0:
            os.close(each)


def started(verb: str, project: Path, reader: Reader) -> subprocess.Popen[bytes]:
    arguments, ready = VERBS[verb]
    process = subprocess.Popen(
        [sys.executable, "-c", "from pondage.cli.main import main; main()", *arguments],
        cwd=project, stdout=reader.mouth, stderr=reader.mouth, stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(Path(pondage.__file__).parents[1])},
    )  # fmt: skip
    said = reader.until(ready)
    if verb == "serve":
        # It answers signals by itself from before it answers anybody else.
        port = re.search(r"127\.0\.0\.1:(\d+)", said)
        assert port is not None
        connection = http.client.HTTPConnection("127.0.0.1", int(port[1]), timeout=PATIENCE_S)
        connection.request("GET", "/healthz")
        assert connection.getresponse().status == 200
        connection.close()
    return process


@pytest.mark.parametrize(
    ("number", "leave"),
    [
        pytest.param(signal.SIGINT, Reader.go, id="Ctrl-C ends the reader too"),
        pytest.param(signal.SIGTERM, Reader.stop, id="the reader has stopped reading"),
    ],
)
@pytest.mark.parametrize("verb", list(VERBS))
def test_it_ends_when_it_is_asked_to_whatever_its_reader_does(
    tmp_path: Path, reader: Reader, verb: str, number: signal.Signals, leave: Callable[[Reader], None]
) -> None:
    project = write_project(tmp_path / "project", "")
    process = started(verb, project.root, reader)
    leave(reader)
    process.send_signal(number)
    try:
        assert process.wait(PATIENCE_S) == 0
    finally:
        process.kill()


def test_what_is_said_comes_in_order_as_soon_as_somebody_reads_again(reader: Reader) -> None:
    voice = TextIOWrapper(Voice(reader.mouth), write_through=True)  # type: ignore[type-var]  # raw is enough here
    reader.stop()
    voice.write("first\n")
    reader.until("x")
    voice.write("second\n")
    said = reader.until("second\n")
    assert said.endswith("first\nsecond\n")


def test_a_voice_that_nobody_hears_keeps_a_little_and_never_more(reader: Reader) -> None:
    voice = Voice(reader.mouth)
    reader.stop()
    for _ in range(10):
        voice.write(b"y" * (KEPT_BYTES // 4))
    kept = 0
    os.set_blocking(reader.end, False)
    voice.write(b"")
    while True:
        try:
            kept += os.read(reader.end, KEPT_BYTES).count(b"y")
        except BlockingIOError:
            break
        voice.write(b"")
    assert kept == KEPT_BYTES
