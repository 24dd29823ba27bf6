"""Which reactors, graphs and accumulators are loaded, by environment: what a deploy may change and what it may not."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from pondage.define.reactor.reaction import ReactorDeclaration
from pondage.errors import PondageError

DELETED = ("boundaries", "checkpoints", "fires", "dead_letters", "state")
"""What an unload deletes."""


class RegistryError(PondageError):
    """A reactor or graph cannot be loaded, bound, found or unloaded; `details` names what stands in the way."""

    code = "REGISTRY"

    def __init__(self, code: str, message: str, **details: object) -> None:
        super().__init__(message, code=code)
        self.details = details


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """What loading a reactor came to: ``loaded``, ``reused`` or ``replaced``; its state is kept by source name."""

    outcome: str
    reactor: str
    version: str
    kept: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class ReactorRegistry:
    """The reactors of all environments. The key is (environment, name); names of other environments do not exist."""

    def __init__(self) -> None:
        self._reactors: dict[tuple[str, str], ReactorDeclaration] = {}
        self._graphs: dict[tuple[str, str], str] = {}

    def load(self, environment: str, declaration: ReactorDeclaration) -> Loaded:
        """Load a reactor. The same version must have the same contract; another version may have another one."""
        name, version = declaration.name, declaration.version
        self._check_owners(environment, declaration)
        present = self._reactors.get((environment, name))
        if present is None:
            self._reactors[environment, name] = declaration
            return Loaded(outcome="loaded", reactor=name, version=version)
        if present.version == version:
            fields = _different(present, declaration)
            if fields:
                raise RegistryError(
                    "CONTRACT_MISMATCH",
                    f"reactor {name} {version} is loaded with other {', '.join(fields)}: give it another version",
                    fields=fields,
                )
            return Loaded(outcome="reused", reactor=name, version=version)
        _check_kinds(present, declaration)
        self._reactors[environment, name] = declaration
        old, new = _names(present), _names(declaration)
        return Loaded(
            outcome="replaced",
            reactor=name,
            version=version,
            kept=tuple(each for each in old if each in new),
            added=tuple(each for each in new if each not in old),
            removed=tuple(each for each in old if each not in new),
        )

    def unload(self, environment: str, name: str) -> tuple[str, ...]:
        """Unload a reactor that no graph subscribes to, and give what is deleted with it."""
        self.find(environment, name)
        graphs = [graph for (place, graph), reactor in self._graphs.items() if (place, reactor) == (environment, name)]
        if graphs:
            raise RegistryError("HAS_SUBSCRIBERS", f"graphs subscribe to {name}: {', '.join(graphs)}", graphs=graphs)
        del self._reactors[environment, name]
        return DELETED

    def find(self, environment: str | None, name: str, allowed: Iterable[str] | None = None) -> tuple[str, str]:
        """Give the key of a reactor. Without an environment it must be the only one among those allowed."""
        if environment is not None:
            if (environment, name) not in self._reactors:
                raise RegistryError("NOT_LOADED", f"no reactor {name} is loaded", reactor=name)
            return environment, name
        may_see = None if allowed is None else set(allowed)
        found = [place for place, other in self._reactors if other == name and (may_see is None or place in may_see)]
        if not found:
            raise RegistryError("NOT_LOADED", f"no reactor {name} is loaded", reactor=name)
        if len(found) > 1:
            raise RegistryError("AMBIGUOUS", f"{name} is in {', '.join(found)}: name one", environments=found)
        return found[0], name

    def bind(self, environment: str, graph: str, reactor: str) -> None:
        """Bind a graph to one reactor, once."""
        self.find(environment, reactor)
        if (environment, graph) in self._graphs:
            raise RegistryError("ALREADY_LOADED", f"graph {graph} is bound already", graph=graph)
        self._graphs[environment, graph] = reactor

    def unbind(self, environment: str, graph: str) -> None:
        """Let a graph go."""
        if self._graphs.pop((environment, graph), None) is None:
            raise RegistryError("NOT_LOADED", f"no graph {graph} is bound", graph=graph)

    def _check_owners(self, environment: str, declaration: ReactorDeclaration) -> None:
        for (place, owner), other in self._reactors.items():
            if place != environment or owner == declaration.name:
                continue
            for name in _names(other):
                if name in _names(declaration):
                    raise RegistryError(
                        "ACCUMULATOR_OWNED",
                        f"accumulator {name} belongs to reactor {owner}",
                        accumulator=name,
                        owner=owner,
                    )


def _names(declaration: ReactorDeclaration) -> list[str]:
    return [accumulator.name for accumulator in declaration.accumulators]


def _different(one: ReactorDeclaration, other: ReactorDeclaration) -> list[str]:
    fields = [] if set(_names(one)) == set(_names(other)) else ["accumulators"]
    return fields + [field for field in ("criteria", "strategy") if getattr(one, field) != getattr(other, field)]


def _check_kinds(old: ReactorDeclaration, new: ReactorDeclaration) -> None:
    kinds = {accumulator.name: accumulator.kind for accumulator in old.accumulators}
    for accumulator in new.accumulators:
        if kinds.get(accumulator.name, accumulator.kind) != accumulator.kind:
            raise RegistryError(
                "KIND_CHANGED",
                f"accumulator {accumulator.name} was a {kinds[accumulator.name]}: give the new one another name",
                accumulator=accumulator.name,
            )
