"""What is left of the socket of a worker when it is closed, and when the worker is killed."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pondage.engine.live.socket import LiveSocket
from pondage.engine.process.places import LONGEST_SOCKET_PATH
from pondage.engine.programs.unix import SocketFolder, UnixQueue
from pondage.program.transport import UnixTransport
from pondage.program.wire import receive
from tests.engine.programs.harness import ProgramWorld
from tests.patience import PATIENCE_S

OWNER = """
import sys
from pathlib import Path
from pondage.engine.programs.unix import SocketFolder
print(SocketFolder(Path(sys.argv[1])).path, flush=True)
sys.stdin.read()
"""


def test_the_folder_of_a_worker_that_was_killed_goes_with_the_next_one_and_that_of_a_living_one_stays(
    tmp_path: Path,
) -> None:
    state = tmp_path / "state"
    living = SocketFolder(state)
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(state)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    left = Path(owner.stdout.readline().strip())
    assert left.is_dir()
    owner.kill()
    owner.communicate()
    assert left.is_dir()
    SocketFolder(state).remove()
    assert (left.exists(), living.path.exists()) == (False, True)
    living.remove()
    assert not living.path.exists()
    assert [one.name for one in (state / "queues").iterdir()] == ["sweep.lock"]


def test_a_socket_is_found_however_deep_the_temporary_files_lie(
    flow: ProgramWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by a run of the tests in a deep folder: each program of a flow failed, because its socket had no name."""
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    flow.start()
    flow.claimed("w")
    session = flow.session(flow.attempt(flow.claimed("x")))
    queue = UnixQueue(session, tmp_path / "state")
    client = UnixTransport(queue.url.removeprefix("unix:"))
    client.take()
    session.end()
    queue.close()
    client.end()
    live = LiveSocket(deep, "live", lambda *_: None)
    assert len(os.fsencode(live.path)) <= LONGEST_SOCKET_PATH
    live.path.parent.rmdir()


def test_a_closed_socket_leaves_no_thread_behind_also_when_its_program_still_waits(
    flow: ProgramWorld, tmp_path: Path
) -> None:
    before = set(threading.enumerate())
    flow.start()
    flow.claimed("w")
    session = flow.session(flow.attempt(flow.claimed("x")))
    queue = UnixQueue(session, tmp_path / "state")
    client = UnixTransport(queue.url.removeprefix("unix:"))
    client.take()
    serving = set(threading.enumerate()) - before
    assert len(serving) == 2, "one that accepts, one that answers"
    session.end()
    queue.close()
    for thread in serving:
        thread.join(PATIENCE_S)
    assert not any(thread.is_alive() for thread in serving)
    client.end()


@pytest.mark.parametrize(
    "sent",
    [b"\xff\xff\xff\xff", struct.pack(">I", 4) + b"nope", struct.pack(">I", 31) + b'{"verb":"put","body":999999999}'],
    ids=["a length beyond all sizes", "no JSON", "a body beyond all sizes"],
)
def test_what_is_no_message_at_all_fails_the_component_with_a_code(
    flow: ProgramWorld, tmp_path: Path, sent: bytes
) -> None:
    flow.start()
    flow.claimed("w")
    session = flow.session(flow.attempt(flow.claimed("x")))
    queue = UnixQueue(session, tmp_path)
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(queue.url.removeprefix("unix:"))
            client.sendall(sent)
            answer = receive(client)
        assert answer is not None
        assert (answer[0].verb, answer[0].code) == ("error", "DECODE_ERROR")
        assert session.failure is not None
        assert session.failure.code == "DECODE_ERROR"
    finally:
        session.end()
        queue.close()


def test_who_hangs_up_in_the_middle_of_a_message_has_died_and_sent_nothing_wrong(
    flow: ProgramWorld, tmp_path: Path
) -> None:
    flow.start()
    flow.claimed("w")
    session = flow.session(flow.attempt(flow.claimed("x")))
    queue = UnixQueue(session, tmp_path)
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(queue.url.removeprefix("unix:"))
            client.sendall(struct.pack(">I", 40) + b'{"verb"')
            client.shutdown(socket.SHUT_WR)
            assert client.recv(1) == b"", "it is hung up on, too"
        assert session.failure is None
    finally:
        session.end()
        queue.close()
