"""Graphs as an author declares them: one function of a reactor's sources, or several with a topology between them."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import msgspec

from pondage.define.reactor.reaction import Problem
from pondage.define.reactor.topology import Given, Walk, read_topology, topology_problems
from pondage.define.values.names import checked_name
from pondage.define.values.place import place_of_caller, place_of_function
from pondage.errors import DefinitionError

if TYPE_CHECKING:
    from pondage.define.reactor.reactor import Reactor


_WORDS = {
    "ALL_OPTIONAL": 'with criteria="all" at least one source must not be optional',
    "BAD_CAPACITY": "the capacity of source {} must be at least 1",
    "CYCLE": "node {} comes after itself",
    "DUPLICATE_ACCUMULATOR": "two sources are called {}",
    "GATE_WITHOUT_POND": 'gate="demand" needs a Pond that somebody can want: publish=Publish(…)',
    "MISSING_FUNCTION": "node {} has no function of its name",
    "NAME_EMPTY": "it has no name",
    "NO_ACCUMULATORS": "it has no sources: sources=[Accumulator(…)]",
    "NO_FLUSH_RULE": "batch {} is never flushed: give it size=, every= or flush_on_fire=True",
    "NO_INTERVAL": "source {} is polled, but how often? every=",
    "TRIGGERLESS_INPUT": "input {} is of no reactor: Graph(…, on=reactor)",
    "UNKNOWN_CRITERIA": 'criteria are "any" or "all", not {!r}',
    "UNKNOWN_DURABILITY": 'durable is False, "process" or "power", not {!r}',
    "UNKNOWN_FAILURE_POLICY": 'a failed fire ends in "drop", "dead_letter" or "halt", also after retries, not in {!r}',
    "UNKNOWN_GATE": 'gate is "none" or "demand", not {!r}',
    "UNKNOWN_INPUT": "input {} is no source of the reactor",
    "UNKNOWN_KIND": "source {} is of a kind that does not exist",
    "UNKNOWN_NODE": "there is no such node: {}",
    "UNKNOWN_POLICY": 'the policy of source {} must be "block", "reject" or "drop_oldest"',
    "UNKNOWN_SOURCE_FAILURE": 'on_source_failed is "fail" or "degrade", not {!r}',
    "UNKNOWN_STRATEGY": 'the strategy is "latest" or "sequential", not {!r}',
    "UNUSED_FUNCTION": "function {} is the function of no node",
}

Function = Callable[..., object]
FIRE = "fire"
"""The parameter that gets the Fire."""
SPARK = "spark"
"""The parameter that gets the Spark session, in a graph that runs on a worker."""


class Fire(msgspec.Struct, frozen=True, gc=False):
    """The fire that a graph runs for: its id is the same in every attempt, so it can be a key of idempotency."""

    id: int
    attempt: int
    reason: str
    unhealthy: list[str]


class GraphFailure(DefinitionError):
    """A graph or reactor is declared wrongly; `problems` names everything at once."""

    code = "GRAPH"

    def __init__(self, what: str, problems: Sequence[Problem], place: str) -> None:
        said = "; ".join(map(problem_text, problems))
        super().__init__(f"{what}: {said}", place=place, code=problems[0].code)
        self.problems = list(problems)


class GraphRunner(msgspec.Struct, frozen=True, kw_only=True):
    """A graph that can be called. `call` gives the result, or an awaitable of it when `is_async`."""

    name: str
    call: Callable[[Mapping[str, object], Fire], object]
    is_async: bool = False
    is_inline: bool = False
    is_dispatched: bool = False
    """It runs on Spark, on a worker."""
    functions: tuple[Function, ...] = ()
    """The author's functions: what its code digest is made of."""


def function_graph(
    function: Function, *, name: str, sources: Sequence[str], inline: bool, spark: bool = False
) -> GraphRunner:
    """Give the graph of one function whose parameters are sources (and `fire`; on a worker also `spark`)."""
    place = place_of_function(function)
    is_async = inspect.iscoroutinefunction(function)
    if inline and is_async:
        raise DefinitionError(
            f"graph {name} is async and inline",
            hint="an inline graph is called on the loop and must not wait: leave inline=True out",
            place=place,
            code="INLINE_ASYNC",
        )
    parameters = list(inspect.signature(function).parameters)
    if spark and (inline or is_async):
        raise DefinitionError(
            f"graph {name} runs on a worker: it is neither inline nor async", place=place, code="SPARK_INLINE"
        )
    known = {*sources, FIRE, *([SPARK] if spark else [])}
    unknown = [each for each in parameters if each not in known]
    if unknown:
        raise GraphFailure(f"graph {name}", [Problem("UNKNOWN_INPUT", f"{name}.{each}") for each in unknown], place)
    return GraphRunner(
        name=name,
        call=_caller(function, parameters),
        is_async=is_async,
        is_inline=inline,
        is_dispatched=spark,
        functions=(function,),
    )


def _caller(function: Function, parameters: list[str]) -> Callable[[Mapping[str, object], Fire], object]:
    taken = [each for each in parameters if each != FIRE]
    if FIRE in parameters:
        return lambda inputs, fire: function(**{each: inputs.get(each) for each in taken}, fire=fire)
    if len(taken) == 1:
        only = taken[0]
        return lambda inputs, _: function(**{only: inputs.get(only)})
    return lambda inputs, _: function(**{each: inputs.get(each) for each in taken})


class Graph:
    """Several functions with a topology between them, on one reactor: `Graph("risk", on=quote, topology={...}, ...)`.

    The topology is `{node: {"inputs": [source], "next": node or [node], "routes": {variant: node}}}`, with one function
    for each node, named like it. A node gets its inputs, then the values of the nodes before it (None where that branch
    was not taken). A node with `routes` returns `Route(variant, value)`. The result holds the values of the leaves.
    """

    def __init__(
        self,
        name: str,
        *,
        on: Reactor | None,
        topology: Given,
        functions: Sequence[Function] | Mapping[str, Function],
        inline: bool = False,
    ) -> None:
        self.place = place_of_caller()
        self.name = checked_name(name, what="graph", place=self.place)
        self.topology = read_topology(topology)
        self.functions = _named(functions)
        sources = None if on is None else [source.name for source in on.sources]
        problems = topology_problems(self.topology, list(self.functions), sources)
        if problems:
            raise GraphFailure(f"graph {name}", problems, self.place)
        self._takes_fire = {node for node, each in self.functions.items() if FIRE in inspect.signature(each).parameters}
        is_async = any(inspect.iscoroutinefunction(each) for each in self.functions.values())
        call = self._call_async if is_async else self._call
        self.runner = GraphRunner(
            name=name,
            call=call,
            is_async=is_async,
            is_inline=inline and not is_async,
            functions=tuple(self.functions.values()),
        )
        if on is not None:
            on.bind(self.runner, self.place)

    def run(self, **inputs: object) -> dict[str, object]:
        """Run the graph of plain functions once, as a unit test does."""
        return self._call(inputs, Fire(0, 1, "test", []))

    def _call(self, inputs: Mapping[str, object], fire: Fire) -> dict[str, object]:
        walk = Walk(self.topology, inputs)
        for node, arguments in walk.calls():
            walk.settle(node, self._call_node(node, arguments, fire))
        return walk.result()

    async def _call_async(self, inputs: Mapping[str, object], fire: Fire) -> dict[str, object]:
        walk = Walk(self.topology, inputs)
        for node, arguments in walk.calls():
            result = self._call_node(node, arguments, fire)
            if inspect.isawaitable(result):
                result = await cast(Awaitable[object], result)
            walk.settle(node, result)
        return walk.result()

    def _call_node(self, node: str, arguments: list[object], fire: Fire) -> object:
        if node in self._takes_fire:
            return self.functions[node](*arguments, fire=fire)
        return self.functions[node](*arguments)


def _named(functions: Sequence[Function] | Mapping[str, Function]) -> dict[str, Function]:
    if isinstance(functions, Mapping):
        return dict(functions)
    return {each.__name__: each for each in functions}


def problem_text(problem: Problem) -> str:
    """Answer a problem in words, with its code behind them; of an unknown code what is known."""
    words = _WORDS.get(problem.code)
    if words is None:
        return f"{problem.code} {problem.about}".strip()
    return f"{words.format(problem.about)} [{problem.code}]"
