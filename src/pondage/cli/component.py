"""`pondage component list|show`: what job files can be built of."""

from __future__ import annotations

import click
import msgspec

from pondage.cli.output import print_json, print_pairs, print_table, print_title
from pondage.cli.registry import known_components
from pondage.cli.settings import Settings, Verb, json_option, pass_settings
from pondage.define.component import ComponentDefinition
from pondage.define.port import Port


@click.group()
def component() -> None:
    """The components that jobs are built of: the library's, and those of this project."""


@component.command("list", cls=Verb)
@json_option
@pass_settings
def list_components(settings: Settings, is_json: bool) -> None:
    """List all components with their ports."""
    found = sorted(known_components().values(), key=lambda one: one.name)
    if is_json:
        print_json([msgspec.to_builtins(one) for one in found])
        return
    columns = ("NAME", "VERSION", "INPUTS", "OUTPUTS", "")
    rows = [
        (one.name, one.version, _short(one.inputs), _short(one.outputs), one.doc.partition("\n")[0]) for one in found
    ]
    print_table(settings, columns, rows)


@component.command("show", cls=Verb)
@click.argument("name")
@json_option
@pass_settings
def show(settings: Settings, name: str, is_json: bool) -> None:
    """Show one component: what it does, its ports, its parameters."""
    from pondage.errors import NotFound
    from pondage.views.words import nearest

    known = known_components()
    if name not in known:
        close = nearest(name, known)
        hint = f"did you mean {close}?" if close else "see them all: pondage component list"
        raise NotFound(f"there is no component {name!r}", hint=hint)
    found = known[name]
    if is_json:
        print_json(msgspec.to_builtins(found))
        return
    click.echo(f"{found.name} {found.version}\n\n{_unindented(found.doc)}\n")
    print_pairs(settings, _facts(found))
    for title, ports in (("inputs", found.inputs), ("outputs", found.outputs)):
        if ports:
            print_title(title, settings)
            print_pairs(settings, [(port, _port(one, is_input=title == "inputs")) for port, one in ports.items()])
    properties = found.params.get("properties")
    if isinstance(properties, dict) and properties:
        print_title("params", settings)
        required = found.params.get("required", [])
        assert isinstance(required, list)
        print_pairs(settings, [(key, _kind(one, is_required=key in required)) for key, one in properties.items()])


def _facts(found: ComponentDefinition) -> list[tuple[str, str]]:
    def written(names: tuple[str, ...] | None) -> str:
        return "anything" if names is None else ", ".join(names) or "nothing"

    return [
        ("code", found.entry),
        ("in trees", "yes" if found.exposed else "no: it is for jobs only"),
        ("deterministic", "yes: it may be fused with its neighbours" if found.deterministic else "no"),
        ("after-variables", written(found.after)),
        ("writes globals", written(found.globals)),
    ]


def _short(ports: dict[str, Port]) -> str:
    return ", ".join(f"{name}{'' if port.required else '?'}{'…' if port.multi else ''}" for name, port in ports.items())


def _port(port: Port, *, is_input: bool) -> str:
    words = [port.type]
    if is_input:
        words += ["required" if port.required else "optional"] + (["several connections"] if port.multi else [])
    return ", ".join(words)


def _kind(schema: object, *, is_required: bool) -> str:
    assert isinstance(schema, dict)
    words = []
    if "enum" in schema:
        words.append("one of " + ", ".join(map(str, schema["enum"])))
    elif "format" in schema:
        words.append(str(schema["format"]))
    elif "type" in schema:
        given = schema["type"]
        words.append(given if isinstance(given, str) else " or ".join(given))
        inner = schema.get("items") or schema.get("additionalProperties")
        if isinstance(inner, dict):
            words[-1] += f" of {inner.get('format') or inner.get('type')}s"
    return ", ".join([*words, "required" if is_required else "optional"])


def _unindented(doc: str) -> str:
    return "\n".join(line.strip() for line in doc.splitlines())
