"""What is left of the socket of a worker when it is closed, and when the worker is killed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pondage.engine.live.socket import LiveSocket
from pondage.engine.process.places import LONGEST_SOCKET_PATH
from pondage.engine.programs.unix import SocketFolder, UnixQueue
from pondage.program.transport import UnixTransport
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
