"""`pond`: a Pond of one function. Its parameters are its Sources, its name is the Pond's and its only Ripple's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, ParamSpec, TypeVar, overload

import msgspec

from pondage.define.pond.definition import Coherence, Reading, Retries, Scalar, SourceDefinition
from pondage.define.pond.expectation import Expectations, flattened
from pondage.define.pond.partition import Expected, Late, Nulls
from pondage.define.pond.pond import Pond
from pondage.define.pond.publication import Formats
from pondage.define.pond.ripple import RippleReference, Source
from pondage.define.pond.settings import Mode, Pacing, Schedules, Tides, Waves, Windows
from pondage.define.pond.signature import signature_of
from pondage.define.values.place import place_of_function
from pondage.errors import DefinitionError

P = ParamSpec("P")
R = TypeVar("R")


class PondFunction(Pond, Generic[P, R]):
    """A Pond of one function: what `@pond` makes. Calling it calls the function."""

    function: Callable[P, R]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the author's function, as a unit test does."""
        return self.function(*args, **kwargs)


@overload
def pond(function: Callable[P, R], /) -> PondFunction[P, R]: ...


@overload
def pond(
    *,
    version: str = "1.0.0",
    sources: Mapping[str, str] | Iterable[Source] = (),
    reads: Mapping[str, str | RippleReference] | None = None,
    changes: Iterable[str] = (),
    expect: Expectations = (),
    parameters: Mapping[str, Scalar] | None = None,
    description: str = "",
    owner: str = "",
    tags: Iterable[str] = (),
    window: Windows = (),
    wave: Waves = False,
    pacing: Pacing = "eager",
    tide: Tides = (),
    schedule: Schedules = (),
    retries: Retries | None = None,
    mode: Mode | None = None,
    keys: Iterable[str] = (),
    verify: str | None = None,
    by: Iterable[str] = (),
    null: Nulls = "refuse",
    within: str | None = None,
    late: Late = "refuse",
    expected: Expected | None = None,
    coherent: Coherence | None = None,
    keep: str | None = None,
    timeout: str | None = None,
    progress_lease: str | None = None,
    pool: str | None = None,
    labels: Iterable[str] = (),
    publish: Formats = (),
    reading: Reading | None = None,
    wait: str | None = None,
    always: bool = False,
) -> Callable[[Callable[P, R]], PondFunction[P, R]]: ...


def pond(
    function: Callable[P, R] | None = None,
    /,
    *,
    version: str = "1.0.0",
    sources: Mapping[str, str] | Iterable[Source] = (),
    reads: Mapping[str, str | RippleReference] | None = None,
    changes: Iterable[str] = (),
    expect: Expectations = (),
    parameters: Mapping[str, Scalar] | None = None,
    description: str = "",
    owner: str = "",
    tags: Iterable[str] = (),
    window: Windows = (),
    wave: Waves = False,
    pacing: Pacing = "eager",
    tide: Tides = (),
    schedule: Schedules = (),
    retries: Retries | None = None,
    mode: Mode | None = None,
    keys: Iterable[str] = (),
    verify: str | None = None,
    by: Iterable[str] = (),
    null: Nulls = "refuse",
    within: str | None = None,
    late: Late = "refuse",
    expected: Expected | None = None,
    coherent: Coherence | None = None,
    keep: str | None = None,
    timeout: str | None = None,
    progress_lease: str | None = None,
    pool: str | None = None,
    labels: Iterable[str] = (),
    publish: Formats = (),
    reading: Reading | None = None,
    wait: str | None = None,
    always: bool = False,
) -> PondFunction[P, R] | Callable[[Callable[P, R]], PondFunction[P, R]]:
    """Make a Pond of a function: its parameters are its Sources, its name is the Pond's and its only Ripple's.

    `orders: DataFrame` is the Ripple orders of the Pond orders; `fx: DataFrame | None = None` is an optional Source;
    `reads={"daily": "sales.daily"}` reads another Ripple; `sources={"fx": ">=1.2"}` gives minimum versions, or a list
    of `Source` for more. `changes=["orders"]` are Sources that are followed with `run.changes(…)` and have no
    parameter. `spark` and `run` are injected. Raises `DefinitionError`.
    """

    def declared(function: Callable[P, R]) -> PondFunction[P, R]:
        made: PondFunction[P, R] = PondFunction(
            function.__name__, version, description=description or inspect.cleandoc(function.__doc__ or ""),
            owner=owner, tags=tags, window=window, wave=wave, pacing=pacing, tide=tide, schedule=schedule,
            retries=retries, mode=mode, keys=keys, verify=verify, by=by, null=null,
            within=within, late=late, expected=expected,
            coherent=coherent, keep=keep, timeout=timeout, progress_lease=progress_lease, pool=pool, labels=labels,
            publish=publish, reading=reading, wait=wait,
        )  # fmt: skip
        made.function = function
        made.place = place_of_function(function)
        made.__doc__ = function.__doc__
        followed = (changes,) if isinstance(changes, str) else tuple(changes)
        rules = flattened(expect, place=made.place)
        looked_up = tuple(each.definition.refers for each in rules if each.definition.refers)
        _add_sources(made, function, _given_sources(sources, made.place), reads or {}, followed, looked_up)
        made.ripple(reads=dict(reads or {}), changes=followed, expect=rules, parameters=parameters, always=always)(
            function
        )
        return made

    return declared if function is None else declared(function)


def _given_sources(sources: Mapping[str, str] | Iterable[Source], place: str) -> dict[str, Source]:
    if isinstance(sources, Mapping):
        return {name: Source(name, minimum) for name, minimum in sources.items()}
    given = list(sources)
    if not all(isinstance(each, Source) for each in given):
        raise DefinitionError(
            f"sources= takes a mapping or a list of Source, not {given!r}",
            hint='write sources={"fx": ">=1.2"}',
            place=place,
            code="BAD_SOURCE",
        )
    return {each.name: each for each in given}


def _add_sources(
    made: Pond,
    function: Callable[..., object],
    given: dict[str, Source],
    reads: Mapping[str, str | RippleReference],
    followed: tuple[str, ...],
    looked_up: tuple[str, ...],
) -> None:
    _add_named(made, given, followed)
    for parameter in signature_of(function).tables:
        target = reads.get(parameter.name, parameter.name)
        name = target.pond if isinstance(target, RippleReference) else target.partition(".")[0]
        if name in made.sources:
            continue
        declared = given.pop(name, None) or Source(name)
        if parameter.optional:
            declared.definition = _optional(declared)
        declared.place = made.place
        made.add_source(declared)
    _add_named(made, given, looked_up)
    if given:
        raise DefinitionError(
            f"sources= of {made.name} names {', '.join(sorted(given))}, which no parameter reads",
            hint="a parameter is a Source: add it to the function, or drop it here", place=made.place,
            code="UNKNOWN_INPUT",
        )  # fmt: skip


def _add_named(made: Pond, given: dict[str, Source], tables: tuple[str, ...]) -> None:
    for name in dict.fromkeys(table.partition(".")[0] for table in tables):
        if name not in made.sources:
            source = given.pop(name) if name in given else Source(name)
            source.place = made.place
            made.add_source(source)


def _optional(source: Source) -> SourceDefinition:
    return msgspec.structs.replace(source.definition, required=False)
