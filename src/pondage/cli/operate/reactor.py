"""`pondage reactor`: look at reactors. What changes one is in `reactor_commands`."""

from __future__ import annotations

import click
import msgspec

from pondage.cli.client.desk import asked, desk
from pondage.cli.client.settings import Settings, Verb, settings_and_json
from pondage.cli.operate.reactor_commands import PLAIN, fire, fire_with, plain_command, push, redrive, reset, skip
from pondage.cli.printing.output import print_json, print_list, print_pairs, print_table, print_view
from pondage.operations import reactors
from pondage.views.reactors.reactors import ReactorView
from pondage.views.words import moment_text

_NAME = click.argument("name", metavar="REACTOR")


@click.group()
def reactor() -> None:
    """Look at reactors and command them: what arrives makes them fire."""


for _verb in (fire, fire_with, push, redrive, skip, reset, *map(plain_command, PLAIN)):
    reactor.add_command(_verb)


@reactor.command("list", cls=Verb)
@settings_and_json
def list_reactors(settings: Settings, is_json: bool) -> None:
    """List every deployed reactor, its state, and whether a live host owns it."""
    with desk(settings) as opened:
        views = opened.ask(reactors.reactor_list)
        where = "" if views else f" in environment {opened.environment}"
    columns = ("REACTOR", "VERSION", "STATE", "FIRES", "SOURCES", "DURABLE")
    empty = f"no reactor is deployed{where}; declare one with Reactor(…), then: pondage deploy"
    print_list(settings, views, columns, [_line(view) for view in views], empty=empty, is_json=is_json)


def _line(view: ReactorView) -> tuple[str, ...]:
    waits = f" ({', '.join(view.waiting_for)})" if view.waiting_for and view.is_owned else ""
    state = view.state + waits if view.error is None else "not started"
    if view.stuck is not None and view.error is None:
        state += f", {view.stuck} stuck"
    return view.name, view.version, state, f"{view.criteria}, {view.strategy}", ", ".join(view.sources), view.durable


@reactor.command("state", cls=Verb)
@_NAME
@settings_and_json
def state(settings: Settings, name: str, is_json: bool) -> None:
    """Show what a reactor knows: values, queues, health, offsets, the last fire, dead letters."""
    found = asked(settings, reactors.reactor_state, reactor=name, patience_s=10.0)
    if is_json:
        print_json(found)
        return
    view = msgspec.convert(found, _StateView)
    fires = f"{view.fires} ({view.ok} ok, {view.bad} not)"
    print_pairs(
        settings,
        [
            ("state", view.state + (f" ({', '.join(view.unhealthy)})" if view.unhealthy else "")),
            ("hold", view.hold or ""),
            *_stuck_lines(view.stuck),
            ("fires", fires),
            ("running", "" if view.running is None else f"fire {view.running['fire']}"),
            ("last fire", "" if view.last_fire is None else f"{view.last_fire[0]} {view.last_fire[2]}"),
            ("dead letters", ", ".join(map(str, view.dead))),
        ],
    )
    columns = ("SOURCE", "HEALTH", "SEEN", "CONSUMED", "WAITING", "OFFSET", "VALUE")
    print_table(settings, columns, [_source_line(each, source) for each, source in view.sources.items()])


class _StateView(msgspec.Struct):
    state: str
    unhealthy: list[str]
    hold: str | None
    sources: dict[str, dict[str, object]]
    running: dict[str, object] | None
    last_fire: list[object] | None
    dead: list[int | str]
    fires: int
    ok: int
    bad: int
    stuck: dict[str, object] | None = None


def _stuck_lines(stuck: dict[str, object] | None) -> list[tuple[str, str]]:
    if stuck is None:
        return []
    since = stuck["since"]
    when = moment_text(since) if isinstance(since, int) else "now"
    return [("stuck", f"{stuck['item']} since {when}: {stuck['error']}")]


def _source_line(name: str, source: dict[str, object]) -> tuple[str, ...]:
    value = msgspec.json.encode(source["value"]).decode()
    waiting = sum(msgspec.convert(source[each], int) for each in ("queued", "buffered", "parked"))
    offset = _offset_text(source["offset"])
    shown = value if len(value) <= 60 else f"{value[:59]}…"
    return name, str(source["health"]), str(source["seen"]), str(source["consumed"]), str(waiting), offset, shown


def _offset_text(offset: object) -> str:
    if isinstance(offset, dict):
        return " ".join(f"{lane}:{place}" for lane, place in offset.items())
    return "" if offset is None else str(offset)


@reactor.command("dead", cls=Verb)
@_NAME
@settings_and_json
def dead(settings: Settings, name: str, is_json: bool) -> None:
    """List dead letters: the inputs of fires that were given up, and events that could not be decoded."""
    letters = asked(settings, reactors.reactor_dead, reactor=name, patience_s=10.0)
    rows, empty = (
        [_letter_line(each) for each in letters],
        f"no dead letters; what it does: pondage reactor state {name}",
    )
    print_list(settings, letters, ("LETTER", "ERROR", "INPUTS"), rows, empty=empty, is_json=is_json)
    if any(each["raw"] is None for each in letters) and not is_json:
        click.echo(f"once more: pondage reactor redrive {name} LETTER")
    if any(each["raw"] is not None for each in letters) and not is_json:
        click.echo(f"what could not be decoded: repair it and hand it over (pondage reactor push {name} SOURCE JSON)")


def _letter_line(letter: dict[str, object]) -> tuple[str, ...]:
    raw = letter["raw"]
    kept = msgspec.json.encode(letter["inputs"]).decode() if raw is None else str(raw)
    return str(letter["id"]), str(letter["error"]), kept[:100]


@reactor.command("history", cls=Verb)
@_NAME
@click.option("--limit", "-n", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many.")
@settings_and_json
def history(settings: Settings, name: str, limit: int, is_json: bool) -> None:
    """List what happened to a reactor: recoveries, holds, starts that failed."""
    lines = asked(settings, reactors.reactor_history, reactor=name, limit=limit)
    text = "\n".join(f"{moment_text(line.at)}  {line.text}" for line in lines)
    empty = f"nothing has happened to it: no recovery, no hold; what it does: pondage reactor state {name}"
    print_view(lines, text or empty, is_json=is_json)


@reactor.command("watch", cls=Verb)
@_NAME
@settings_and_json
def watch(settings: Settings, name: str, is_json: bool) -> None:
    """Follow a reactor until Ctrl-C: its health as it changes, its fires at most four times a second."""
    with desk(settings) as opened:
        for said in opened.follow(reactors.reactor_watch, reactor=name, patience_s=10.0):
            said.pop("id", None)
            if is_json:
                click.echo(msgspec.json.encode(said))
            elif "fired" in said:
                click.echo(f"{said['fired']} fires, the last {said['last']}")
            elif "source" in said:
                click.echo(f"source {said['source']}: {said['health']}")
            elif "health" in said:
                click.echo(f"health: {said['health']} {said['sources'] or ''}".rstrip())
            elif "recovery" in said:
                click.echo(f"recovery of {said['recovery'] or 'the reactor'}: attempt {said['attempt']}")
