"""`pondage type list|show`: the types of ports, what they mean, and how they become octets."""

from __future__ import annotations

import click
import msgspec

from pondage.cli.client.settings import Settings, Verb, settings_and_json
from pondage.cli.files.registry import listed_types
from pondage.cli.printing.output import print_json, print_list, print_pairs
from pondage.define.types.type_json import spark_json
from pondage.define.types.type_registry import TypeEntry, TypeRegistry, structures_of
from pondage.define.types.types import parse_type
from pondage.define.values.suggestion import nearest
from pondage.errors import NotFound


@click.group("type")
def type() -> None:  # noqa: A001 - the name of the verb
    """The types of ports: those of the grammar, and those that this project gives a name."""


@type.command("list", cls=Verb)
@settings_and_json
def list_types(settings: Settings, is_json: bool) -> None:
    """List all types: built in, deployed, and of this project."""
    found = {one.key: one for one in listed_types()}
    view = [_as_json(one, found) for one in found.values()]
    rows = [(key, one.project or "built in", one.definition, one.doc) for key, one in found.items()]
    print_list(settings, view, ("NAME", "OF", "CONSISTS OF", ""), rows, empty="", is_json=is_json)


@type.command("show", cls=Verb)
@click.argument("name")
@settings_and_json
def show(settings: Settings, name: str, is_json: bool) -> None:
    """Show one type: what it means, what it consists of, how it becomes octets. NAME may have a version: Order@2."""
    known = {one.key: one for one in listed_types()}
    fitting = [one for key, one in known.items() if name in (key, one.name, f"{one.name}@{one.version}")]
    if not fitting:
        close = nearest(name, known)
        hint = f"did you mean {close}?" if close else "see them all: pondage type list"
        raise NotFound(f"there is no type {name!r}", hint=hint)
    if is_json:
        print_json([_as_json(one, known) for one in fitting] if len(fitting) > 1 else _as_json(fitting[0], known))
        return
    for one in fitting:
        click.echo(f"{one.name} {one.version}".strip() + (f"\n\n{one.doc}\n" if one.doc else "\n"))
        facts = [("consists of", one.definition or "-"), ("as octets", one.serialisation)]
        print_pairs(settings, [*facts, ("declared", f"by project {one.project}" if one.project else "built in")])


def _as_json(entry: TypeEntry, known: TypeRegistry) -> dict[str, object]:
    found: dict[str, object] = msgspec.to_builtins(entry)
    is_row = bool(entry.definition) and (not entry.is_built_in or entry.name == "Panic")
    found["schema"] = spark_json(parse_type(entry.definition), structures_of(known)) if is_row else None
    return found
