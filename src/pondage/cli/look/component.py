"""`pondage component`: what jobs and flows are built of, the queues of their work, and a manifest for many machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import click
import msgspec

from pondage.cli.client.desk import asked
from pondage.cli.client.settings import Settings, Verb, pass_settings, settings_and_json
from pondage.cli.files.registry import known_components, listed_components
from pondage.cli.printing.output import print_json, print_list, print_pairs, print_title, print_view
from pondage.connect import kubernetes
from pondage.define.job.component import ComponentDefinition
from pondage.define.types.port import Port
from pondage.define.values.suggestion import nearest
from pondage.errors import NotFound
from pondage.operations import components
from pondage.views.jobs.components import KnownComponent
from pondage.views.jobs.queues import QueueView
from pondage.views.words import duration_text, moment_text

_Component = TypeVar("_Component", bound=ComponentDefinition)


@click.group()
def component() -> None:
    """The components that jobs and flows are built of, and the queues in which their work waits for a worker."""


@component.command("list", cls=Verb)
@settings_and_json
def list_components(settings: Settings, is_json: bool) -> None:
    """List all components with their ports: the library's, those that are deployed for trees, and this project's."""
    found = listed_components()
    columns = ("NAME", "VERSION", "OF", "INPUTS", "OUTPUTS", "")
    rows = [
        (one.name, one.version, _owner(one), _short(one.inputs), _short(one.outputs), one.doc.partition("\n")[0])
        for one in found
    ]
    print_list(settings, found, columns, rows, empty="", is_json=is_json)


@component.command("show", cls=Verb)
@click.argument("name")
@settings_and_json
def show(settings: Settings, name: str, is_json: bool) -> None:
    """Show one component: what it does, its ports, its parameters."""
    found = _known({one.name: one for one in listed_components()}, name)
    if is_json:
        print_json(msgspec.to_builtins(found))
        return
    click.echo(f"{found.name} {found.version}\n\n{found.doc}\n")
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


@component.command("queues", cls=Verb)
@click.option("--all", "is_all", is_flag=True, help="Also those in which there is nothing now.")
@settings_and_json
def queues(settings: Settings, is_all: bool, is_json: bool) -> None:
    """Show what waits for which code. What is left over of old code can be bound to the new one."""
    view = asked(settings, components.component_queues, is_all=is_all)
    columns = ("QUEUE", "COMPONENTS", "CODE", "WAITING", "RUNNING", "OLDEST", "NEEDS", "WORKERS", "")
    empty = "nothing waits and nothing runs; every queue there ever was: pondage component queues --all"
    print_list(settings, view, columns, [_line(one) for one in view.queues], empty=empty, is_json=is_json)


@component.command("rebind", cls=Verb)
@click.argument("queue", type=int)
@click.option(
    "--to",
    metavar="CODE",
    help="The digest of the code, or its beginning; left out: the newest deployment that has the components.",
)
@click.option("--back", is_flag=True, help="Also to code that is older than what serves the queue.")
@click.option("--note", default="", metavar="TEXT", help="Why, for the audit trail.")
@settings_and_json
def rebind(settings: Settings, queue: int, to: str | None, back: bool, note: str, is_json: bool) -> None:
    """Let another code serve QUEUE: what waits in it, and what still comes."""
    done = asked(settings, components.component_rebind, queue=str(queue), to=to, back=back, note=note)
    names = ", ".join(f"{name} {version}" for name, version in done.components.items())
    since = "never deployed" if done.deployed_at is None else f"deployed {moment_text(done.deployed_at)[:19]}"
    was = f", not {done.before[:12]}" if done.before not in ("", done.served_by) else ""
    print_view(
        done, f"queue {queue} ({names}) is served by code {done.served_by[:12]} now ({since}){was}", is_json=is_json
    )


@component.command("manifest", cls=Verb)
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--image", required=True, help="A container's image that has Pondage; a component's own comes first.")
@click.option("--namespace", default="default", show_default=True)
@click.option("--secret", default="pondage", show_default=True, help="The Secret whose key `ledger` is its address.")
@pass_settings
def manifest(settings: Settings, names: tuple[str, ...], image: str, namespace: str, secret: str) -> None:
    """Print a Kubernetes manifest of workers for these components: kubectl apply -f -."""
    from pondage.cli.client.session import open_project

    known = known_components()
    project = open_project(settings)
    cluster = kubernetes.Cluster(
        image=image,
        warehouse=project.warehouse,
        namespace=namespace,
        secret=secret,
        drain_s=project.durability.drain_s,
    )
    click.echo(kubernetes.manifest([_known(known, name) for name in names], cluster), nl=False)


def _known(known: Mapping[str, _Component], name: str) -> _Component:
    """Answer a component; raises `NotFound` with what may have been meant."""
    if name not in known:
        close = nearest(name, known)
        hint = f"did you mean {close}?" if close else "see them all: pondage component list"
        raise NotFound(f"there is no component {name!r}", hint=hint)
    return known[name]


def _line(one: QueueView) -> tuple[str, ...]:
    code = one.served_by[:12] or "any"
    needs = " ".join((*one.labels, *(one.memory[:1])))
    remark = "left over: pondage component rebind " + str(one.id) if one.is_left_over else ""
    return (
        str(one.id),
        " ".join(one.components),
        code if one.served_by == one.code else f"{code} (was {one.code[:12]})",
        str(one.waiting),
        str(one.running),
        "-" if one.oldest_us is None else duration_text(one.oldest_us),
        needs or "-",
        str(len(one.workers)),
        remark,
    )


def _owner(found: KnownComponent) -> str:
    """Answer where a component is from; one of this folder may not be in force yet."""
    if not found.project:
        return "library"
    return found.project if found.archive else f"{found.project}, not deployed"


def _facts(found: KnownComponent) -> list[tuple[str, str]]:
    def written(names: tuple[str, ...] | None) -> str:
        return "anything" if names is None else ", ".join(names) or "nothing"

    return [
        ("of", _owner(found)),
        ("code", found.entry or " ".join(found.command)),
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
