"""Graphs of functions: nodes, what leads where, and running them. A route picks one branch; the others are skipped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from pondage.define.reactor.reaction import Problem


class Route(msgspec.Struct, frozen=True):
    """What a node with `routes` returns: which branch goes on, and with which value."""

    variant: str
    value: object = None


class RouteMissing(LookupError):
    """A node chose a variant that its topology does not have, or no variant at all: the fire fails."""


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node: the sources it takes, and where its value goes."""

    inputs: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    routes: Mapping[str, str] = {}

    @property
    def targets(self) -> tuple[str, ...]:
        """Give every node that this one can lead to."""
        return (*self.next, *self.routes.values())


Topology: TypeAlias = dict[str, Node]
Given: TypeAlias = Mapping[str, Mapping[str, object]]


def read_topology(given: Given) -> Topology:
    """Give a topology as an author writes it: `{node: {inputs: [...], next: node | [node], routes: {...}}}`."""
    topology = {}
    for name, parts in given.items():
        following = parts.get("next", ())
        topology[name] = Node(
            inputs=_names(parts.get("inputs", ())),
            next=(following,) if isinstance(following, str) else _names(following),
            routes=_routes(parts.get("routes", {})),
        )
    return topology


def topology_problems(topology: Topology, functions: Sequence[str], sources: Sequence[str] | None) -> list[Problem]:
    """Give everything that is wrong. `sources` are those of the reactor, None when the graph has no reactor."""
    found = [Problem("UNUSED_FUNCTION", name) for name in functions if name not in topology]
    found += [Problem("MISSING_FUNCTION", name) for name in topology if name not in functions]
    for name, node in topology.items():
        for source in node.inputs:
            if sources is None:
                found.append(Problem("TRIGGERLESS_INPUT", f"{name}.{source}"))
            elif source not in sources:
                found.append(Problem("UNKNOWN_INPUT", f"{name}.{source}"))
        found += [Problem("UNKNOWN_NODE", f"{name}->{target}") for target in node.targets if target not in topology]
    if not any(problem.code == "UNKNOWN_NODE" for problem in found):
        order = _ordered(topology)
        circling = [name for name in topology if name not in order]
        found += [Problem("CYCLE", name) for name in circling[:1]]
    return found


class Walk:
    """One pass over a graph. `calls` says which nodes run with which arguments; `settle` takes in what one gave.

    It does not call anything itself, so that plain and async functions are run by the same rules.
    """

    def __init__(self, topology: Topology, inputs: Mapping[str, object]) -> None:
        self._topology = topology
        self._inputs = inputs
        self._before: dict[str, list[str]] = {name: [] for name in topology}
        for name, node in topology.items():
            for target in dict.fromkeys(node.targets):
                self._before[target].append(name)
        self._values: dict[str, object] = {}
        self._leads: set[tuple[str, str]] = set()
        self.visited: list[str] = []

    def calls(self) -> Iterator[tuple[str, list[object]]]:
        """Give each node that runs, in an order in which all it needs has run or was skipped."""
        for name in _ordered(self._topology):
            before = self._before[name]
            if before and not any((other, name) in self._leads for other in before):
                continue
            arguments = [self._inputs.get(source) for source in self._topology[name].inputs]
            arguments += [self._values[other] if (other, name) in self._leads else None for other in before]
            yield name, arguments

    def settle(self, name: str, result: object) -> None:
        """Take in what a node gave; raises RouteMissing when it led nowhere that exists."""
        node = self._topology[name]
        self.visited.append(name)
        targets = list(node.next)
        if node.routes:
            if not isinstance(result, Route):
                raise RouteMissing(f"node {name} has routes and returned no Route but {type(result).__name__}")
            if result.variant not in node.routes:
                raise RouteMissing(f"node {name} has no route {result.variant!r}")
            targets.append(node.routes[result.variant])
            result = result.value
        self._values[name] = result
        self._leads.update((name, target) for target in targets)

    def result(self) -> dict[str, object]:
        """Give the values of the leaves that ran."""
        return {name: self._values[name] for name in self.visited if not self._topology[name].targets}


def _ordered(topology: Topology) -> list[str]:
    waiting = dict.fromkeys(topology, 0)
    for node in topology.values():
        for target in set(node.targets):
            if target in waiting:
                waiting[target] += 1
    order: list[str] = []
    ready = [name for name in topology if waiting[name] == 0]
    while ready:
        name = ready.pop(0)
        order.append(name)
        for target in dict.fromkeys(topology[name].targets):
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    return order


def _names(given: object) -> tuple[str, ...]:
    return tuple(str(each) for each in given) if isinstance(given, (list, tuple, set)) else ()


def _routes(given: object) -> dict[str, str]:
    return {str(variant): str(node) for variant, node in given.items()} if isinstance(given, Mapping) else {}
