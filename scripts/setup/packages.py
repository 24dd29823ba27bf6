"""The programs that tests use and PyPI does not have: a message broker and a browser, from Debian's packages."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = {"rabbitmq-server": "rabbitmq-server", "chromium": "chromium"}
"""Program and package."""
POLICY = Path("/usr/sbin/policy-rc.d")


def missing() -> list[str]:
    """Answer the packages whose programs this machine does not have."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
    return [package for program, package in PROGRAMS.items() if shutil.which(program, path=path) is None]


def may_install() -> bool:
    """Tell whether this is root on Debian or one of its kind."""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def install(packages: list[str], log: Path) -> bool:
    """Install packages, and start none of their services; what apt says goes into `log`."""
    variables = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    wanted = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    with log.open("w", encoding="utf-8") as said, _no_service_starts():
        # The lists of a fresh machine may be old or not there, so apt is asked again with new ones.
        for command in (wanted, ["apt-get", "update"], wanted):
            code = subprocess.run(command, env=variables, stdout=said, stderr=said, check=False).returncode
            if command is wanted and code == 0:
                return True
    return False


@contextlib.contextmanager
def _no_service_starts() -> Iterator[None]:
    if POLICY.exists():
        yield
        return
    POLICY.write_text("#!/bin/sh\nexit 101\n", encoding="utf-8")
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        POLICY.unlink()
