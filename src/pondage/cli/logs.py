"""`logs`: the lines of each Ripple's own log, and new ones as they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pondage.cli.session import Session, session
from pondage.cli.settings import Settings, json_option, pass_settings, verb

if TYPE_CHECKING:
    from pondage.views.logs import LogLine

LOOK_EVERY_S = 0.5


@verb
@click.argument("subject", required=False, metavar="[POND|RUN]")
@click.option("-f", "--follow", is_flag=True, help="Go on with new lines and new attempts, until Ctrl-C.")
@click.option("--ripple", help="Only this Ripple.")
@click.option("--lines", "-n", type=click.IntRange(0, 100_000), default=200, show_default=True, help="The last lines.")
@json_option
@pass_settings
def logs(settings: Settings, subject: str | None, follow: bool, ripple: str | None, lines: int, is_json: bool) -> None:
    """Print what Ripples logged: of a Pond's newest Run, of a Run, or of everything that ran lately."""
    from pondage.cli.live import Quietly
    from pondage.cli.output import print_json
    from pondage.views.logs import locate, with_lines

    with session(settings) as opened:
        if follow and not is_json:
            with Quietly():
                Follower(settings, opened, subject, ripple).run(first=lines)
            return
        with opened.ledger.reading() as tx:
            found = locate(tx, opened.environment, subject, ripple=ripple)
        view = with_lines(found, opened.warehouse, most=lines)
        if is_json:
            print_json(view)
            return
        for line in view.lines:
            print_line(settings, line)
        if not view.lines:
            empty = "nothing was logged" if view.files else f"nothing has run yet; try: pondage run {subject or 'POND'}"
            click.echo(empty, err=True)


def print_line(settings: Settings, line: LogLine) -> None:
    """Print one line with its time and the Ripple it comes from; a line that continues another stands below it."""
    from pondage.cli.output import styled
    from pondage.views.words import moment_text

    who = f"{line.pond.partition('@')[0]}.{line.ripple}"
    if line.at is None:
        click.echo(f"    {line.text}")
        return
    color = {"ERROR": "red", "CRITICAL": "red", "WARNING": "yellow"}.get(line.level or "")
    text = f"{moment_text(line.at)[:19]} {who} {line.level} {line.text}"
    click.echo(styled(text, settings, fg=color) if color else text)


class Follower:
    """Prints lines as they are written, in new logs too. It remembers how far it read each log, so no line is lost."""

    def __init__(self, settings: Settings, opened: Session, subject: str | None, ripple: str | None) -> None:
        self._settings = settings
        self._opened = opened
        self._subject = subject
        self._ripple = ripple
        self._offsets: dict[str, int] = {}

    def run(self, *, first: int) -> None:
        """Print the last lines that are there, then every new one, until interrupted."""
        changes = self._opened.ledger.driver.changes()
        found = self.look()
        lines = found[-first:] if first else []
        while True:
            for line in lines:
                print_line(self._settings, line)
            changes.wait(LOOK_EVERY_S)
            lines = self.look()

    def look(self) -> list[LogLine]:
        """Answer what was written since the last look."""
        from pondage.views.logs import locate, read_lines

        with self._opened.ledger.reading() as tx:
            view = locate(tx, self._opened.environment, self._subject, ripple=self._ripple)
        found: list[LogLine] = []
        for file in view.files:
            lines, self._offsets[file.path] = read_lines(
                self._opened.warehouse, file, offset=self._offsets.get(file.path, 0)
            )
            found += lines
        return found
