"""What a deploy does to the reactors of a project. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from pondage.define.reactor.reaction import ReactorDeclaration, ReactorDefinition
from pondage.plan.deploy.reactor_binding import rebound_texts
from pondage.plan.deploy.reactor_registry import ReactorRegistry, RegistryError


class DeployedReactor(msgspec.Struct, frozen=True, kw_only=True):
    """A reactor that is deployed now, and which project owns it."""

    declaration: ReactorDeclaration
    digest: str
    project: str
    basis: str = ""


class ReactorChange(msgspec.Struct, frozen=True, kw_only=True):
    """What happens to one reactor. One that changes is drained, and started again with the state of its sources.

    `is_rebound`: only its graphs change, and they do so while it runs, from the next fire on.
    """

    name: str
    change: Literal["added", "changed", "removed", "unchanged"]
    version_from: str | None = None
    version_to: str | None = None
    is_rebound: bool = False
    rebound: tuple[str, ...] = ()
    """Ponds that it reads in another major version than before: `by_kind@1 → @2`."""


def reactor_changes(
    declared: Sequence[ReactorDefinition], deployed: Sequence[DeployedReactor], *, project: str
) -> tuple[ReactorChange, ...]:
    """Answer what a deploy would do to each reactor of a project."""
    mine = {each.declaration.name: each for each in deployed if each.project == project}
    changes = [_change(each, mine.get(each.name)) for each in declared]
    names = {each.name for each in declared}
    changes += [
        ReactorChange(name=name, change="removed", version_from=each.declaration.version)
        for name, each in mine.items()
        if name not in names
    ]
    return tuple(sorted(changes, key=lambda change: change.name))


def check_reactors(
    declared: Sequence[ReactorDefinition], deployed: Sequence[DeployedReactor], *, project: str, environment: str
) -> None:
    """Refuse what may not be deployed: another project's reactor or accumulator, another contract under one version.

    Raises RegistryError.
    """
    names = {each.name for each in declared}
    registry = ReactorRegistry()
    for each in deployed:
        name = each.declaration.name
        if each.project != project and name in names:
            raise RegistryError("NOT_OWNER", f"reactor {name} belongs to project {each.project}", reactor=name)
        if each.project != project or name in names:
            registry.load(environment, each.declaration)
    for one in declared:
        registry.load(environment, one.declaration)


def _change(declared: ReactorDefinition, before: DeployedReactor | None) -> ReactorChange:
    name, version = declared.name, declared.declaration.version
    if before is None:
        return ReactorChange(name=name, change="added", version_to=version)
    is_same = before.digest == declared.digest
    return ReactorChange(
        name=name,
        change="unchanged" if is_same else "changed",
        version_from=before.declaration.version,
        version_to=version,
        is_rebound=not is_same and is_same_but_for_graphs(before.basis, declared.basis),
        rebound=rebound_texts(before.declaration, declared.declaration),
    )


def is_same_but_for_graphs(before: str, after: str) -> bool:
    """Answer whether two reactors, by the digests of all but their graphs, need only other graphs to be the same."""
    return bool(before) and before == after
