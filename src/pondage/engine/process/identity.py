"""Which process of which machine this is, and whether another one of this machine still runs."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def machine() -> str:
    """Answer what identifies the space in which our process ids mean something.

    Containers may share a host name, and their pids repeat: where Linux tells it, the pid namespace is part of it.
    """
    try:
        namespace = Path("/proc/self/ns/pid").readlink().name
    except OSError:
        return socket.gethostname()
    return f"{socket.gethostname()}/{namespace}"


def started(pid: int) -> int:
    """Answer when a process started, in ticks since the boot; 0 when it is gone or this system does not tell.

    With the pid it identifies a process: pids are given out again, pairs are not.
    """
    stat = _stat(pid)
    return 0 if stat is None else int(stat[19])


def is_running(pid: int, pid_started: int) -> bool:
    """Answer whether the very process that started then still runs. A zombie does not."""
    if Path("/proc/self/stat").exists():
        stat = _stat(pid)
        return stat is not None and stat[0] not in ("Z", "X") and int(stat[19]) == pid_started
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _stat(pid: int) -> list[str] | None:
    """Answer the fields of /proc/PID/stat behind the command, which may itself hold spaces and brackets."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()
