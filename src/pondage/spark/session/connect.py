"""Spark Connect: the driver is a server elsewhere, and each attempt has a session of its own there.

A query goes on when its client dies. So session id and tag follow from the attempt's token, which the ledger has:
whoever takes a dead process's work back can reach its session and end it.
"""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
import threading
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pondage.errors import PondageError
from pondage.spark.jvm.settings import FIXED, SparkSettings
from pondage.work.progress import JobProgress, StageView

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAMESPACE = uuid.UUID("5b1f7a52-6c1e-4f0c-9d0c-0d5f5a0f6a11")
_USER = "pondage"
_NEEDED = ("grpc", "grpc_status", "google.rpc", "zstandard")
_OWN = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.sources.partitionOverwriteMode": "static",
}


class ConnectBackend:
    """Runs attempts on a Connect server. See `Backend` for what each method promises; progress is never known."""

    def __init__(self, settings: SparkSettings) -> None:
        assert settings.remote is not None, "a Connect server has an address"
        require_client()
        self._remote = settings.remote
        self._conf = _OWN | settings.conf | FIXED
        self._lock = threading.Lock()
        self._sessions: dict[str, SparkSession] = {}
        self._scratch = Path(tempfile.mkdtemp(prefix="pondage-connect-"))
        self._sent: tuple[str, ...] = ()
        self._is_stopped = False

    @property
    def pid(self) -> int | None:
        """See `Backend`: the server is not ours."""
        return None

    def open_attempt(self, token: str, description: str, pool: str) -> SparkSession:
        """See `Backend`. A server has no pools, and its description is the tag. Deployed code is sent to the session.

        Settings that only the server can have are left as they are there.
        """
        del description, pool
        session = attached(self._remote, token)
        with self._lock:
            self._sessions[token] = session
        session.addTag(token)
        for key, value in self._conf.items():
            if session.conf.isModifiable(key):
                session.conf.set(key, value)
        if self._sent:
            session.addArtifacts(*self._sent, pyfile=True)
        return session

    def close_attempt(self, token: str) -> None:
        """See `Backend`. The server forgets the session with its views."""
        with self._lock:
            session = self._sessions.pop(token, None)
        if session is not None:
            _ended(session, timeout_s=5.0)

    def cancel(self, token: str) -> None:
        """See `Backend`."""
        with self._lock:
            session = self._sessions.get(token)
        if session is not None:
            session.interruptTag(token)

    def progress(self, token: str) -> JobProgress:
        """See `Backend`: a client is not told."""
        del token
        return JobProgress()

    def stages(self, token: str, most: int) -> tuple[StageView, ...]:
        """See `Backend`: a client is not told."""
        del token, most
        return ()

    def add_python_path(self, paths: tuple[str, ...]) -> None:
        """See `Backend`. Sessions that are opened from now on get the code."""
        made = (shutil.make_archive(str(self._scratch / Path(path).name), "zip", root_dir=path) for path in paths)
        self._sent = (*self._sent, *made)

    def is_alive(self) -> bool:
        """See `Backend`. Whether the server answers is seen by each attempt."""
        return not self._is_stopped

    def ran_out_of_memory(self) -> bool:
        """See `Backend`. How a server ended is not known here."""
        return False

    def stop(self, timeout_s: float) -> None:
        """See `Backend`. The server goes on; what this process runs there ends."""
        self._is_stopped = True
        with self._lock:
            sessions = list(self._sessions.values())
            self._sessions.clear()
        for session in sessions:
            _ended(session, timeout_s)
        shutil.rmtree(self._scratch, ignore_errors=True)


def attached(remote: str, token: str) -> SparkSession:
    """Answer the server's session of an attempt, for this client: the one that is there, or a new one."""
    from pyspark.sql import SparkSession

    return SparkSession.builder.remote(address_of(remote, token)).create()


def address_of(remote: str, token: str) -> str:
    """Answer the address with the session of a token. Everybody must come as one user: sessions belong to users."""
    base, _, given = remote.partition("/;")
    parameters = [each for each in given.split(";") if each and not each.startswith("session_id=")]
    if not any(each.startswith("user_id=") for each in parameters):
        parameters.append(f"user_id={_USER}")
    return ";".join([f"{base.rstrip('/')}/", *parameters, f"session_id={uuid.uuid5(_NAMESPACE, token)}"])


def end_sessions(remote: str, tokens: Sequence[str]) -> None:
    """Stop what attempts of dead clients run on the server, and refuse what they would still ask for."""
    require_client()
    for token in tokens:
        session = attached(remote, token)
        session.interruptTag(token)
        _ended(session, timeout_s=20.0)


def is_connect(session: SparkSession) -> bool:
    """Answer whether a session is one of a Connect server, which shows no plan and has no context."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def require_client() -> None:
    """Raise `PondageError` (MISSING_EXTRA) when the packages of the client are not installed."""
    missing = [name for name in _NEEDED if not _is_installed(name)]
    if missing:
        raise PondageError(
            f"Spark Connect needs packages that are not installed: {', '.join(missing)}",
            code="MISSING_EXTRA",
            hint="pip install 'pyspark[connect]'",
        )


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _ended(session: SparkSession, timeout_s: float) -> None:
    """Release a session; a server that is gone would be asked for minutes, so it is asked aside."""

    def release() -> None:
        with suppress(Exception):  # it may be closed already, which is what we want
            session.stop()

    asking = threading.Thread(target=release, name="pondage-release", daemon=True)
    asking.start()
    asking.join(timeout_s)
