"""Values that come out of a journal are plain JSON; what the author's functions get is of the declared types."""

from __future__ import annotations

import typing
from collections import deque
from collections.abc import Callable, Mapping

import msgspec

from pondage.define.reactor.accumulator import AnyAccumulator
from pondage.define.reactor.boundary import InvalidBoundary, require_kept
from pondage.engine.live.calls import Call
from pondage.kernel.reaction.facts import Entry, Facts
from pondage.kernel.reaction.shape import Reduce
from pondage.kernel.reaction.state import State

Convert = Callable[[object], object]


def retype(state: State, accumulators: Mapping[str, AnyAccumulator]) -> None:
    """Give the values of a reactor that runs the types of another deploy: its functions know no others."""
    typed_facts(state.facts, accumulators, before=msgspec.to_builtins)
    for name, source in state.sources.items():
        check = _lenient(accumulators[name].check)
        source.parked = deque(
            msgspec.structs.replace(push, value=check(msgspec.to_builtins(push.value))) for push in source.parked
        )


def typed_facts(facts: Facts, accumulators: Mapping[str, AnyAccumulator], *, before: Convert | None = None) -> Facts:
    """Give the values of recovered facts their types, in place. What does not fit its type any more stays as it is.

    `before` makes plain values of them first, where they are of other types.
    """
    converts = {name: _after(before, entry_converter(each)) for name, each in accumulators.items()}
    for name, source in facts.sources.items():
        accumulator = accumulators.get(name)
        if accumulator is None:
            continue
        item, value = _after(before, _lenient(accumulator.check)), converts[name]
        source.cur, source.good = _typed(source.cur, value), _typed(source.good, value)
        source.queue = [msgspec.structs.replace(entry, value=value(entry.value)) for entry in source.queue]
        source.buffer = [msgspec.structs.replace(each, value=item(each.value)) for each in source.buffer]
        source.window = [item(each) for each in source.window]
    for fire in [*facts.plan, *([] if facts.fire is None else [facts.fire])]:
        fire.inputs = _inputs(fire.inputs, converts)
    facts.dead = {
        name: msgspec.structs.replace(letter, inputs=_inputs(letter.inputs, converts))
        for name, letter in facts.dead.items()
    }
    facts.commands = [
        msgspec.structs.replace(each, arg={name: _converted(name, value, converts) for name, value in each.arg.items()})
        if each.name == "fire_with" and isinstance(each.arg, dict)
        else each
        for each in facts.commands
    ]
    return facts


def checked_reduces(accumulators: Mapping[str, AnyAccumulator], call: Call) -> dict[str, Reduce]:
    """Give the authors' functions for batches; one whose result no journal could keep raises InvalidBoundary."""
    return {name: _kept(each.hooks.flush, call) for name, each in accumulators.items() if each.hooks.flush is not None}


def _kept(reduce: Reduce, call: Call) -> Reduce:
    def reduced(items: list[object]) -> object:
        with call:
            value = reduce(items)
        require_kept(value)
        return value

    return reduced


def entry_converter(accumulator: AnyAccumulator) -> Convert:
    """Give what makes a plain value of a source what its author's functions get; what does not fit stays as it is."""
    kind, flush = accumulator.declaration.kind, accumulator.hooks.flush
    item = _lenient(accumulator.check)
    if kind == "state" or (kind == "batch" and flush is None):
        return lambda value: [item(each) for each in value] if isinstance(value, list) else value
    if kind == "batch" and flush is not None:
        returned = typing.get_type_hints(flush).get("return")
        return (lambda value: value) if returned is None else _lenient(lambda value: msgspec.convert(value, returned))
    return item


def _after(before: Convert | None, convert: Convert) -> Convert:
    return convert if before is None else lambda value: convert(before(value))


def _lenient(convert: Convert) -> Convert:
    def call(value: object) -> object:
        try:
            return convert(value)
        except (InvalidBoundary, msgspec.ValidationError):
            return value

    return call


def _typed(entry: Entry | None, convert: Convert) -> Entry | None:
    return None if entry is None else msgspec.structs.replace(entry, value=convert(entry.value))


def _converted(name: str, value: object, converts: Mapping[str, Convert]) -> object:
    return converts[name](value) if name in converts else value


def _inputs(inputs: dict[str, Entry], converts: Mapping[str, Convert]) -> dict[str, Entry]:
    return {
        name: msgspec.structs.replace(entry, value=_converted(name, entry.value, converts))
        for name, entry in inputs.items()
    }
