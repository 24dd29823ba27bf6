"""What trees and jobs may name, wherever it is: the library, what is deployed, and the files of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from pondage.cli.asks import components
from pondage.cli.client.desk import desk
from pondage.cli.client.settings import Settings
from pondage.cli.files import registry
from pondage.components.registry import built_in
from pondage.views.jobs.components import known_component, known_type

if TYPE_CHECKING:
    from pondage.cli.client.desk import Desk
    from pondage.define.job.component import Registry
    from pondage.define.types.type_registry import TypeRegistry
    from pondage.views.jobs.components import KnownComponent, KnownType


def listed_components() -> list[KnownComponent]:
    """Answer every component by name. What the files of this folder say comes before what is deployed."""
    with _opened() as opened:
        asked = [] if opened is None else opened.ask(components.components)
    found = {one.name: one for one in asked}
    project = registry.this_project()
    for name, one in registry.known_components().items():
        view = known_component(one, "" if project is None or name in built_in() else project.name)
        known = found.get(name)
        if known is None or msgspec.structs.replace(known, archive="") != view:
            found[name] = view
    return [found[name] for name in sorted(found)]


def listed_types() -> list[KnownType]:
    """Answer every type, those that are built in first. What this folder declares comes before what is deployed."""
    with _opened() as opened:
        found = {one.key: one for one in ([] if opened is None else opened.ask(components.types))}
    project = registry.this_project()
    for key, one in registry.known_types().items():
        found[key] = known_type(one, "" if project is None or one.is_built_in else project.name)
    return sorted(found.values(), key=lambda one: not one.is_built_in)


def deployed(opened: Desk | None = None) -> tuple[Registry, TypeRegistry] | None:
    """Answer the components and types that are deployed; None when there is nobody to ask."""
    if opened is None:
        with _opened() as other:
            return None if other is None else deployed(other)
    found = {one.name: one.definition for one in opened.ask(components.components) if one.archive}
    return found, {one.key: one for one in opened.ask(components.types) if not one.is_built_in}


@contextmanager
def _opened() -> Iterator[Desk | None]:
    """Open what can be asked: the server that the call names, or a ledger that is there already; None without one."""
    context = click.get_current_context(silent=True)
    settings = context.find_object(Settings) if context is not None else None
    if settings is None or not (settings.server is not None or _has_ledger()):
        yield None
        return
    with desk(settings) as opened:
        yield opened


def _has_ledger() -> bool:
    from pondage.cli.files.registry import this_project

    project = this_project()
    if project is None:
        return False
    place = project.ledger.removeprefix("sqlite://")
    return "://" in place or Path(place).is_file()
