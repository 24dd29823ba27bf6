"""Verbs that tell a Pond something: each is one event, sent to the ledger and settled at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from pondage.cli.session import Session, session
from pondage.cli.settings import Settings, pass_settings, verb

if TYPE_CHECKING:
    from pondage.kernel.demand.events import Event
    from pondage.kernel.demand.shape import PondKey

_ponds = click.argument("ponds", nargs=-1, required=True, metavar="POND...")


def _send(settings: Settings, ponds: tuple[str, ...], event: Callable[[PondKey], Event], done: str) -> None:
    """Send an event to each Pond and say what follows from it. Names are looked up before anything is sent."""
    from pondage.kernel.demand.shape import PondKey
    from pondage.ledger.verbs import send

    with session(settings) as opened:
        keys = find_ponds(opened, ponds)
        for key in keys:
            send(opened.ledger, opened.environment, event(PondKey(key)))
        for key in keys:
            click.echo(f"{key} {done}; {what_follows(opened, key)}")


def find_ponds(opened: Session, names: tuple[str, ...]) -> list[str]:
    """Answer the keys of Ponds that were typed; raises `NotFound` with the nearest name."""
    from pondage.views import find

    with opened.ledger.reading() as tx:
        environment = find.environment_id(tx, opened.environment)
        return [find.pond(tx, environment, name).key for name in names]


def what_follows(opened: Session, key: str) -> str:
    """Answer what the Pond does now, in half a sentence, with the command that tells more."""
    from pondage.views.status import status
    from pondage.views.words import age_text

    with opened.ledger.reading() as tx:
        view = status(tx, opened.environment)
    pond = view.pond(key)
    if pond is None:
        return "it is not deployed any more"
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
    from pondage.kernel.demand.events import Tap

    _send(settings, ponds, lambda key: Tap(pond=key), "was tapped")


@verb
@_ponds
@pass_settings
def pulse(settings: Settings, ponds: tuple[str, ...]) -> None:
    """Push once: bring the Pond to the freshness of this moment.

    Everything above it that is older runs first, and each Pond runs once. See also: pondage run.
    """
    from pondage.kernel.demand.events import Pulse

    _send(settings, ponds, lambda key: Pulse(pond=key), "was pulsed")


@verb
@_ponds
@click.option("--just-in-time", is_flag=True, help="Pace the Inlets by the slowest Pond: fewer Runs, fresher data.")
@pass_settings
def wave(settings: Settings, ponds: tuple[str, ...], just_in_time: bool) -> None:
    """Pull again and again: a Tap now and after each completed Run, until `pondage calm`.

    Every Pond above settles on the rhythm of the slowest one. A Wave survives failures and restarts.
    """
    from pondage.kernel.demand.events import Wave
    from pondage.kernel.demand.state import Pacing

    pacing = Pacing.JUST_IN_TIME if just_in_time else Pacing.EAGER
    _send(settings, ponds, lambda key: Wave(pond=key, pacing=pacing), "has a Wave")


@verb
@click.argument("pond", metavar="POND")
@click.argument("limit", metavar="LIMIT")
@click.option("--name", default="tide", show_default=True, help="Its name: a Pond may have several Tides.")
@pass_settings
def tide(settings: Settings, pond: str, limit: str, name: str) -> None:
    """Keep the Pond no staler than LIMIT (90s, 15m, 1h, 1d), until `pondage calm`.

    It runs no more often than that needs. Of several Tides the smallest limit rules.
    """
    from pondage.define.duration import parsed_duration
    from pondage.define.names import checked_name
    from pondage.kernel.demand.events import Tide

    length = parsed_duration(limit, what="limit")
    checked = checked_name(name, what="Tide")
    _send(settings, (pond,), lambda key: Tide(pond=key, limit=length, name=checked), f"has Tide {checked!r}")


@verb
@_ponds
@click.option("--name", help="Only the Tide of this name (`wave`: only the Wave).")
@pass_settings
def calm(settings: Settings, ponds: tuple[str, ...], name: str | None) -> None:
    """Take the Wave and the Tides away. What is asked for already still runs."""
    from pondage.kernel.demand.events import Calm

    _send(settings, ponds, lambda key: Calm(pond=key, name=name), "is calm")


@verb
@_ponds
@pass_settings
def clear(settings: Settings, ponds: tuple[str, ...]) -> None:
    """Acknowledge a failure, a kill or a halt: demand that was kept runs again, and the Sinks are unblocked."""
    from pondage.kernel.demand.events import Clear

    _send(settings, ponds, lambda key: Clear(pond=key), "was cleared")


@verb
@_ponds
@pass_settings
def wake(settings: Settings, ponds: tuple[str, ...]) -> None:
    """Clear, and run once if the Sources are ahead right now. Asks nothing of them."""
    from pondage.kernel.demand.events import Wake

    _send(settings, ponds, lambda key: Wake(pond=key), "was woken")


@verb
@_ponds
@pass_settings
def force(settings: Settings, ponds: tuple[str, ...]) -> None:
    """Clear, and run once even if nothing is new: every Ripple computes again."""
    from pondage.kernel.demand.events import Force

    _send(settings, ponds, lambda key: Force(pond=key), "is forced")


@verb
@_ponds
@pass_settings
def kill(settings: Settings, ponds: tuple[str, ...]) -> None:
    """Stop at once: cancel what runs, forget demand and triggers, block the Sinks until `pondage clear`.

    Published data stays as it is.
    """
    from pondage.kernel.demand.events import Kill

    _send(settings, ponds, lambda key: Kill(pond=key), "was killed")


@verb
@_ponds
@click.option("--upstream", is_flag=True, help="Everything above it too.")
@pass_settings
def sleep(settings: Settings, ponds: tuple[str, ...], upstream: bool) -> None:
    """Forget demand and standing triggers. Runs that have started complete."""
    from pondage.kernel.demand.events import Sleep

    _send(settings, ponds, lambda key: Sleep(pond=key, upstream=upstream), "sleeps")
