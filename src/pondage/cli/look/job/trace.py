"""`job trace`: a job is played in virtual time, for any outcomes and durations, without a ledger."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
import msgspec

from pondage.cli.client.settings import Verb, json_option
from pondage.cli.files.job import planned_or_refused
from pondage.cli.look.job.options import endings, file_argument, milliseconds, values
from pondage.cli.printing.output import print_json
from pondage.kernel.control import JobPlan
from pondage.kernel.control.events import Start
from pondage.kernel.control.state import JobState
from pondage.simulate.control_drive import Ending, play
from pondage.simulate.control_virtual import VirtualControlHost

_FAIL = click.option("--fail", "fails", metavar="NAME[=TEXT]", multiple=True, help="Let a component (x, x[#2]) fail.")
_TAKES = click.option("--takes", metavar="NAME=10s", multiple=True, help="How long a component takes; else 1s.")
_AFTER = click.option("--after", metavar="NAME.VAR=VALUE", multiple=True, help="An after-variable, as JSON.")
_WRITES = click.option("--writes", metavar="NAME.KEY=VALUE", multiple=True, help="A global that it writes, as JSON.")
_ITEMS = click.option("--items", metavar="NAME=3", multiple=True, help="How many elements an iterator finds; else 2.")
_CONTEXT = click.option("--context", metavar="K=V", multiple=True, help="A variable of the context.")


@click.command("trace", cls=Verb)
@file_argument
@_FAIL
@_TAKES
@_AFTER
@_WRITES
@_ITEMS
@_CONTEXT
@click.option("--kill-at", metavar="5s", help="Kill the run at this time.")
@click.option("--all-failures", is_flag=True, help="Play every single failure and say what nobody handles.")
@json_option
def trace(
    file: Path,
    fails: tuple[str, ...],
    takes: tuple[str, ...],
    after: tuple[str, ...],
    writes: tuple[str, ...],
    items: tuple[str, ...],
    context: tuple[str, ...],
    kill_at: str | None,
    all_failures: bool,
    is_json: bool,
) -> None:
    """Print the exact timeline of a job for any outcomes and durations, without running anything."""
    planned = planned_or_refused(file)
    behave = endings(planned.plan, fails=fails, takes=takes, after=after, writes=writes, items=items)
    known = {"env": "trace", "run_id": "trace", **planned.plan.context, **values(context)}
    start = Start(context=known, second=1_000)
    if all_failures:
        _report_failures(planned.plan, behave, start, is_json=is_json)
        return
    host = VirtualControlHost()
    kills = () if kill_at is None else (milliseconds(kill_at, "--kill-at"),)
    played = play(host, planned.plan, behave, start=start, kill_at=kills)
    if is_json:
        print_json(
            {
                "timeline": [{"at_ms": at, "events": lines} for at, lines in played.timeline],
                "states": host.states(),
                "globals": host.globals(),
                "job_state": played.state,
                "code": played.code,
                "groups": _groups(planned.plan),
            }
        )
        return
    for group in _groups(planned.plan):
        click.echo(f"   fused  {', '.join(group)}")
    for at, lines in played.timeline:
        for number, line in enumerate(lines):
            click.echo(f"{f'{at / 1000:g}s' if number == 0 else '':>8}  {line}")
    if played.state is JobState.RUNNING:
        click.echo("          (nothing more happens)")


def _groups(plan: JobPlan) -> list[list[str]]:
    """Answer the fused groups by the names of their members, those of bodies too."""
    found = [[plan.components[at].name for at in group] for group in plan.groups]
    return found + [group for body in plan.bodies.values() for group in _groups(body)]


def _report_failures(plan: JobPlan, behave: Callable[[str, int], Ending], start: Start, *, is_json: bool) -> None:
    from pondage.simulate.control_failures import all_failures, real_components

    report = all_failures(plan, behave, start)
    if is_json:
        print_json(msgspec.to_builtins(report))
        return
    more = (
        "; then with conditions true, or several failing at once"
        if report.played > len(real_components(plan)) + 1
        else ""
    )
    click.echo(f"{report.played} plays: the job as it is, and each component failing once{more}")
    for title, names in (
        ("nobody handles the failure of", report.unhandled),
        ("handled", report.handled),
        *((f"runs only when {' and '.join(failed)} fail", (name,)) for name, failed in report.together.items()),
        ("never runs", report.never_run),
        *([("ran in no play (there are more ways than were played)", report.unseen)] if report.unseen else []),
        ("joins that can only be skipped", report.skipped_joins),
    ):
        click.echo(f"{title}: {', '.join(names) or '-'}")
