"""`error`: what an error code means, when it is shown, and what helps."""

from __future__ import annotations

from importlib import resources

import click
import msgspec

from pondage.cli.client.settings import json_option
from pondage.cli.printing.output import print_json
from pondage.define.values.suggestion import nearest
from pondage.errors import NotFound


class ErrorCode(msgspec.Struct, frozen=True, kw_only=True):
    """One code: what kind of error it is, and the messages that are shown with it, each with what helps."""

    kind: str = ""
    said: list[tuple[str, str]] = []


@click.command()
@click.argument("code", required=False)
@json_option
def error(code: str | None, is_json: bool) -> None:
    """Say what an error code means and what helps; without a code list them all.

    In messages `…` stands for what differs each time.
    """
    known = known_codes()
    if code is None:
        if is_json:
            print_json(known)
            return
        for name, each in known.items():
            click.echo(f"{name}: {each.kind or (each.said[0][0] if each.said else '')}")
        return
    name = code.strip().upper().replace("-", "_").removeprefix("ERROR[").removesuffix("]")
    if name not in known:
        near = nearest(name, known)
        raise NotFound(
            f"there is no error code {name}",
            hint=f"did you mean {near}? pondage error {near}" if near else "pondage error lists them all",
            code="NO_SUCH_CODE",
        )
    found = known[name]
    if is_json:
        print_json({"code": name, **msgspec.to_builtins(found)})
        return
    click.echo(name + (f": {found.kind}" if found.kind else ""))
    for said, hint in found.said:
        click.echo(f"\n  {' '.join(said.split())}")
        if hint.strip("… "):
            click.echo(f"    → {' '.join(hint.split())}")


def known_codes() -> dict[str, ErrorCode]:
    """Answer every code, as `scripts/error_codes.py` found it in the code."""
    text = (resources.files("pondage.cli.look") / "error_codes.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, ErrorCode])
