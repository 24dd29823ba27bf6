"""Whatever the umask, only the owner reads the ledger, journals, logs, tokens, keys, code and sockets."""

from __future__ import annotations

import asyncio
import io
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

import pondage
from pondage.connect.vault import open_vault
from pondage.engine.attempt.log import AttemptLog
from pondage.engine.live.socket import LiveSocket
from pondage.engine.process.spawn import spawn
from pondage.engine.services.backup import backup
from pondage.ledger.commit.journal import FileJournal, journal_path
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables.reactors import Lease
from pondage.private import OTHERS, make_private
from pondage.project.archive import unpack


@pytest.fixture(autouse=True)
def nothing_is_masked() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


LEASE = Lease(actor=1, environment=1, name="counter", epoch=1, token="t1")


class Nothing(msgspec.Struct):
    """What a child is told that needs nothing."""


def written(place: Path) -> Ledger:
    """A ledger with something in its WAL."""
    ledger = Ledger.open(f"sqlite://{place}/ledger.db")
    with ledger.transaction() as tx:
        tx.write("INSERT INTO environments (name) VALUES ('somewhere')")
    return ledger


def a_ledger(place: Path) -> Iterator[None]:
    ledger = written(place)
    assert {each.name for each in place.iterdir()} >= {"ledger.db", "ledger.db-wal", "ledger.db-shm"}
    yield
    ledger.close()


def a_journal(place: Path) -> Iterator[None]:
    journal = FileJournal(journal_path(place / "ledger.db", 1), LEASE, level="process")
    yield
    journal.close()


def a_backup(place: Path) -> Iterator[None]:
    ledger = written(place)
    FileJournal(journal_path(place / "ledger.db", 1), LEASE, level="process").close()
    backup(ledger, place / "copies" / "ledger.db")
    yield
    ledger.close()


def a_log(place: Path) -> Iterator[None]:
    log = AttemptLog(place / "logs" / "r1" / "1-1.log")
    log.write("INFO", "hello")
    yield
    log.close()


def what_a_process_says(place: Path) -> Iterator[None]:
    with spawn("json.tool", Nothing(), output=place / "logs" / "worker.log", directory=place.parent) as child:
        yield
        child.kill()


def deployed_code(place: Path) -> Iterator[None]:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("ponds.py", "x = 1")
        file.writestr("programs/run.sh", "true")
    unpack(buffer.getvalue(), place / "code" / "abc")
    assert os.access(place / "code" / "abc" / "programs" / "run.sh", os.X_OK)
    yield


def a_key_for_secrets(place: Path) -> Iterator[None]:
    open_vault(f"file:{place}/secret.key", is_created=True)
    yield


def a_socket(place: Path) -> Iterator[None]:
    with asyncio.Runner() as runner:
        socket = LiveSocket(place / "live", "h1", lambda *_: None)
        runner.run(socket.open())
        # Below a deep folder it is somewhere else.
        place.mkdir(mode=0o700, exist_ok=True)
        (place / "socket").symlink_to(socket.path)
        assert not is_wide(socket.path.parent)
        yield
        runner.run(socket.close())


@pytest.mark.parametrize(
    "make",
    [
        a_ledger, a_journal, a_backup, a_log, what_a_process_says, deployed_code, a_key_for_secrets, a_socket,
    ],
)  # fmt: skip
def test_what_is_made_is_its_owners_alone(tmp_path: Path, make: Callable[[Path], Iterator[None]]) -> None:
    place = tmp_path / "new" / ".pondage"
    (tmp_path / "new").mkdir()
    for _ in make(place):
        made = [place, *place.rglob("*")]
        assert len(made) > 1, "something was made"
        wide = [f"{each.relative_to(tmp_path)} {each.stat().st_mode & 0o777:o}" for each in made if is_wide(each)]
        assert wide == []


def is_wide(path: Path) -> bool:
    return bool(path.stat().st_mode & OTHERS)


def test_a_directory_that_is_there_stays_as_its_owner_made_it(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o775)
    make_private(shared / "a" / "b")
    make_private(shared)
    assert [each.stat().st_mode & 0o777 for each in (shared, shared / "a", shared / "a" / "b")] == [0o775, 0o700, 0o700]


def test_a_server_that_starts_for_the_first_time_leaves_nothing_to_others(tmp_path: Path) -> None:
    (tmp_path / "pondage.toml").write_text('[project]\nname = "shop"\n')
    command = [sys.executable, "-m", "pondage.cli.main", "serve", "--port", "0"]
    here = {**os.environ, "PYTHONPATH": str(Path(pondage.__file__).parents[1])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=here) as server:
        assert server.stdout is not None
        assert re.search(r"#token=", server.stdout.readline() + server.stdout.readline())
        made = [tmp_path / ".pondage", *(tmp_path / ".pondage").rglob("*")]
        assert {each.name for each in made} >= {"ledger.db", "admin.token"}
        assert [each.name for each in made if is_wide(each)] == []
        server.terminate()
