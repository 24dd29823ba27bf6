"""What jobs and trees may name: the library, what is deployed, and what the project of the call declares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import click
import msgspec

from pondage.cli.client.desk import Desk, desk
from pondage.cli.client.settings import Settings
from pondage.components.registry import built_in, built_in_schemas
from pondage.define.job.component import ComponentDefinition, Registry, Schema
from pondage.define.types.type_registry import BUILT_IN, TypeRegistry
from pondage.errors import DefinitionError, ProjectError
from pondage.operations import components
from pondage.project.archive import pack_project
from pondage.project.project import Project, find_project, load_project
from pondage.project.reader import Declared, read_declared, schema_function
from pondage.views.jobs.components import KnownComponent, KnownType, known_component, known_type


def known_components() -> Registry:
    """Answer the library and the project's own components; outside of a project only the library.

    Raises what is wrong with the project's modules, and DefinitionError when one takes a name of the library.
    """
    return {**built_in(), **{one.name: one for one in _own().components}}


def known_schemas() -> dict[str, Schema]:
    """Answer the pure `schema` functions of the library, and of the project's own components (in a subprocess)."""
    project, own = this_project(), _own().schemas
    return {
        **built_in_schemas(),
        **({} if project is None else {name: schema_function(project, name) for name in sorted(own)}),
    }


def this_project() -> Project | None:
    """Answer the project that the call is about; None outside of one. Raises what is wrong with its file."""
    context = click.get_current_context(silent=True)
    settings = context.find_object(Settings) if context is not None else None
    try:
        return find_project((settings.project if settings is not None else None) or Path.cwd())
    except ProjectError as error:
        if error.code != "NO_PROJECT":
            raise
        return None


def this_code() -> bytes:
    """Answer the code of the project that the call is about, packed; nothing outside of one."""
    project = this_project()
    return b"" if project is None else pack_project(project).data


def known_types() -> TypeRegistry:
    """Answer the built-in types, and those that the project declares."""
    project = this_project()
    return {**BUILT_IN, **(project.types if project is not None else {})}


def _own() -> Declared:
    project = this_project()
    if project is None or not project.modules:
        return Declared(ponds=[], reactors=[])
    return _read(project.root, pack_project(project).digest)


@lru_cache(maxsize=4)
def _read(root: Path, _digest: str) -> Declared:
    """Read a project's components once for each state of its code: importing it takes a process."""
    declared = read_declared(load_project(root))
    not_of_library(declared.components)
    return declared


def not_of_library(components: Iterable[ComponentDefinition]) -> tuple[ComponentDefinition, ...]:
    """Answer components of a project; raises DefinitionError when one takes a name of the library."""
    own = tuple(components)
    for one in own:
        if one.name in built_in():
            raise DefinitionError(
                f"component {one.name!r} has the name of one of the library", place=one.entry, code="DUPLICATE_NAME",
                hint="give it another name: @component(\"my_name\", …)",
            )  # fmt: skip
    return own


def listed_components() -> list[KnownComponent]:
    """Answer every component by name. What the files of this folder say comes before what is deployed."""
    with opened() as somebody:
        asked = [] if somebody is None else somebody.ask(components.component_list)
    found = {one.name: one for one in asked}
    project = this_project()
    for name, one in known_components().items():
        view = known_component(one, "" if project is None or name in built_in() else project.name)
        known = found.get(name)
        if known is None or msgspec.structs.replace(known, archive="") != view:
            found[name] = view
    return [found[name] for name in sorted(found)]


def listed_types() -> list[KnownType]:
    """Answer every type, those that are built in first. What this folder declares comes before what is deployed."""
    with opened() as somebody:
        found = {one.key: one for one in ([] if somebody is None else somebody.ask(components.type_list))}
    project = this_project()
    for key, one in known_types().items():
        found[key] = known_type(one, "" if project is None or one.is_built_in else project.name)
    return sorted(found.values(), key=lambda one: not one.is_built_in)


def deployed(of: Desk | None = None) -> tuple[Registry, TypeRegistry] | None:
    """Answer the components and types that are deployed; None when there is nobody to ask."""
    if of is None:
        with opened() as other:
            return None if other is None else deployed(other)
    found = {one.name: one.definition for one in of.ask(components.component_list) if one.archive}
    return found, {one.key: one for one in of.ask(components.type_list) if not one.is_built_in}


@contextmanager
def opened() -> Iterator[Desk | None]:
    """Open what can be asked: the server that the call names, or a ledger that is there already; None without one."""
    context = click.get_current_context(silent=True)
    settings = context.find_object(Settings) if context is not None else None
    if settings is None or not (settings.server is not None or _has_ledger()):
        yield None
        return
    with desk(settings) as found:
        yield found


def _has_ledger() -> bool:
    project = this_project()
    if project is None:
        return False
    place = project.ledger.removeprefix("sqlite://")
    return "://" in place or Path(place).is_file()
