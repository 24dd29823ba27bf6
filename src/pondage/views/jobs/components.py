"""What jobs and trees are built of: the library, and what projects have deployed for trees."""

from __future__ import annotations

import msgspec

from pondage.components.registry import built_in
from pondage.define.job.component import ComponentDefinition
from pondage.define.types.type_registry import BUILT_IN, TypeEntry, TypeRegistry
from pondage.ledger.act.exposed import given
from pondage.ledger.database.driver import Transaction


class KnownComponent(ComponentDefinition, frozen=True, kw_only=True):
    """A component and the project that it is of; empty for the library. `archive` is the deployed code it runs with."""

    project: str = ""

    @property
    def definition(self) -> ComponentDefinition:
        """Answer the component alone, as jobs store it."""
        given = msgspec.structs.asdict(self)
        del given["project"]
        return ComponentDefinition(**given)


class KnownType(TypeEntry, frozen=True, kw_only=True):
    """A type and the project that has declared it; empty for what is built in."""

    project: str = ""


def known_component(one: ComponentDefinition, project: str = "") -> KnownComponent:
    """Answer a component with its project."""
    return KnownComponent(**msgspec.structs.asdict(one), project=project)


def known_type(one: TypeEntry, project: str = "") -> KnownType:
    """Answer a type with its project."""
    return KnownType(**msgspec.structs.asdict(one), project=project)


def components(tx: Transaction, environment: str) -> list[KnownComponent]:
    """Answer all components of the library, and those that projects expose in an environment, by name."""
    found = given(tx, environment)
    views = [known_component(one) for one in built_in().values()]
    views += [known_component(one, found.owners[name]) for name, one in found.components.items()]
    return sorted(views, key=lambda one: one.name)


def types(tx: Transaction, environment: str, declared: TypeRegistry | None = None) -> list[KnownType]:
    """Answer the types that are built in, those that projects have deployed, and those `declared` beside them."""
    found = given(tx, environment)
    views = [known_type(one) for one in BUILT_IN.values()]
    own = {**(declared or {}), **found.types}
    return views + [known_type(own[key], found.owners.get(key, "")) for key in sorted(own)]
