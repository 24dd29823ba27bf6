"""Starting a process of the engine: a new interpreter, told what to do by one line of JSON through a pipe.

Never a fork: a copied process with a Spark session in it breaks both. The pipe stays open as long as the parent lives.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

import pondage
from pondage.private import make_private, private_opener

Config = TypeVar("Config", bound=msgspec.Struct)

KEPT_LOGS = 10


def spawn(
    module: str,
    config: msgspec.Struct,
    *,
    output: Path,
    directory: Path,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start `python -m module` in `directory`, with its output in a file, and give it its configuration.

    Its environment is ours, or the one that is given.

    The caller keeps the answer's `stdin` open: closing it, or dying, tells the child that its parent is gone.
    """
    make_private(output.parent)
    with open(output, "ab", opener=private_opener) as log:
        # -P: what lies in the project's directory must not stand in for an installed module.
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", module], stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT,
            cwd=directory, env=_environment(os.environ if environment is None else environment), bufsize=0,
        )  # fmt: skip
    assert child.stdin is not None
    try:
        rest = memoryview(msgspec.json.encode(config) + b"\n")
        while rest:
            rest = rest[child.stdin.write(rest) :]
    except BrokenPipeError:
        pass  # It died at once; whoever waits for it will see.
    return child


def _environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Answer an environment; relative entries of the path would mean other places in the child's directory."""
    home = str(Path(pondage.__file__).resolve().parent.parent)
    given = [str(Path(each).resolve()) for each in environment.get("PYTHONPATH", "").split(os.pathsep) if each]
    return {**environment, "PYTHONPATH": os.pathsep.join(dict.fromkeys([*given, home]))}


def receive(kind: type[Config]) -> tuple[Config, int]:
    """Answer what our parent told us, and the descriptor of the pipe whose end means that it has died.

    The pipe is taken away from the standard input, so that neither an author's code nor the JVM can read from it.
    """
    pipe = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    line = bytearray()
    while not line.endswith(b"\n"):
        piece = os.read(pipe, 1)
        if not piece:
            raise SystemExit("the parent has died before it said what to do")
        line += piece
    return msgspec.json.decode(bytes(line), type=kind), pipe


def sweep_logs(directory: Path, pattern: str) -> None:
    """Remove the output files of old processes; the newest ones are kept for whoever asks what happened."""
    files = sorted(directory.glob(pattern), key=_written_at, reverse=True)
    for file in files[KEPT_LOGS:]:
        file.unlink(missing_ok=True)


def _written_at(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except FileNotFoundError:
        return 0.0  # another process of this project swept it a moment ago
