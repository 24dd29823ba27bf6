"""Queries of dead workers on a Spark Connect server: they go on without their client until somebody ends them.

`python -m pondage.engine.services.remote_queries` does it in a process of its own: who reaps loads no Spark. Address
and tokens come by standard input, because an address may hold a secret.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Sequence

import msgspec

TIMEOUT_S = 120.0

_log = logging.getLogger(__name__)


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Whose sessions to end, and where."""

    remote: str
    tokens: tuple[str, ...]


class RemoteQueries:
    """Ends the queries of executions that were taken back. Without a Connect server there are none."""

    def __init__(self, remote: str | None) -> None:
        self._remote = remote

    def end(self, tokens: Sequence[str]) -> None:
        """Begin to end them, aside. Their files are invisible in any case: this frees the server."""
        if self._remote is not None and tokens:
            asked = Asked(remote=self._remote, tokens=tuple(tokens))
            threading.Thread(target=_end, args=(asked,), name="pondage-remote-queries", daemon=True).start()


def _end(asked: Asked) -> None:
    command = [sys.executable, "-m", "pondage.engine.services.remote_queries"]
    try:
        done = subprocess.run(
            command, input=msgspec.json.encode(asked), capture_output=True, timeout=TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        _log.warning("queries of dead workers were not ended: %s", type(error).__name__)
        return
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        _log.warning("queries of dead workers were not ended: %s", said[-1] if said else done.returncode)


def main() -> int:
    """End the sessions that standard input names."""
    from pondage.spark.session.connect import end_sessions

    asked = msgspec.json.decode(sys.stdin.buffer.read(), type=Asked)
    end_sessions(asked.remote, asked.tokens)
    return 0


if __name__ == "__main__":
    sys.exit(main())
