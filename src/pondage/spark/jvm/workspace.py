"""The directory of one driver on this machine, and sweeping what dead drivers left behind."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pondage.private import make_private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_KEPT_LOGS = 10


class Workspace:
    """A private directory for the scratch files of one driver: `local` is Spark's, `log` is the JVM's output.

    The directory belongs to whoever holds the lock of its lock file. The JVM inherits the open lock, so that a
    directory counts as in use until Python *and* the JVM have ended, however they ended.
    """

    def __init__(self, root: Path, name: str, lock: int) -> None:
        self.root = root
        self.name = name
        self.lock = lock
        self.path = root / name
        self.local = self.path / "local"
        self.warehouse = root / "warehouse"
        self.log = root / "logs" / f"{name}.log"

    @classmethod
    def create(cls, state_directory: Path) -> Workspace:
        """Sweep the leftovers of dead drivers under `state_directory`, then make and lock a directory of our own."""
        root = state_directory.resolve() / "spark"
        make_private(root / "logs")
        # Without the outer lock, a sweeper could take a new directory in the moment before its owner locks it.
        with held(root / "sweep.lock"):
            _sweep(root)
            name = f"run-{secrets.token_hex(6)}"
            lock = os.open(root / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            workspace = cls(root, name, lock)
            workspace.path.mkdir(mode=0o700)
            workspace.local.mkdir(mode=0o700)
        return workspace

    def remove(self) -> None:
        """Remove the directory and its lock; the log stays. Does nothing when done already."""
        if self.lock < 0:
            return
        shutil.rmtree(self.path, ignore_errors=True)
        with suppress(OSError):
            (self.root / f"{self.name}.lock").unlink()
        os.close(self.lock)
        self.lock = -1


def _sweep(root: Path) -> None:
    sweep(root, "run-*.lock", lambda lock_file: shutil.rmtree(lock_file.with_suffix(""), ignore_errors=True))
    logs = sorted((root / "logs").glob("run-*.log"), key=_modified_at, reverse=True)
    for log in logs[_KEPT_LOGS:]:
        # A log whose driver lives is written to, so it is among the newest unless there are very many drivers.
        if not (root / f"{log.stem}.lock").exists():
            with suppress(OSError):
                log.unlink()


def sweep(root: Path, pattern: str, remove: Callable[[Path], None]) -> None:
    """Remove what lock files stand for that nobody holds any more, and those files; call it under `held`."""
    for lock_file in root.glob(pattern):
        try:
            lock = os.open(lock_file, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue  # its owner lives, or the file system knows no locks: leave it alone
        else:
            with suppress(OSError):
                remove(lock_file)
                lock_file.unlink()
        finally:
            os.close(lock)


def _modified_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold the lock of a file."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
