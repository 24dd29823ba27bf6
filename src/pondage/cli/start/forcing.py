"""`deploy --run`: what was deployed is computed anew, and then everything below it, each Pond behind its Sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pondage.cli.client.desk import Desk
from pondage.cli.client.settings import Settings
from pondage.cli.follow.ponds import NothingShown, failure_of, is_stuck, short_name
from pondage.cli.follow.screen import follow, screen

if TYPE_CHECKING:
    from pondage.views.ponds.status import PondView, StatusView


def force_in_order(
    settings: Settings, opened: Desk, keys: tuple[str, ...], *, is_quiet: bool = False
) -> tuple[str, ...]:
    """Force these Ponds, each after those of them that it reads, and wait; answer those that had no input to run with.

    Raises what went wrong with the first that failed. Whoever stops waiting stops the rest from being forced.
    """
    from pondage.cli.asks import demanding

    skipped: list[str] = []
    left = list(keys)
    while left:
        before = _status(opened)
        layer = [key for key in left if not _reads_any(before, key, left)]
        for key in layer:
            opened.ask(demanding.force, pond=key)
        now = _status(opened)
        waiting = [key for key in layer if _has_begun(before.pond(key), now.pond(key))]
        skipped += [key for key in layer if key not in waiting]
        _wait(settings, opened, before, waiting, is_quiet=is_quiet)
        left = [key for key in left if key not in layer]
    return tuple(skipped)


def _status(opened: Desk) -> StatusView:
    from pondage.cli.asks import looking

    return opened.ask(looking.status)


def _reads_any(view: StatusView, key: str, left: list[str]) -> bool:
    pond = view.pond(key)
    return pond is not None and any(source in left for source in pond.sources)


def _has_begun(old: PondView | None, new: PondView | None) -> bool:
    # Without any input a Force does nothing; behind an active Run it waits.
    return old is not None and new is not None and (new.runs > old.runs or bool(new.active))


def _wait(settings: Settings, opened: Desk, before: StatusView, keys: list[str], *, is_quiet: bool) -> None:
    since = {key: 0 if (pond := before.pond(key)) is None else pond.runs for key in keys}

    def has_ended(view: StatusView, key: str) -> bool:
        pond = view.pond(key)
        return pond is None or (pond.last_run is not None and pond.last_run.number > since[key])

    def is_over(view: StatusView) -> bool:
        return all(has_ended(view, key) or is_stuck(view.pond(key)) for key in keys)

    if not keys:
        return
    if is_quiet:
        view = follow(opened, NothingShown(), is_over)
    else:
        with screen(settings, frozenset(keys)) as shown:
            view = follow(opened, shown, is_over)
    assert view is not None, "without a limit it is waited for"
    for key in keys:
        pond = view.pond(key)
        if pond is None or is_stuck(pond):
            raise failure_of(settings, opened, view, key)


def told(keys: tuple[str, ...], skipped: tuple[str, ...]) -> None:
    """Say what was computed anew, and what had nothing to compute with."""
    done = [key for key in keys if key not in skipped]
    if done:
        click.echo(f"computed anew: {', '.join(done)}")
    if skipped:
        names = " ".join(short_name(key) for key in skipped)
        click.echo(f"no input yet, so not run: {', '.join(skipped)} (pondage run {names.partition(' ')[0]} brings it)")
