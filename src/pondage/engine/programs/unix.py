"""The socket of a worker for one external program: verbs come in, frames go out."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

from pondage.engine.process.places import socket_place
from pondage.engine.programs.session import ProgramSession
from pondage.errors import PondageError
from pondage.private import make_private
from pondage.program.frames import FrameError
from pondage.program.wire import ERROR, Header, HungUp, receive, send
from pondage.spark.jvm.workspace import held, sweep

PREFIX = "pondage-q-"


class UnixQueue:
    """Listens in a folder that only this user can enter. Every connection is served by a thread of its own."""

    def __init__(self, session: ProgramSession, state: Path) -> None:
        self._session = session
        self._folder = SocketFolder(state)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._folder.path / "queue"))
        self._listener.listen()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, name="program queue", daemon=True).start()

    @property
    def url(self) -> str:
        """Answer what PONDAGE_QUEUE says."""
        return f"unix:{self._folder.path / 'queue'}"

    @property
    def mailbox(self) -> str:
        """Answer what PONDAGE_JOBS says."""
        return self._session.program.hash

    @property
    def lost(self) -> str | None:
        """Answer None: a socket of this machine is there for as long as this process."""
        return None

    def drain(self) -> None:
        """Do nothing: what a program said was carried out before it was answered."""

    def close(self) -> None:
        """Hang up on everybody and remove the socket."""
        _hang_up(self._listener)
        with self._lock:
            for connection in self._open:
                _hang_up(connection)
        self._folder.remove()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), name="program", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            while (message := receive(connection)) is not None:
                header, body = message
                self._answer(connection, header, body)
        except (OSError, HungUp):
            pass  # its end says the rest
        except FrameError as error:
            self._session.refuse(error)
            with suppress(OSError):
                send(connection, Header(verb=ERROR, code=error.code, message=error.message))
        finally:
            with self._lock:
                self._open.discard(connection)
            connection.close()

    def _answer(self, connection: socket.socket, header: Header, body: bytes) -> None:
        try:
            found = self._carry_out(header, body)
        except PondageError as error:
            send(connection, Header(verb=ERROR, port=header.port, code=error.code, message=error.message))
        else:
            send(connection, Header(verb=header.verb, port=header.port), found)

    def _carry_out(self, header: Header, body: bytes) -> bytes:
        session, port = self._session, header.port
        match header.verb:
            case "take":
                return session.take()
            case "pop":
                return session.pop(port)
            case "put":
                session.put(port, body)
            case "close":
                session.close(port)
            case "panic":
                session.panic(body)
            case "health":
                session.health(body, now_ms=time.time() * 1000)
            case "wait_stop":
                return session.wait_stop()
            case _:
                raise PondageError(f"there is no verb {header.verb!r}", code="UNKNOWN_VERB")
        return b""


def _hang_up(one: socket.socket) -> None:
    """Close a socket, and wake the thread that waits at it: closing alone does not."""
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()


class SocketFolder:
    """A folder among the temporary files, because a path of a socket has about a hundred characters.

    A note in the state directory says where it is, and is locked for as long as its worker lives. Whoever makes the
    next one removes what the notes of the dead name.
    """

    def __init__(self, state: Path) -> None:
        notes = state.resolve() / "queues"
        make_private(notes)
        name = f"{PREFIX}{secrets.token_hex(5)}"
        self.path = socket_place(len(f"{name}/queue")) / name
        # Without the outer lock, a sweeper could take a new note in the moment before its owner locks it.
        with held(notes / "sweep.lock"):
            sweep(notes, f"{PREFIX}*.lock", _remove_named)
            self._note = notes / f"{name}.lock"
            self._lock = os.open(self._note, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(self._lock, os.fsencode(self.path))
        self.path.mkdir(mode=0o700)

    def remove(self) -> None:
        """Remove the folder and its note. Does nothing when done already."""
        if self._lock < 0:
            return
        shutil.rmtree(self.path, ignore_errors=True)
        with suppress(OSError):
            self._note.unlink()
        os.close(self._lock)
        self._lock = -1


def _remove_named(note: Path) -> None:
    named = Path(os.fsdecode(note.read_bytes()))
    if named.name == note.stem:  # the note of one who died before it was written names nothing
        shutil.rmtree(named, ignore_errors=True)
