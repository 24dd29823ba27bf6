"""Jars of Maven, in the user's cache: what tests need of a JVM that no package of Python brings."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

import pyspark


def jars(java: str, cache: Path, organisation: str, name: str, version: str) -> Path:
    """Answer the directory with a jar and what it needs; the first time they are downloaded.

    One process downloads at a time, and what it has comes there whole: what a killed run has left is not used.
    """
    place = cache / version
    if (place / "complete").exists():
        return place
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "complete").exists():
            unfinished = cache / "unfinished"
            for left in (unfinished, place):
                shutil.rmtree(left, ignore_errors=True)
            _download(java, unfinished, organisation, name, version)
            (unfinished / "jars" / "complete").touch()
            (unfinished / "jars").rename(place)
            shutil.rmtree(unfinished)
    return place


def _download(java: str, place: Path, organisation: str, name: str, version: str) -> None:
    (ivy,) = (Path(pyspark.__path__[0]) / "jars").glob("ivy-*.jar")
    pattern = f"{place}/jars/[artifact]-[revision](-[classifier]).[ext]"
    done = subprocess.run(
        [java, "-cp", str(ivy), "org.apache.ivy.Main", "-cache", str(place / "ivy"), "-types", "jar", "bundle",
         "-dependency", organisation, name, version, "-retrieve", pattern],
        capture_output=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, f"the jars of {name} cannot be had: {done.stdout.decode()[-2000:]}"
