"""`python -m pondage.engine.doctor`: is everything here that Pondage needs, and is anything stuck?

A process of its own, because it looks at Spark and Java, which a command of the command line never loads.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from pondage.engine import identity
from pondage.engine.config import EngineConfig, config_of
from pondage.engine.places import local_warehouse
from pondage.errors import PondageError
from pondage.ledger import health, processes
from pondage.ledger.ledger import Ledger
from pondage.read.project import find_project
from pondage.spark.java import find_java

LEAST_FREE_BYTES = 1024**3
CLOCK_SLACK_US = 5_000_000


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at; `hint` says what to do when it is not well."""

    check: str
    ok: bool
    detail: str
    hint: str | None = None


def examine(directory: Path) -> list[Finding]:
    """Look at this machine and at the project in `directory`. Never raises for what it finds; changes nothing."""
    findings = [_python(), _java(), _pyspark()]
    try:
        config = config_of(find_project(directory))
    except PondageError as error:
        return [*findings, Finding(check="project", ok=False, detail=error.message, hint=error.hint)]
    findings.append(Finding(check="project", ok=True, detail=f"{config.project} in {config.root}"))
    findings += [_disk(config), _warehouse(config)]
    return [*findings, *_ledger_findings(config)]


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
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=place, prefix=".doctor-"):
            pass
    except OSError as error:
        return Finding(
            check="warehouse", ok=False, detail=f"{place} cannot be written: {error.strerror}",
            hint="change its owner, or set warehouse in pondage.toml",
        )  # fmt: skip
    return Finding(check="warehouse", ok=True, detail=f"{place} can be written")


def _ledger_findings(config: EngineConfig) -> Iterator[Finding]:
    try:
        ledger = config.open_ledger()
    except PondageError as error:
        yield Finding(check="ledger", ok=False, detail=error.message, hint=error.hint)
        return
    try:
        yield Finding(check="ledger", ok=True, detail=config.ledger)
        for look in (_claims, _actors, _processes, _clock):
            yield _looked(look, ledger)
    finally:
        ledger.close()


def _looked(look: Callable[[Ledger], Finding], ledger: Ledger) -> Finding:
    try:
        return look(ledger)
    except PondageError as error:
        return Finding(check=look.__name__.strip("_"), ok=False, detail=error.message, hint=error.hint)


def _claims(ledger: Ledger) -> Finding:
    with ledger.reading() as tx:
        leaked = health.leaked_claims(tx)
    if not leaked:
        return Finding(check="claims", ok=True, detail="no claim is held by a dead process")
    names = ", ".join(f"{each.node} (process {each.process})" for each in leaked)
    return Finding(check="claims", ok=False, detail=f"held by dead processes: {names}", hint="report this as a bug")


def _actors(ledger: Ledger) -> Finding:
    with ledger.reading() as tx:
        halted = health.halted_actors(tx)
    return Finding(
        check="actors",
        ok=not halted,
        detail="; ".join(halted) or "none is halted",
        hint="pondage clear POND lets it go on once the cause is gone",
    )


def _processes(ledger: Ledger) -> Finding:
    limit_us = int(ledger.durability.reap_after_s * 1e6)
    here = identity.machine()
    with ledger.reading() as tx:
        rows = processes.alive(tx)
        silent = {row.id for row in processes.stale(tx, older_than_us=limit_us, not_id=None)}
        boot = tx.boot
    for row in rows:
        is_here = row.machine == here and row.boot == boot
        if is_here and not identity.is_running(row.pid, row.pid_started):
            silent.add(row.id)
    names = ", ".join(f"{row.role} {row.public_id}" for row in rows if row.id in silent)
    return Finding(
        check="processes",
        ok=not silent,
        detail=f"silent or gone: {names}" if silent else f"{len(rows)} alive",
        hint="start `pondage dev`: it takes back what they held",
    )


def _clock(ledger: Ledger) -> Finding:
    with ledger.reading() as tx:
        ahead_us = health.newest_time(tx) - tx.now
    return Finding(
        check="clock",
        ok=ahead_us <= CLOCK_SLACK_US,
        detail="not behind the ledger" if ahead_us <= CLOCK_SLACK_US else f"{ahead_us / 1e6:.0f} s behind the ledger",
        hint="the clock was set back: set it right, or wait until the time has passed again",
    )


def main(arguments: list[str] | None = None) -> int:
    """Print the findings; the exit code is 1 when one of them is not well."""
    parser = argparse.ArgumentParser(prog="python -m pondage.engine.doctor")
    parser.add_argument("--json", action="store_true", help="print a list of objects")
    parser.add_argument("--project", type=Path, default=Path(), help="the project's directory")
    given = parser.parse_args(arguments)
    findings = examine(given.project)
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
