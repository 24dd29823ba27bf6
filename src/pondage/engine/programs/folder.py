"""The folder of a socket: with a short path, only for this user, and swept when its worker died."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path

from pondage.engine.process.places import socket_place
from pondage.spark.jvm.workspace import held, sweep

PREFIX = "pondage-q-"


class SocketFolder:
    """A folder among the temporary files, because a path of a socket has about a hundred characters.

    A note in the state directory says where it is, and is locked for as long as its worker lives. Whoever makes the
    next one removes what the notes of the dead name.
    """

    def __init__(self, state: Path) -> None:
        notes = state.resolve() / "queues"
        notes.mkdir(parents=True, exist_ok=True, mode=0o700)
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
