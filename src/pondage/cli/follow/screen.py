"""Following a pipeline: a table that is drawn again on a terminal, a line for each change elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, TypeVar

import click

from pondage.cli.client.desk import Desk
from pondage.cli.client.settings import Settings
from pondage.cli.printing.output import console, is_terminal, rich_table
from pondage.cli.printing.ponds import (
    REACTOR_COLUMNS,
    STATUS_COLUMNS,
    doing_text,
    fresh_text,
    process_text,
    reactor_rows,
    status_rows,
)
from pondage.operations.ponds import status as status_of_ponds
from pondage.views.ponds.status import PondView, StatusView
from pondage.views.words import moment_text

if TYPE_CHECKING:
    from rich.live import Live

View = TypeVar("View")
DRAW_EVERY_S = 0.25
LINE_EVERY_US = 2_000_000
READ_AGAIN_S = 2.0
"""Hints that something was committed may be missing, so the ledger is read this often in any case."""


class Screen(Protocol):
    """Something that shows a status again and again."""

    def show(self, view: StatusView, now: int, *, is_last: bool = False) -> None:
        """Show it as of `now`; nothing that the last one holds may be left out."""


class LinesScreen:
    """Plain output: a line for each Pond or reactor that has changed, but not more than one in some seconds."""

    def __init__(self, ponds: frozenset[str] | None = None) -> None:
        self._ponds = ponds
        self._seen: dict[str, tuple[object, ...]] = {}
        self._printed_at: dict[str, int] = {}

    def show(self, view: StatusView, now: int, *, is_last: bool = False) -> None:
        """Print what is new."""
        for pond in view.ponds:
            if self._ponds is None or pond.key in self._ponds:
                age = f"fresh {fresh_text(pond, now)}" if pond.freshness is not None else "never ran"
                text = f"{pond.state}  {age}  {doing_text(pond, now)}"
                self._say(pond.key, _looks(pond), text, now, is_last=is_last)
        for row in reactor_rows(view) if self._ponds is None else ():
            waits = f"  waits for {row[3]}" if row[3] else ""
            self._say(f"reactor {row[0]}", row, f"{row[2]}{waits}", now, is_last=is_last)

    def _say(self, name: str, looks: tuple[object, ...], text: str, now: int, *, is_last: bool) -> None:
        is_time = is_last or now - self._printed_at.get(name, 0) >= LINE_EVERY_US
        if is_time and self._seen.get(name) != looks:
            self._seen[name] = looks
            self._printed_at[name] = now
            click.echo(f"{moment_text(now)[11:19]}  {name}  {text}")


def _looks(pond: PondView) -> tuple[object, ...]:
    """Answer what makes a new line: states and phases, not the count of tasks or the age."""
    work = tuple(
        (run.number, ripple.name, ripple.state, ripple.crashes, ripple.progress.phase if ripple.progress else "")
        for run in pond.active
        for ripple in run.ripples
    )
    return pond.state, pond.freshness, work


class TableScreen:
    """A terminal: the table is drawn in place."""

    def __init__(self, live: Live, ponds: frozenset[str] | None = None) -> None:
        self._live = live
        self._ponds = ponds

    def show(self, view: StatusView, now: int, *, is_last: bool = False) -> None:  # noqa: ARG002 - each is drawn
        """Draw the table."""
        from rich.console import Group
        from rich.text import Text

        tables = (
            [rich_table(STATUS_COLUMNS, status_rows(view, now, self._ponds), width=self._live.console.width)]
            if view.ponds
            else []
        )
        if view.reactors:
            tables.append(rich_table(REACTOR_COLUMNS, reactor_rows(view), width=self._live.console.width))
        more = " · more Ponds are left out: pondage status --all" if view.has_more else ""
        line = Text(f"{view.environment} · {process_text(view)}{more}", style="dim")
        self._live.update(Group(*tables, line), refresh=True)


class NothingShown:
    """A screen for calls that print only their result."""

    def show(self, view: StatusView, now: int, *, is_last: bool = False) -> None:
        """Show nothing."""


@contextmanager
def screen(settings: Settings, ponds: frozenset[str] | None = None, *, is_quiet: bool = False) -> Iterator[Screen]:
    """Open the screen that fits to the output, for some Ponds or for all."""
    if is_quiet or not is_terminal():
        yield NothingShown() if is_quiet else LinesScreen(ponds)
        return
    from rich.live import Live

    with Live(console=console(settings), auto_refresh=False, transient=False) as live:
        yield TableScreen(live, ponds)


def views(opened: Desk, read: Callable[[], View]) -> Iterator[tuple[View, float]]:
    """Answer what is read, and how many seconds ago, for ever: anew only when something was committed since."""
    changes = opened.changes()
    try:
        view, read_s = read(), time.monotonic()
        while True:
            drawn_s = time.monotonic()
            yield view, drawn_s - read_s
            # A busy ledger commits hundreds of times a second; nobody reads faster than a few times.
            has_changed = changes.wait(DRAW_EVERY_S)
            pause_s = DRAW_EVERY_S / 2 - (time.monotonic() - drawn_s)
            if pause_s > 0:
                time.sleep(pause_s)
            if has_changed or time.monotonic() - read_s >= READ_AGAIN_S:
                view, read_s = read(), time.monotonic()
    finally:
        changes.close()


def follow(
    opened: Desk,
    shown: Screen,
    stop: Callable[[StatusView], bool],
    *,
    timeout_s: float | None = None,
    ponds: str | None = None,
    most: int | None = None,
) -> StatusView | None:
    """Show the status until `stop` says so and answer that view, or None when the time was up before.

    `ponds` and `most` say which Ponds `stop` and the screen need. One look for all.
    """
    began_s = time.monotonic()
    for view, age_s in views(opened, lambda: opened.ask(status_of_ponds, ponds=ponds, most=most)):
        is_over = stop(view)
        is_late = timeout_s is not None and time.monotonic() - began_s >= timeout_s
        shown.show(view, view.at + int(age_s * 1_000_000), is_last=is_over or is_late)
        if is_over or is_late:
            return view if is_over else None
    raise AssertionError("views go on for ever")


class Quietly:
    """A block that Ctrl-C ends without an error: the way to leave something that is live until then."""

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> bool:
        """End; an interrupt is the expected way."""
        return kind is not None and issubclass(kind, KeyboardInterrupt)
