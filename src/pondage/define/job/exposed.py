"""What a project gives to the trees of its environment: exposed components and named types, as data without code."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from pondage.define.job.component import ComponentDefinition, check_declared
from pondage.define.types.port import INFER
from pondage.define.types.type_registry import TypeEntry, TypeRegistry, wrong_entry
from pondage.define.types.types import TypeSyntax, parse_type
from pondage.define.values.names import checked_name, parsed_version
from pondage.errors import DefinitionError


class Exposed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The exposed components of a project, by name, and its types; `archive` of each is the code that it runs with."""

    components: tuple[ComponentDefinition, ...] = ()
    types: dict[str, TypeEntry] = {}

    def with_code(self, digest: str) -> Exposed:
        """Answer the same with the code that is deployed now."""
        components = tuple(msgspec.structs.replace(one, archive=digest) for one in self.components)
        return msgspec.structs.replace(self, components=components)


def exposed_by(components: Iterable[ComponentDefinition], types: TypeRegistry) -> Exposed:
    """Answer what a project gives of all that it declares."""
    given = sorted((one for one in components if one.exposed), key=lambda one: one.name)
    return Exposed(components=tuple(given), types=dict(types))


def check_exposed(exposed: Exposed) -> None:
    """Raise DefinitionError for what no declaration could have made: it may come from anywhere."""
    for number, one in enumerate(exposed.components):
        checked_name(one.name, what="component")
        parsed_version(one.version)
        if not one.exposed or one.is_library:
            raise DefinitionError(f"component {one.name!r} is not exposed by a project", code="NOT_EXPOSED")
        for name, port in {**one.inputs, **one.outputs}.items():
            _check_port(one, name, port.type)
        check_declared(one, f"$.exposed.components[{number}]")
    for key, entry in exposed.types.items():
        wrong = wrong_entry(entry) or ("" if key == entry.key else f"stands under {key!r}")
        if wrong:
            raise DefinitionError(f"type {entry.name!r} {wrong}", code="BAD_TYPE")


def _check_port(component: ComponentDefinition, name: str, text: str) -> None:
    plain = name[:-1] if name.endswith("*") else name
    if not plain.isidentifier() or len(plain) > 63:
        raise DefinitionError(f"component {component.name}: {name[:63]!r} is no name for a port", code="BAD_NAME")
    try:
        if text != INFER:
            parse_type(text, component.vars)
    except TypeSyntax as error:
        raise DefinitionError(f"component {component.name}: port {name} is no type: {error}", code="BAD_TYPE") from None
