"""`python -m pondage.engine.services.doctor`: is everything here that Pondage needs, and is anything stuck?

A process of its own, because it looks at Spark and Java, which a command of the command line never loads.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

import msgspec

from pondage.engine.process.config import EngineConfig, config_of
from pondage.engine.process.local import local_warehouse
from pondage.engine.process.places import logs_directory
from pondage.engine.services.cluster_doctor import cluster_findings
from pondage.engine.services.ledger_doctor import Finding, ledger_findings
from pondage.errors import PondageError
from pondage.ledger.commit.journal import journals_of
from pondage.private import is_open, make_private
from pondage.project.project import find_project
from pondage.spark.jvm.java import find_java

LEAST_FREE_BYTES = 1024**3
SHOWN = 3


def examine(directory: Path, *, is_replaying: bool = False, has_cluster: bool = False) -> list[Finding]:
    """Look at this machine and at the project in `directory`. Never raises for what it finds; changes nothing.

    With `is_replaying` the recorded history is stepped again from nothing and compared, which takes its time. With
    `has_cluster` a Spark is started as a worker would, and tasks look around on its executors.
    """
    findings = [_python(), _java(), _pyspark()]
    try:
        config = config_of(find_project(directory))
    except PondageError as error:
        return [*findings, Finding(check="project", ok=False, detail=error.message, hint=error.hint)]
    findings.append(Finding(check="project", ok=True, detail=f"{config.project} in {config.root}"))
    findings += [_disk(config), _warehouse(config), _private(config)]
    if has_cluster:
        findings += cluster_findings(config)
    return [*findings, *ledger_findings(config, is_replaying=is_replaying)]


def _python() -> Finding:
    version = sys.version_info
    return Finding(
        check="python",
        ok=(3, 11) <= version[:2] <= (3, 13),
        detail=f"{version.major}.{version.minor}.{version.micro}",
        hint="use Python 3.11, 3.12 or 3.13",
    )


def _java() -> Finding:
    try:
        java = find_java()
    except PondageError as error:
        return Finding(check="java", ok=False, detail=error.message, hint=error.hint)
    return Finding(check="java", ok=True, detail=f"{java.version} in {java.home}")


def _pyspark() -> Finding:
    try:
        version = importlib.metadata.version("pyspark")
    except importlib.metadata.PackageNotFoundError:
        return Finding(check="pyspark", ok=False, detail="not installed", hint="pip install pondage")
    is_supported = version.split(".")[:2] in (["4", "2"], ["4", "3"])
    return Finding(check="pyspark", ok=is_supported, detail=version, hint="install pyspark 4.2 or 4.3")


def _disk(config: EngineConfig) -> Finding:
    place = local_warehouse(config.warehouse) or config.state
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    return Finding(
        check="disk",
        ok=free >= LEAST_FREE_BYTES,
        detail=f"{free / 1024**3:.1f} GiB free at {place}",
        hint="free at least 1 GiB; `pondage vacuum` deletes data that nobody needs",
    )


def _warehouse(config: EngineConfig) -> Finding:
    place = local_warehouse(config.warehouse)
    if place is None:
        return Finding(check="warehouse", ok=True, detail=f"{config.warehouse} (not on this machine: not looked at)")
    try:
        if place.is_relative_to(config.state):
            make_private(config.state)
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=place, prefix=".doctor-"):
            pass
    except OSError as error:
        return Finding(
            check="warehouse", ok=False, detail=f"{place} cannot be written: {error.strerror}",
            hint="change its owner, or set warehouse in pondage.toml",
        )  # fmt: skip
    return Finding(check="warehouse", ok=True, detail=f"{place} can be written")


def _private(config: EngineConfig) -> Finding:
    """Say what others may read of it. What lies in a state directory that is closed to them is closed."""
    named = {config.state, logs_directory(config)}
    scheme, _, place = config.ledger.partition("://")
    if scheme == "sqlite":
        ledger = Path("/" + place.lstrip("/"))
        named |= {ledger.with_name(ledger.name + end) for end in ("", "-wal", "-shm")} | {journals_of(ledger)}
    if config.secret_key.startswith("file:"):
        named.add(Path(config.secret_key.removeprefix("file:")))
    if is_open(config.state):
        named |= {each for each in config.state.iterdir() if each != local_warehouse(config.warehouse)}
    else:
        named = {each for each in named if not each.is_relative_to(config.state)}
    wide = sorted(str(each) for each in named if is_open(each))
    if not wide:
        return Finding(check="private", ok=True, detail="only its owner reads the ledger, logs, tokens and code")
    more = f" and {len(wide) - SHOWN} more" if len(wide) > SHOWN else ""
    return Finding(
        check="private",
        ok=False,
        detail=f"others may read {', '.join(wide[:SHOWN])}{more}",
        hint=f"chmod -R go-rwx {' '.join(shlex.quote(each) for each in wide)}",
    )


def main(arguments: list[str] | None = None) -> int:
    """Print the findings; the exit code is 1 when one of them is not well."""
    parser = argparse.ArgumentParser(prog="python -m pondage.engine.services.doctor")
    parser.add_argument("--json", action="store_true", help="print a list of objects")
    parser.add_argument("--project", type=Path, default=Path(), help="the project's directory")
    parser.add_argument("--replay", action="store_true", help="step the recorded history again and compare")
    parser.add_argument("--cluster", action="store_true", help="start Spark and look around on its executors")
    given = parser.parse_args(arguments)
    findings = examine(given.project, is_replaying=given.replay, has_cluster=given.cluster)
    if given.json:
        sys.stdout.write(msgspec.json.encode(findings).decode() + "\n")
    else:
        for finding in findings:
            mark = "ok  " if finding.ok else "BAD "
            hint = f"\n     → {finding.hint}" if finding.hint and not finding.ok else ""
            sys.stdout.write(f"{mark} {finding.check:<10} {finding.detail}{hint}\n")
    return 0 if all(finding.ok for finding in findings) else 1


if __name__ == "__main__":
    sys.exit(main())
