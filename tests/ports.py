"""Ports of the loopback for servers that tests start, and ports where nobody answers."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOWEST, HIGHEST = 10_000, 32_000
_dice = random.SystemRandom()
_given: set[int] = set()


def free_port() -> int:
    """Answer a port for a server that starts later, or comes back later.

    It is none that the kernel gives to whoever connects or asks for any port: that could be taken before the server
    binds it, and who tries again and again to reach a server that is away would once be given its very port. Then it is
    connected with itself, and the server cannot come back.
    """
    lowest, highest = _aside(*_given_by_kernel())
    while True:
        port = _dice.randrange(lowest, highest)
        if port in _given:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given.add(port)
        return port


@contextmanager
def refusing_port() -> Iterator[int]:
    """Answer a port that is taken, so that nobody else gets it, and where nobody listens."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        yield silent.getsockname()[1]


def _given_by_kernel() -> tuple[int, int]:
    try:
        first, last = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    except OSError:
        return 32_768, 60_999
    return int(first), int(last)


def _aside(first: int, last: int) -> tuple[int, int]:
    """Answer a range beside the kernel's, below or above; where it gives nearly all ports there is none."""
    if first - LOWEST > 1000:
        return LOWEST, min(first, HIGHEST)
    return (last + 1, 65_536) if 65_535 - last > 1000 else (LOWEST, HIGHEST)
