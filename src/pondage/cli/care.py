"""Verbs that care for an installation: `doctor`, `warmup`, `vacuum`. What needs Spark runs in a process of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from pondage.cli.session import local_warehouse, open_ledger, open_project, session
from pondage.cli.settings import Settings, json_option, pass_settings, verb
from pondage.errors import PondageError

if TYPE_CHECKING:
    from pondage.read.project import Project
    from pondage.views.answers import CheckView

DOCTOR_TIMEOUT_S = 120.0
LITTLE_DISK = 2_000_000_000


@verb
@json_option
@pass_settings
def doctor(settings: Settings, is_json: bool) -> None:
    """Check what Pondage needs: Python, Java, Spark, the project, its ledger, its warehouse, running processes."""
    from pondage.cli.output import print_json, styled
    from pondage.views.answers import DoctorView

    checks = (*_here(settings), *_engine_checks())
    view = DoctorView(ok=all(each.ok for each in checks), checks=checks)
    if is_json:
        print_json(view)
    else:
        for each in view.checks:
            sign = styled("ok  ", settings, fg="green") if each.ok else styled("FAIL", settings, fg="red", bold=True)
            click.echo(f"{sign}  {each.check}: {each.detail}")
            if each.hint and not each.ok:
                click.echo(f"      try: {each.hint}")
    if not view.ok:
        click.get_current_context().exit(1)


def _here(settings: Settings) -> Iterator[CheckView]:
    """Check what can be checked in this process."""
    from pondage.views.answers import CheckView

    version = ".".join(str(part) for part in sys.version_info[:3])
    yield CheckView(check="python", ok=sys.version_info >= (3, 11), detail=f"{version} ({sys.executable})")
    try:
        project = open_project(settings)
    except PondageError as error:
        # Outside of a project the machine itself can still be looked at.
        yield CheckView(check="project", ok=error.code == "NO_PROJECT", detail=error.message, hint=error.hint)
        return
    yield CheckView(check="project", ok=True, detail=f"{project.name} in {project.root}")
    yield _ledger_check(project)
    yield _disk_check(project)


def _ledger_check(project: Project) -> CheckView:
    from pondage.views.answers import CheckView
    from pondage.views.status import status
    from pondage.views.words import count_text

    try:
        ledger = open_ledger(project)
        with ledger.reading() as tx:
            view = status(tx, project.environment)
        ledger.close()
    except PondageError as error:
        return CheckView(check="ledger", ok=False, detail=error.message, hint=error.hint)
    halted = [pond.name for pond in view.ponds if pond.halted is not None]
    if halted:
        return CheckView(
            check="ledger", ok=False, detail=f"halted: {', '.join(halted)}", hint=f"pondage why {halted[0]}"
        )
    found = f"{count_text(len(view.ponds), 'Pond')} in {view.environment}, {len(view.processes)} running"
    return CheckView(check="ledger", ok=True, detail=f"{project.ledger}: {found}")


def _disk_check(project: Project) -> CheckView:
    from pondage.views.answers import CheckView
    from pondage.views.words import size_text

    place = local_warehouse(project)
    existing = next(each for each in (place, *place.parents) if each.exists())
    free = shutil.disk_usage(existing).free
    detail = f"{size_text(free)} free for {place}"
    return CheckView(check="disk", ok=free >= LITTLE_DISK, detail=detail, hint="pondage vacuum, or give it more room")


def _engine_checks() -> list[CheckView]:
    """Let the engine check Java and Spark: its answer is a list of checks as JSON."""
    import msgspec

    from pondage.views.answers import CheckView

    command = [sys.executable, "-m", "pondage.engine.doctor", "--json"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=DOCTOR_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return [CheckView(check="java", ok=False, detail=f"no answer within {DOCTOR_TIMEOUT_S:g} s")]
    try:
        return msgspec.json.decode(done.stdout, type=list[CheckView])
    except msgspec.MsgspecError:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        detail = said[-1] if said else "the check of Java and Spark said nothing"
        return [CheckView(check="java", ok=False, detail=detail, hint="python -m pondage.engine.doctor --json")]


@verb
@click.option("--if-needed", is_flag=True, help="Do nothing when it was done before.")
@click.option("--json", "is_json", is_flag=True, help="Print what was done as JSON.")
def warmup(if_needed: bool, is_json: bool) -> None:
    """Prepare Java and Spark once on this machine, so that every later start takes half the time."""
    options = [*(["--if-needed"] if if_needed else []), *(["--json"] if is_json else [])]
    done = subprocess.run([sys.executable, "-m", "pondage.spark.warmup", *options], check=False)
    click.get_current_context().exit(done.returncode)


@verb
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@json_option
@pass_settings
def vacuum(settings: Settings, dry_run: bool, is_json: bool) -> None:
    """Delete data that nobody needs: snapshots out of retention, files of attempts that never completed, old logs.

    Snapshots are marked first and their files go with a later call, so that nobody reads what vanishes.
    """
    from pondage.cli.output import print_json
    from pondage.engine.vacuum import vacuum as sweep
    from pondage.views.words import count_text, size_text

    with session(settings) as opened:
        report = sweep(opened.ledger, opened.project.warehouse, dry_run=dry_run)
    if is_json:
        print_json(report)
        return
    verb_text = "would be" if report.dry_run else "were"
    click.echo(f"{count_text(len(report.tombstoned), 'snapshot')} {verb_text} marked for deletion")
    click.echo(f"files of {count_text(len(report.swept), 'marked snapshot')} {verb_text} deleted")
    click.echo(f"files of {count_text(len(report.orphans), 'unfinished attempt')} {verb_text} deleted")
    click.echo(f"{count_text(report.logs, 'old log')} {verb_text} deleted; {size_text(report.bytes)} in all")
