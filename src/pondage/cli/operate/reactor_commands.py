"""Commands to a reactor: `fire`, `pause`, `kill`, `push`, `redrive` and the others."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterable

import click
import msgspec

from pondage.cli.client.desk import asked, desk
from pondage.cli.client.settings import Settings, Verb, settings_and_json
from pondage.cli.follow.event import note_option
from pondage.cli.printing.output import print_json, print_view
from pondage.errors import PondageError
from pondage.operations import reactors
from pondage.views.reactors.words import hold_text

_NAME = click.argument("name", metavar="REACTOR")
_TIMEOUT = click.option(
    "--timeout", "timeout_s", type=click.FloatRange(min=0), default=30.0, show_default=True, help="Seconds to wait."
)


@click.command("fire", cls=Verb)
@_NAME
@_TIMEOUT
@settings_and_json
def fire(settings: Settings, name: str, timeout_s: float, is_json: bool) -> None:
    """Fire now, with what is there, whatever the criteria say. While paused: a single step."""
    _command(settings, name, "force_fire", None, timeout_s=timeout_s, is_json=is_json)


@click.command("fire-with", cls=Verb)
@_NAME
@click.argument("values", metavar="SOURCE=JSON...", nargs=-1, required=True)
@_TIMEOUT
@settings_and_json
def fire_with(settings: Settings, name: str, values: tuple[str, ...], timeout_s: float, is_json: bool) -> None:
    """Fire with exactly these values; they stay in the cache. What waits of other sources stays pending."""
    cache: dict[str, object] = {}
    for each in values:
        source, equals, text = each.partition("=")
        if not equals:
            raise click.UsageError(f"{each!r} is not SOURCE=JSON")
        cache[source] = _json(text)
    _command(settings, name, "fire_with", cache, timeout_s=timeout_s, is_json=is_json)


PLAIN = {
    "pause": "Start nothing by itself from now on, retries included. A running fire ends; it survives crashes.",
    "resume": "Go on after a pause or a halt, at once with what waits.",
    "sleep": "Pause, and forget what is wanted of its Pond. `pondage reactor resume` goes on.",
    "kill": "Cancel the fire that runs and start nothing more. "
    "Nothing is lost: `pondage reactor resume` runs it again.",
    "revive": "Start a reactor that has failed, or its failed sources, again: "
    "counters at zero, the same durable state.",
}
"""Commands that say nothing but themselves."""


def plain_command(verb: str) -> click.Command:
    """Answer the command of one of `PLAIN`."""

    @click.command(verb, cls=Verb, help=PLAIN[verb])
    @_NAME
    @settings_and_json
    def command(settings: Settings, name: str, is_json: bool) -> None:
        _command(settings, name, verb, None, timeout_s=30.0, is_json=is_json)

    return command


@click.command("redrive", cls=Verb)
@_NAME
@click.argument("letter", metavar="LETTER")
@_TIMEOUT
@settings_and_json
def redrive(settings: Settings, name: str, letter: str, timeout_s: float, is_json: bool) -> None:
    """Fire once more with the inputs of a dead letter; on success the letter is removed."""
    argument: object = int(letter) if letter.isdigit() else letter
    _command(settings, name, "redrive", argument, timeout_s=timeout_s, is_json=is_json)


@click.command("skip", cls=Verb)
@_NAME
@click.argument("item", metavar="ITEM")
@note_option
@settings_and_json
def skip(settings: Settings, name: str, item: str, note: str, is_json: bool) -> None:
    """Put one thing aside that cannot go on, as `pondage why` names it: journal@17 or publication@5.

    It is kept as a dead letter (`pondage reactor dead`), and what is behind it goes on.
    """
    view = asked(settings, reactors.reactor_skip, reactor=name, item=item, note=note)
    print_view(view, f"{name}: {item} is a dead letter now; it goes on without it", is_json=is_json)


@click.command("reset", cls=Verb)
@_NAME
@click.option("--to", required=True, metavar="empty|ITEM", help="`empty`, or an item of its journal: journal@17.")
@note_option
@settings_and_json
def reset(settings: Settings, name: str, to: str, note: str, is_json: bool) -> None:
    """Let a reactor begin again: with nothing that waits, or as it was after an item of its journal.

    What goes is kept as dead letters. How far sources were read, the numbers of fires and the freshness stay.
    """
    view = asked(settings, reactors.reactor_reset, reactor=name, to=to, note=note)
    print_view(view, f"{name}: begins again; {len(view.letters)} dead letters keep what it had", is_json=is_json)


@click.command("push", cls=Verb)
@_NAME
@click.argument("source", metavar="SOURCE")
@click.argument("value", metavar="[JSON]", required=False)
@_TIMEOUT
@settings_and_json
def push(settings: Settings, name: str, source: str, value: str | None, timeout_s: float, is_json: bool) -> None:
    """Push one value, or with no value each line of the standard input, and wait until each is durable.

    Exit code 1 when one is refused.
    """
    lines: Iterable[str] = sys.stdin if value is None else [value]
    refused = 0
    with desk(settings) as opened:
        for number, line in enumerate(lines, 1):
            if value is None and not line.strip():
                continue
            value_given = _json(line, "" if value is not None else f"line {number}: ")
            answer = opened.ask(
                reactors.reactor_push, reactor=name, source=source, value=value_given, patience_s=timeout_s
            )
            refused += answer.get("accepted") is not True
            click.echo(msgspec.json.encode(answer).decode() if is_json else _push_text(answer))
    if refused:
        click.get_current_context().exit(1)


def _push_text(answer: dict[str, object]) -> str:
    if answer.get("accepted") is not True:
        path = str(answer.get("path", ""))
        where = f" at {path}" if path.startswith("$") else f": {path}" if path else ""
        message = f": {answer['message']}" if "message" in answer else ""
        return f"refused: {answer.get('error')}{where}{message}"
    if answer.get("dup"):
        return "accepted: it was known already"
    return f"accepted as number {answer['seq']}" if "seq" in answer else "accepted"


def _command(settings: Settings, name: str, command: str, argument: object, *, timeout_s: float, is_json: bool) -> None:
    """Give a command under an id of its own, so that a lost answer does not do it twice; exit code 1 when refused."""
    cid = f"cli-{secrets.token_hex(8)}"
    reply = asked(
        settings, reactors.reactor_command, reactor=name, command=command, arg=argument, cid=cid, patience_s=timeout_s
    )
    error = reply.get("error")
    if is_json:
        print_json(reply)
    elif error is not None and "outcome" not in reply:
        raise PondageError(
            f"reactor {name} refuses {command}: {reply.get('message') or error}",
            hint=f"pondage why {name}",
            code=str(error).upper(),
        )
    else:
        click.echo(f"{name}: {_reply_text(reply)}")
    if error is not None or reply.get("outcome") not in (None, "ok"):
        click.get_current_context().exit(1)


def _reply_text(reply: dict[str, object]) -> str:
    if "revived" in reply:
        return "started again" if reply["revived"] else "nothing of it had failed"
    if reply.get("killed") is not None:
        reply = {**reply, "killed": f"fire {reply['killed']}"}
    words = [f"{key} {value}" for key, value in reply.items() if key != "hold" and value not in (None, False)]
    return ", ".join([hold_text(reply["hold"]), *words] if "hold" in reply else words)


def _json(text: str, where: str = "") -> object:
    try:
        value: object = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise click.UsageError(f"{where}{text.strip()!r} is no JSON: {error}") from error
    return value
