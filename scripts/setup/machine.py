"""What this machine offers: disk, home directory, user."""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from scripts.setup.failure import SetupFailed

GIGABYTE = 1_000_000_000


def free_bytes(directory: Path) -> int:
    """Answer the free space of the file system that holds a directory."""
    return shutil.disk_usage(directory).free


def check_disk(directory: Path, needed: int, measure: Callable[[Path], int] = free_bytes) -> int:
    """Answer the free bytes under a directory.

    Raises SetupFailed when they are fewer than needed: better now than with half a download.
    """
    free = measure(directory)
    if free < needed:
        raise SetupFailed(
            f"The set-up needs about {needed / GIGABYTE:.1f} GB of disk under {directory}, "
            f"and {free / GIGABYTE:.1f} GB are free.\n"
            "  Free some space (make clean removes what earlier runs left here), then run the same command again."
        )
    return free


def has_passwd_entry() -> bool:
    """Tell whether the current user has a name: a container started with a bare user id has none."""
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        return False
    return True


def installer_environment(environment: Mapping[str, str], cache: Path) -> dict[str, str]:
    """Answer the environment for pip: the caller's, mended where pip would stumble.

    Everything that configures pip, proxies and certificates stays as it is. A missing or unwritable home gets its
    replacement under the project's cache, so nothing is written to the user's file system root or lost.
    """
    mended = dict(environment)
    for inherited in ("PYTHONHOME", "PYTHONPATH", "__PYVENV_LAUNCHER__"):
        # These would make pip see the packages of another interpreter as installed.
        mended.pop(inherited, None)
    home = environment.get("HOME", "")
    if not home or not Path(home).is_dir():
        home = str(cache / "home")
        Path(home).mkdir(parents=True, exist_ok=True)
        mended["HOME"] = home
    if home != environment.get("HOME") or not os.access(home, os.W_OK):
        mended.setdefault("PIP_CACHE_DIR", str(cache / "pip"))
    if not has_passwd_entry():
        mended.setdefault("LOGNAME", "pondage")
    mended.setdefault("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    mended.setdefault("PIP_ROOT_USER_ACTION", "ignore")
    return mended
