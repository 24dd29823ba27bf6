"""The rules of the house as contracts for import-linter.

import-linter's own contracts refuse to name a module that does not exist. Ours pass over a room that is not built
yet and check it from the day it appears. Both are given in pyproject.toml; rooms are named without `pondage.`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

PACKAGE = "pondage"


def room_of(module: str) -> str:
    """Answer the room of one of our modules: the name after `pondage.`, empty for the package itself."""
    return module.split(".")[1] if "." in module else ""


def is_ours(module: str) -> bool:
    """Tell our modules from other packages."""
    return module == PACKAGE or module.startswith(f"{PACKAGE}.")


def is_in_a_room(graph: ImportGraph, module: str) -> bool:
    """Tell whether a module of ours lies in a room, and not directly in the package."""
    return bool(room_of(module)) and (module.count(".") > 1 or bool(graph.find_children(module)))


def modules_in(graph: ImportGraph, room: str) -> set[str]:
    """Answer a room's modules; none when the room does not exist."""
    name = f"{PACKAGE}.{room}"
    return {name, *graph.find_descendants(name)} if name in graph.modules else set()


def where(graph: ImportGraph, importer: str, imported: str) -> str:
    """Say where an import is written: `pondage.views.ponds.status:12 imports pyarrow`."""
    details = graph.get_import_details(importer=importer, imported=imported)
    line = details[0]["line_number"] if details else "?"
    return f"{importer}:{line} imports {imported}"


class HouseContract(Contract):
    """What our contracts share: how a broken one is shown."""

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print one line for each import that breaks the rule."""
        for violation in check.metadata["violations"]:
            output.print_error(f"- {violation}")

    def names(self, option: str) -> list[str]:
        """Answer the names given for an option in pyproject.toml; none when it is left out."""
        return list(getattr(self, option) or [])

    def is_set(self, option: str) -> bool:
        """Tell whether a switch is on in pyproject.toml."""
        return getattr(self, option) is True

    def judge(self, violations: list[str]) -> ContractCheck:
        """Answer the outcome of a check."""
        return ContractCheck(kept=not violations, metadata={"violations": sorted(set(violations))})


class RoomContract(HouseContract):
    """What a room may import (`only_packages` and `only_rooms`, beside the standard library) or never imports.

    A contract with a `purpose` is the one of its room: the table of rooms in ARCHITECTURE.md is written from these
    (`scripts/rooms.py`). Modules that lie directly in the package, such as its errors, belong to no room: every room
    may use them, and then they have to keep the room's rule too. With `through_others` a chain of imports breaks the
    rule as well.
    """

    type_name = "room"

    rooms = fields.ListField(subfield=fields.StringField())
    only_packages = fields.ListField(subfield=fields.StringField(), required=False)
    only_rooms = fields.ListField(subfield=fields.StringField(), required=False)
    never = fields.ListField(subfield=fields.StringField(), required=False)
    through_others = fields.BooleanField(required=False, default=False)
    purpose = fields.StringField(required=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002
        """Called by import-linter with the graph of all imports."""
        violations: list[str] = []
        for room in self.names("rooms"):
            if getattr(self, "only_rooms", None) is not None:
                violations += self._outside_of_allowed(graph, room)
            if getattr(self, "purpose", None) is not None:
                violations += self._never_imported(graph, room)
            for forbidden in self.names("never"):
                violations += self._forbidden(graph, room, forbidden)
        return self.judge(violations)

    def _outside_of_allowed(self, graph: ImportGraph, room: str) -> Iterator[str]:
        rooms = {room, *self.names("only_rooms")}
        packages = {*self.names("only_packages"), *sys.stdlib_module_names}
        for module in self._with_loose_modules(graph, room):
            for imported in graph.find_modules_directly_imported_by(module):
                if not is_ours(imported):
                    if imported.split(".")[0] not in packages:
                        yield where(graph, module, imported)
                elif is_in_a_room(graph, imported) and room_of(imported) not in rooms:
                    yield where(graph, module, imported)

    def _with_loose_modules(self, graph: ImportGraph, room: str) -> set[str]:
        """Answer the modules of a room, and those of no room that it reaches without passing another one."""
        waiting, seen = modules_in(graph, room), set[str]()
        while waiting:
            module = waiting.pop()
            seen.add(module)
            imported = graph.find_modules_directly_imported_by(module)
            waiting |= {each for each in imported if is_ours(each) and not is_in_a_room(graph, each)} - seen
        return seen

    def _never_imported(self, graph: ImportGraph, room: str) -> Iterator[str]:
        """Say what a room may import and does not: the table of rooms shows how the house is, not how it was."""
        imported = {
            room_of(each) if is_ours(each) else each.split(".")[0]
            for module in self._with_loose_modules(graph, room)
            for each in graph.find_modules_directly_imported_by(module)
        }
        for name in (*self.names("only_rooms"), *self.names("only_packages")):
            if imported and name not in imported:
                yield f"{room} may import {name}, and does not: take it out of its contract"

    def _forbidden(self, graph: ImportGraph, room: str, forbidden: str) -> Iterator[str]:
        ours, theirs = modules_in(graph, room), modules_in(graph, forbidden)
        if not ours or not theirs:
            return
        if self.is_set("through_others"):
            chains = graph.find_shortest_chains(
                importer=f"{PACKAGE}.{room}", imported=f"{PACKAGE}.{forbidden}", as_packages=True
            )
            for chain in chains:
                yield ", which ".join(where(graph, importer, imported) for importer, imported in pairwise(chain))
            return
        for module in ours:
            for imported in graph.find_modules_directly_imported_by(module) & theirs:
                yield where(graph, module, imported)


class HomeContract(HouseContract):
    """Packages that only some rooms may import (`homes`); a home may also be one module of a room."""

    type_name = "home"

    packages = fields.ListField(subfield=fields.StringField())
    homes = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002
        """Called by import-linter with the graph of all imports."""
        at_home = set[str]().union(*(modules_in(graph, home) for home in self.names("homes")))
        violations = [
            where(graph, importer, package)
            for package in self.names("packages")
            if package in graph.modules
            for importer in graph.find_modules_that_directly_import(package)
            if importer not in at_home
        ]
        return self.judge(violations)


class AcyclicContract(HouseContract):
    """No two rooms, no two folders of a room and no two modules import each other, not in a longer circle either.

    The modules that lie directly in a room are a folder of their own, as are those that lie directly in the package.
    """

    type_name = "acyclic"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002
        """Called by import-linter with the graph of all imports."""
        imports = [
            (importer, imported)
            for importer in sorted(graph.modules)
            if is_ours(importer)
            for imported in sorted(graph.find_modules_directly_imported_by(importer))
            if is_ours(imported)
        ]
        within = [(one, other) for one, other in imports if room_of(one) == room_of(other)]
        rooms = [(one, other) for one, other in imports if is_in_a_room(graph, one) and is_in_a_room(graph, other)]
        return self.judge(
            [
                *_circle(graph, {(one, other): (one, other) for one, other in imports}),
                *_circle(
                    graph, {(folder_of(graph, one), folder_of(graph, other)): (one, other) for one, other in within}
                ),
                *_circle(graph, {(room_of(one), room_of(other)): (one, other) for one, other in rooms}),
            ]
        )


def folder_of(graph: ImportGraph, module: str) -> str:
    """Answer the package that a module lies in; a package is its own."""
    return module if graph.find_children(module) else module.rpartition(".")[0]


def _circle(graph: ImportGraph, imports: Mapping[tuple[str, str], tuple[str, str]]) -> list[str]:
    """Say where the imports of one circle are written; nothing when there is none."""
    below: dict[str, set[str]] = {}
    for one, other in imports:
        if one != other:
            below.setdefault(one, set()).add(other)
    try:
        TopologicalSorter(below).prepare()
    except CycleError as error:
        circle = reversed(error.args[1])  # told with what is imported first
        return ["a circle: " + ", ".join(where(graph, *imports[step]) for step in pairwise(circle))]
    return []
