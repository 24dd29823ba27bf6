"""A process that ends a program when its worker has died, however that died, and all that the program started."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress

from pondage.errors import PondageError

END_GRACE_S = 5.0
"""How long a program has between SIGTERM and SIGKILL once its execution is over, or its worker dead."""
_SCRIPT = 'trap "" TERM; echo ready; read -r _; kill -TERM 0; sleep "$1"; kill -KILL 0'


class Guard:
    """The leader of a program's process group. It waits for the end of a pipe that only this process holds open.

    It is there before the program is, which is born into its group: no moment is without it. And because it is ours
    until `end`, the number of the group can be nobody else's.
    """

    def __init__(self) -> None:
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT, "pondage-guard", f"{END_GRACE_S:g}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={"PATH": os.environ.get("PATH", os.defpath)},
                process_group=0,
            )
        except OSError as error:
            raise PondageError(
                f"/bin/sh cannot be started: {error.strerror}",
                code="NO_PROGRAM",
                hint="a worker of external programs needs it, to end them when it dies itself",
            ) from error
        assert self._process.stdout is not None
        with self._process.stdout as said:
            said.readline()  # from here on SIGTERM for the group passes it by

    @property
    def group(self) -> int:
        """Answer the process group that a program must be born into."""
        return self._process.pid

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to everybody in the group; SIGKILL takes the guard along."""
        with suppress(ProcessLookupError):
            os.killpg(self.group, number)

    def end(self) -> None:
        """Kill whoever is left in the group, and the guard."""
        self.signal(signal.SIGKILL)
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
