"""Reactors of imported modules as what a deploy carries, with a digest of everything that is the author's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType

import msgspec

from pondage.define.accumulator import AnyAccumulator
from pondage.define.reaction import ReactorDefinition
from pondage.define.reactor import Reactor
from pondage.read.digest import Digests, digest_of

_SIMPLE = (str, bytes, int, float, bool, type(None))


def found_reactors(modules: list[ModuleType]) -> dict[str, Reactor]:
    """Answer each reactor once, under the module that declares it where that can be told."""
    entries: dict[int, tuple[bool, str, Reactor]] = {}
    for module in modules:
        for attribute, value in vars(module).items():
            if isinstance(value, Reactor):
                is_home = value.place.rpartition(":")[0] == module.__file__
                known = entries.get(id(value))
                if known is None or (is_home and not known[0]):
                    entries[id(value)] = (is_home, f"{module.__name__}:{attribute}", value)
    return {entry: reactor for _, entry, reactor in entries.values()}


def reactor_definition(reactor: Reactor, entry: str, digests: Digests, place: str) -> ReactorDefinition:
    """Answer what a deploy carries of a reactor."""
    parts = [
        msgspec.json.encode(reactor.declaration).decode(),
        *(digests.of_function(function) for function in _functions(reactor)),
        *(_configured(source) for source in reactor.sources),
    ]
    return ReactorDefinition(declaration=reactor.declaration, entry=entry, digest=digest_of(*parts), place=place)


def _functions(reactor: Reactor) -> Iterator[Callable[..., object]]:
    for runner in reactor.graphs.values():
        yield from runner.functions
    for source in reactor.sources:
        hooks = source.hooks
        yield from (each for each in (hooks.init, hooks.process, hooks.poll, hooks.flush) if each is not None)


def _configured(accumulator: AnyAccumulator) -> str:
    """Answer what a source reads, as far as plain values say it."""
    source = accumulator.source
    if source is None:
        return ""
    plain = {name: value for name, value in sorted(vars(source).items()) if isinstance(value, _SIMPLE)}
    return f"{type(source).__qualname__} {plain!r}"
