"""Following a run of a job: a table that is drawn again on a terminal, a line for each change elsewhere."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import click

from pondage.cli.client.desk import Desk
from pondage.cli.client.settings import Settings
from pondage.cli.follow.screen import views
from pondage.cli.printing.jobs import COMPONENT_COLUMNS, component_rows, crash_text, doing_text, headline
from pondage.cli.printing.output import console, is_terminal, print_view, rich_table
from pondage.operations import jobs
from pondage.views.jobs.jobs import ComponentView, JobRunDetail
from pondage.views.words import count_text, moment_text

Show = Callable[[JobRunDetail], None]

STARTING = "starting spark"
"""How the phases begin in which a worker starts Spark: on a slow machine they take a minute."""


def started_run(
    settings: Settings, opened: Desk, run: str, *, begun: str, is_followed: bool, is_json: bool
) -> JobRunDetail | None:
    """Follow a run to its end; one that nobody follows is only said to have `begun`, and None answered."""
    if is_followed:
        with opened.workers():
            return follow_run(settings, opened, run, is_quiet=is_json)
    print_view({"run": run}, f"{run} {begun} {run}", is_json=is_json)
    return None


def follow_run(settings: Settings, opened: Desk, run: str, *, is_quiet: bool = False) -> JobRunDetail:
    """Show a run until it is over and answer how it ended.

    Ctrl-C, or SIGTERM, kills it: nothing more starts and what runs gets 30 s; the second time it ends at once.
    """
    with _shown(settings, is_quiet=is_quiet) as show, _terminable():
        while True:
            try:
                return _wait(opened, run, show)
            except KeyboardInterrupt:
                view = _read(opened, run)
                if view.run.ended_at is not None:
                    return view
                if not is_quiet:
                    click.echo("killing the run: what runs has 30 s to end; once more ends it at once", err=True)
                opened.ask(jobs.job_kill, run=run)


def watch_run(settings: Settings, opened: Desk, run: str, *, is_quiet: bool = False) -> JobRunDetail:
    """Show a run until it is over, and answer how it ended; whoever goes away leaves it running."""
    with _shown(settings, is_quiet=is_quiet) as show:
        return _wait(opened, run, show)


def _wait(opened: Desk, run: str, show: Show) -> JobRunDetail:
    for view, _ in views(opened, lambda: _read(opened, run)):
        show(view)
        if view.run.ended_at is not None:
            return view
    raise AssertionError("views go on for ever")


def _read(opened: Desk, run: str) -> JobRunDetail:
    return opened.ask(jobs.job_show, run=run)


@contextmanager
def _terminable() -> Iterator[None]:
    """Take SIGTERM for Ctrl-C while a run is followed."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    former = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


@contextmanager
def _shown(settings: Settings, *, is_quiet: bool) -> Iterator[Show]:
    if is_quiet:
        yield lambda _view: None
    elif not is_terminal():
        yield Lines().show
    else:
        from rich.console import Group
        from rich.live import Live
        from rich.text import Text

        with Live(console=console(settings), auto_refresh=False, transient=False) as live:

            def draw(view: JobRunDetail) -> None:
                table = rich_table(COMPONENT_COLUMNS, component_rows(view), width=live.console.width)
                live.update(Group(table, Text(headline(view), style="dim")), refresh=True)

            yield draw


class Lines:
    """Plain output: a line for each component whose state has changed, and for what keeps it from its work so long.

    A crash is a line of its own, with the time of the next try: a loop of them is seen while it goes on.
    """

    def __init__(self) -> None:
        self._seen: dict[str, tuple[str, str, int]] = {}
        self._printed_at = 0

    def show(self, view: JobRunDetail) -> None:
        """Print what is new, in the order in which it happened."""
        lines = [(_changed_at(one, view.at), line) for one in view.components if (line := self._line(one, view.at))]
        for at, line in sorted(lines, key=lambda each: each[0]):
            # Somebody may have committed later what began earlier: time never goes back on a screen.
            self._printed_at = max(self._printed_at, at)
            click.echo(f"{moment_text(self._printed_at)[11:19]}  {line}")

    def _line(self, one: ComponentView, now: int) -> str:
        """Answer what is new of a component, empty when nothing is."""
        doing, deaths = doing_text(one), max(one.deaths, one.crashes)
        looks = one.state, doing if doing.startswith(STARTING) else "", deaths
        seen = self._seen.get(one.name, ("WAIT", "", 0))
        self._seen[one.name] = looks
        crashed = crash_text(one, now) if deaths != seen[2] else ""
        if looks[0] == seen[0] and not crashed and (not looks[1] or looks[1] == seen[1]):
            return ""
        whence = "from the run before" if one.is_restored else ""
        return "  ".join(filter(None, [one.name, one.state, whence, one.cause, crashed, looks[1]]))


def _changed_at(one: ComponentView, now: int) -> int:
    """Answer when a component came into its state, as far as that is known."""
    if one.state == "RUNNING":
        return one.started_at if one.started_at is not None and not one.crashes else now
    return now if one.ended_at is None else one.ended_at


def killed_text(view: JobRunDetail) -> str:
    """Say what is left of a run of a job or a flow that was killed, and how to go on with it."""
    run = view.run
    noun, verb = ("node", "flow") if run.is_flow else ("component", "job")
    running = run.counts.get("RUNNING", 0)
    rest = f"; {count_text(running, noun)} may end within 30 s" if run.ended_at is None else ""
    return f"{run.id} is {run.state}{rest}; to go on later: pondage {verb} resume {run.id}"
