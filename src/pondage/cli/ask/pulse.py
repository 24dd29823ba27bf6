"""Verbs that tell a Pond something: each is one event, sent to the ledger and settled at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import click

from pondage.cli.client.desk import Desk, about, desk
from pondage.cli.client.settings import Settings, pass_settings, verb

if TYPE_CHECKING:
    from pondage.views.ponds.status import PondView, StatusView

_ponds = click.argument("ponds", nargs=-1, required=True, metavar="POND...")
_RUN = re.compile("j[0-9a-f]{16}")
"""The id of a run of a job or a flow."""
_note = click.option("--note", default="", metavar="TEXT", help="Why, for the audit.")


def _send(
    settings: Settings,
    ponds: tuple[str, ...],
    tell: Callable[[Desk, str], StatusView],
    done: str | Callable[[PondView, PondView], str],
) -> None:
    """Tell each Pond something and say what follows from it. Names are looked up before anything is sent.

    `done` is what happened, or finds it out from how the Pond was before and is now.
    """
    with desk(settings) as opened:
        keys = find_ponds(opened, ponds)
        before = _status(opened, keys)
        for key in keys:
            tell(opened, key)
        now = _status(opened, keys)
        for key in keys:
            old, new = before.pond(key), now.pond(key)
            if old is None or new is None:
                click.echo(f"{key} is not deployed any more")
                continue
            what = done if isinstance(done, str) else done(old, new)
            click.echo(f"{key} {what}; {what_follows(now, new)}")


def _status(opened: Desk, keys: list[str]) -> StatusView:
    from pondage.cli.asks import looking

    return opened.ask(looking.status, ponds=",".join(keys))


def find_ponds(opened: Desk, names: tuple[str, ...]) -> list[str]:
    """Answer the keys of Ponds that were typed; raises `NotFound` with the nearest name."""
    from pondage.cli.asks import looking

    return [opened.ask(looking.status, ponds=name).ponds[0].key for name in names]


def what_follows(view: StatusView, pond: PondView) -> str:
    """Answer what the Pond does now, in half a sentence, with the command that tells more."""
    from pondage.views.words import age_text

    when = f" {age_text(pond.next.at, view.at)}" if pond.next.at is not None else ""
    text = f"it is {pond.state}: {pond.next.text}{when}"
    if not view.processes:
        return f"{text} (no process of Pondage runs; start one: pondage dev)"
    return f"{text} (more: pondage why {pond.name})"


@verb
@_ponds
@pass_settings
def tap(settings: Settings, ponds: tuple[str, ...]) -> None:
    """Pull once: take what the Sources have now, and let them prepare more.

    A Pond that runs already runs once more after it. Nothing is sent upwards that was asked for before.
    """
    from pondage.cli.asks import demanding

    _send(settings, ponds, lambda to, key: to.ask(demanding.tap, pond=key), lambda old, _: _asked(old, "was tapped"))


def _asked(pond: PondView, done: str) -> str:
    """Say when demand was not taken: a Pond that failed or is blocked keeps what it had, and takes nothing new."""
    if pond.state in ("failed", "blocked", "killed"):
        return f"took no new demand, because it is {pond.state}"
    return done


@verb
@_ponds
@click.option("--at", metavar="WHEN", help="Be as fresh as a moment of the past: 15m (ago), 2026-05-04T06:00.")
@pass_settings
def pulse(settings: Settings, ponds: tuple[str, ...], at: str | None) -> None:
    """Push once: bring the Pond to the freshness of this moment.

    Everything above it that is older runs first, and each Pond runs once. With --at what is fresh enough already does
    not run again. See also: pondage run, which waits and prints the rows.
    """
    from pondage.cli.asks import demanding

    target = None if at is None else _moment(settings, at)

    def done(old: PondView, _new: PondView) -> str:
        if target is not None and old.freshness is not None and old.freshness >= target:
            return "is as fresh as that already"
        return _asked(old, "was pulsed")

    _send(settings, ponds, lambda to, key: to.ask(demanding.pulse, pond=key, at=target), done)


def _moment(settings: Settings, text: str) -> int:
    from pondage.cli.ask.moment import required_moment

    with desk(settings) as opened:
        return required_moment(text, opened.ask(about).at, option="--at")


@verb
@_ponds
@click.option(
    "--pacing",
    type=click.Choice(["eager", "just-in-time"]),
    default="eager",
    show_default=True,
    help="just-in-time: let the Inlets start only so early that the slowest Pond need not wait: fresher data.",
)
@click.option("--just-in-time", is_flag=True, help="The same as --pacing just-in-time.")
@pass_settings
def wave(settings: Settings, ponds: tuple[str, ...], pacing: str, just_in_time: bool) -> None:
    """Pull again and again: a Tap now and after each completed Run, until `pondage calm`.

    Every Pond above settles on the rhythm of the slowest one. A Wave survives failures and restarts. A Pond has one:
    another one replaces it.
    """
    from pondage.cli.asks import demanding

    is_paced = just_in_time or pacing == "just-in-time"
    chosen: Literal["eager", "just-in-time"] = "just-in-time" if is_paced else "eager"
    done = "has a Wave, just in time" if is_paced else "has a Wave"
    _send(settings, ponds, lambda to, key: to.ask(demanding.wave, pond=key, pacing=chosen), done)


@verb
@click.argument("pond", metavar="POND")
@click.argument("limit", metavar="LIMIT")
@click.option("--name", default="tide", show_default=True, help="Its name: a Pond may have several Tides.")
@pass_settings
def tide(settings: Settings, pond: str, limit: str, name: str) -> None:
    """Keep the Pond no staler than LIMIT (90s, 15m, 1h, 1d), until `pondage calm`.

    It runs no more often than that needs. Of several Tides the smallest limit rules; one of the same name is replaced.
    """
    from pondage.cli.asks import demanding
    from pondage.define.values.duration import parsed_duration
    from pondage.define.values.names import checked_name
    from pondage.views.words import duration_text

    length = parsed_duration(limit, what="limit")
    checked = checked_name(name, what="Tide")
    done = f"has Tide {checked!r} of {duration_text(length)}"
    _send(settings, (pond,), lambda to, key: to.ask(demanding.tide, pond=key, limit=limit, name=checked), done)


@verb
@_ponds
@click.option("--name", help="Only the Tide of this name (`wave`: only the Wave).")
@pass_settings
def calm(settings: Settings, ponds: tuple[str, ...], name: str | None) -> None:
    """Take the Wave and the Tides away. What is asked for already still runs.

    Triggers that the code declares come back with the next deploy that changes them. A schedule is part of the code:
    take it out there, and deploy.
    """
    from pondage.cli.asks import demanding

    def done(old: PondView, _new: PondView) -> str:
        gone = [each for each in old.triggers if each.kind != "schedule" and name in (None, each.name)]
        if not gone:
            names = [each.name for each in old.triggers if each.kind != "schedule"]
            return f"has nothing of that name: it has {', '.join(names)}" if names else "had neither Wave nor Tide"
        return f"is calm ({', '.join(each.name for each in gone)} taken away)"

    _send(settings, ponds, lambda to, key: to.ask(demanding.calm, pond=key, name=name), done)


@verb
@_ponds
@pass_settings
def clear(settings: Settings, ponds: tuple[str, ...]) -> None:
    """Acknowledge a failure, a kill or a halt: demand that was kept runs again, and the Sinks are unblocked."""
    from pondage.cli.asks import demanding

    def done(old: PondView, _new: PondView) -> str:
        if old.halted is not None or old.state in ("failed", "killed"):
            return "was cleared"
        above = ": the Pond that blocks it is above" if old.state == "blocked" else ""
        return f"had nothing to clear{above}"

    _send(settings, ponds, lambda to, key: to.ask(demanding.clear, pond=key), done)


@verb
@_ponds
@pass_settings
def wake(settings: Settings, ponds: tuple[str, ...]) -> None:
    """Clear, and run once if the Sources are ahead right now. Asks nothing of them, and is not kept for later."""
    from pondage.cli.asks import demanding

    def done(old: PondView, new: PondView) -> str:
        return "was woken" if new.runs > old.runs else "was woken, but its Sources have nothing newer: it does not run"

    _send(settings, ponds, lambda to, key: to.ask(demanding.wake, pond=key), done)


@verb
@_ponds
@click.option("--full", is_flag=True, help="Compute everything anew, not only what changed; the table is replaced.")
@_note
@pass_settings
def force(settings: Settings, ponds: tuple[str, ...], full: bool, note: str) -> None:
    """Clear, and run once even if nothing is new: every Ripple computes again.

    Waits for a Run that is active. Sinks see what it gives with their next Run; its freshness grows only when the
    Sources are ahead. With --full a Pond that appends or merges begins its table anew: `run.is_full` is true.
    """
    from pondage.cli.asks import demanding

    def done(old: PondView, new: PondView) -> str:
        if new.runs > old.runs:
            return "is forced"
        if old.active:
            return "is forced, as soon as the Run that is active has ended"
        return "cannot be forced: its Sources have never published (pondage run brings them)"

    _send(settings, ponds, lambda to, key: to.ask(demanding.force, pond=key, full=full, note=note), done)


@verb
@click.argument("names", nargs=-1, required=True, metavar="POND|RUN...")
@_note
@pass_settings
def kill(settings: Settings, names: tuple[str, ...], note: str) -> None:
    """Stop at once: cancel what runs, forget demand and triggers, block the Sinks until `pondage clear`.

    Published data stays as it is. A RUN is one of a job or a flow (j1a2b…): nothing more of it starts, and what runs
    has 30 s to end; the second time it ends at once.
    """
    from pondage.cli.asks import demanding
    from pondage.cli.job.run import kill_run

    runs = [name for name in names if _RUN.fullmatch(name)]
    ponds = tuple(name for name in names if name not in runs)
    if runs:
        with desk(settings) as opened:
            for run in runs:
                kill_run(opened, run)
    if ponds:
        _send(settings, ponds, lambda to, key: to.ask(demanding.kill, pond=key, note=note), "was killed")


@verb
@_ponds
@click.option("--upstream", is_flag=True, help="Everything above it too.")
@pass_settings
def sleep(settings: Settings, ponds: tuple[str, ...], upstream: bool) -> None:
    """Forget demand and standing triggers. Runs that have started complete.

    A Sink that wants something asks again with its next demand. With --upstream the Ponds above sleep too.
    """
    from pondage.cli.asks import demanding

    done = "sleeps, and so does everything above it" if upstream else "sleeps"
    _send(settings, ponds, lambda to, key: to.ask(demanding.sleep, pond=key, upstream=upstream), done)
