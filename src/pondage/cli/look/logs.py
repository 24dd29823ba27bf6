"""`logs`: the lines of each Ripple's own log, and new ones as they are written."""

from __future__ import annotations

import click

from pondage.cli.client.desk import desk
from pondage.cli.client.settings import Settings, settings_and_json, typed, verb
from pondage.cli.follow.screen import Quietly
from pondage.cli.printing.output import print_json, styled
from pondage.operations import runs
from pondage.views.runs.logs import LogLine, LogsView
from pondage.views.words import list_text, moment_text


@verb
@click.argument("subject", required=False, metavar="[POND|RUN|REACTOR]")
@click.option("-f", "--follow", is_flag=True, help="Go on with new lines and new attempts, until Ctrl-C.")
@click.option("--ripple", help="Only this Ripple (of a reactor: this source or graph).")
@click.option("--lines", "-n", type=click.IntRange(0, 100_000), default=200, show_default=True, help="The last lines.")
@settings_and_json
def logs(settings: Settings, subject: str | None, follow: bool, ripple: str | None, lines: int, is_json: bool) -> None:
    """Print what Ripples logged: of a Pond's newest Run, of a Run, or of everything that ran lately.

    Of a reactor: the streams that Spark reads for it and its graphs on Spark; `--ripple` names one of them.
    """
    with desk(settings) as opened:
        if follow and not is_json:
            with Quietly():
                for batch in opened.follow(runs.log_lines, subject=subject, ripple=ripple, lines=lines):
                    for line in batch.lines:
                        print_line(settings, line)
            return
        view = opened.ask(runs.logs, subject=subject, ripple=ripple, lines=lines)
        if is_json:
            print_json(view)
            return
        for line in view.lines:
            print_line(settings, line)
        if not view.lines:
            click.echo(typed(_nothing(view, subject)), err=True)
        elif len(view.runs) == 1 and subject in (view.runs[0].partition("@")[0], view.runs[0].partition("#")[0]):
            click.echo(typed(_one_run(view.runs[0])), err=True)


def _one_run(run: str) -> str:
    pond, _, number = run.partition("#")
    earlier = f"; the one before: pondage logs {pond}#{int(number) - 1}" if int(number) > 1 else ""
    return f"these are the lines of {run}, its newest Run{earlier}"


def _nothing(view: LogsView, subject: str | None) -> str:
    if view.files:
        return "nothing was logged"
    if view.runs:
        return (
            f"no Ripple of {list_text(view.runs[:3])} has been executed on a worker; try: pondage show {view.runs[0]}"
        )
    if view.reactor is not None:
        return f"no worker has done anything for reactor {view.reactor} yet; try: pondage why {view.reactor}"
    return f"nothing has run yet; try: pondage run {subject or 'POND'}"


def print_line(settings: Settings, line: LogLine) -> None:
    """Print one line with its time and the Ripple it comes from; a line that continues another stands below it."""
    who = f"{line.pond.partition('@')[0]}.{line.ripple}"
    if line.at is None:
        click.echo(f"    {line.text}")
        return
    color = {"ERROR": "red", "CRITICAL": "red", "WARNING": "yellow"}.get(line.level or "")
    text = f"{moment_text(line.at)[:19]} {who} {line.level} {line.text}"
    click.echo(styled(text, settings, fg=color) if color else text)
