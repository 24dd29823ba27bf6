"""Telling Ponds something: each is one event, sent to the ledger and settled at once."""

from __future__ import annotations

from collections.abc import Callable

import click

from pondage.cli.client.desk import Desk, desk
from pondage.cli.client.settings import Settings, typed
from pondage.cli.printing.output import print_json
from pondage.operations import ponds
from pondage.views.ponds.status import PondView, StatusView
from pondage.views.runs.processes import heard_of
from pondage.views.words import age_text

ponds_argument = click.argument("ponds", nargs=-1, required=True, metavar="POND...")


note_option = click.option("--note", default="", metavar="TEXT", help="Why, for the audit.")


def send(
    settings: Settings,
    ponds: tuple[str, ...],
    tell: Callable[[Desk, str], StatusView],
    done: str | Callable[[PondView, PondView], str],
    *,
    is_json: bool,
) -> None:
    """Tell each Pond something and say what follows from it. Names are looked up before anything is sent.

    `done` is what happened, or finds it out from how the Pond was before and is now. With `is_json` the Ponds as they
    are now are printed, as `pondage status --json` does.
    """
    with desk(settings) as opened:
        keys = find_ponds(opened, ponds)
        before = _status(opened, keys)
        for key in keys:
            tell(opened, key)
        now = _status(opened, keys)
        if is_json:
            print_json(now)
            return
        for key in keys:
            old, new = before.pond(key), now.pond(key)
            if old is None or new is None:
                click.echo(f"{key} is not deployed any more")
                continue
            what = done if isinstance(done, str) else done(old, new)
            click.echo(f"{key} {what}; {what_follows(now, new)}")


def _status(opened: Desk, keys: list[str]) -> StatusView:
    return opened.ask(ponds.status, ponds=",".join(keys))


def find_ponds(opened: Desk, names: tuple[str, ...]) -> list[str]:
    """Answer the keys of Ponds that were typed; raises `NotFound` with the nearest name."""
    return [opened.ask(ponds.status, ponds=name).ponds[0].key for name in names]


def what_follows(view: StatusView, pond: PondView) -> str:
    """Answer what the Pond does now, in half a sentence, with the command that tells more."""
    when = f" {age_text(pond.next.at, view.at)}" if pond.next.at is not None else ""
    text = f"it is {pond.state}: {pond.next.text}{when}"
    if not heard_of(view.processes):
        return f"{text} (no process of Pondage runs; start one: pondage dev)"
    return typed(f"{text} (more: pondage why {pond.key})")


def if_taken(pond: PondView, done: str) -> str:
    """Say when demand was not taken: a Pond that failed or is blocked keeps what it had, and takes nothing new."""
    if pond.state in ("failed", "blocked", "killed"):
        return f"took no new demand, because it is {pond.state}"
    return done
