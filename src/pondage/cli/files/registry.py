"""The components that job files may name: the library's, and those of the project that the call is about."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pondage.cli.client.settings import Settings
from pondage.components.registry import built_in, built_in_schemas
from pondage.define.job.component import Registry, Schema
from pondage.define.types.type_registry import BUILT_IN
from pondage.errors import DefinitionError, ProjectError
from pondage.project.archive import pack_project
from pondage.project.project import find_project, load_project
from pondage.project.reader import Declared, read_declared, schema_function

if TYPE_CHECKING:
    from pondage.define.job.component import ComponentDefinition
    from pondage.define.types.type_registry import TypeRegistry
    from pondage.project.project import Project


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
