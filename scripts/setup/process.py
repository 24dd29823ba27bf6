"""Run a long program quietly: its output goes to a log, its progress to the moving line."""

from __future__ import annotations

import os
import selectors
import subprocess
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path

TAIL_LINES = 25


def run_watched(
    command: list[str],
    *,
    variables: Mapping[str, str],
    directory: Path,
    log: Path,
    on_line: Callable[[str], None],
    on_tick: Callable[[], None],
    keep_open: tuple[int, ...] = (),
) -> tuple[int, list[str]]:
    """Run a program to its end; answer its exit code and the last lines it printed.

    `on_tick` is called about once a second, whether the program prints or not. `keep_open` are files that the program
    inherits: a lock stays held while the program runs, even when this process is killed. If this process is stopped
    by an exception, the program is ended first.
    """
    tail: deque[str] = deque(maxlen=TAIL_LINES)
    with log.open("ab") as copy:
        copy.write(f"$ {' '.join(command)}\n".encode())
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(variables),
            cwd=directory,
            pass_fds=keep_open,
        )
        assert process.stdout is not None
        rest = b""
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(process.stdout, selectors.EVENT_READ)
                while True:
                    if selector.select(timeout=1):
                        chunk = os.read(process.stdout.fileno(), 65536)
                        if not chunk:
                            break
                        copy.write(chunk)
                        *lines, rest = (rest + chunk).split(b"\n")
                        for line in lines:
                            text = line.decode(errors="replace").rstrip()
                            tail.append(text)
                            on_line(text)
                    on_tick()
            return process.wait(), list(tail)
        finally:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(timeout=10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            process.stdout.close()
