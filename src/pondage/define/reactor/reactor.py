"""Reactors as an author declares them: sources, criteria, strategy, graphs, and what happens to a fire that fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, overload

import msgspec

from pondage.define.reactor.accumulator import AnyAccumulator
from pondage.define.reactor.boundary import BoundaryType, check_patterns
from pondage.define.reactor.graph import GraphFailure, GraphRunner, function_graph
from pondage.define.reactor.reaction import (
    FailureDeclaration,
    JobDeclaration,
    PublicationDeclaration,
    ReactorDeclaration,
    problems_of,
)
from pondage.define.values.duration import parsed_duration
from pondage.define.values.names import checked_name, parsed_version
from pondage.define.values.place import place_of_caller, place_of_function
from pondage.errors import DefinitionError

F = TypeVar("F", bound=Callable[..., object])


class OnFailure:
    """What happens to a fire that failed: drop it, keep it as a dead letter, retry it, or halt."""

    def __init__(self, declaration: FailureDeclaration) -> None:
        self.declaration = declaration

    @classmethod
    def drop(cls) -> OnFailure:
        """Go on without it (the default of Latest)."""
        return cls(FailureDeclaration(policy="drop"))

    @classmethod
    def dead_letter(cls) -> OnFailure:
        """Keep its inputs as a dead letter and go on (the default of Sequential)."""
        return cls(FailureDeclaration(policy="dead_letter"))

    @classmethod
    def halt(cls) -> OnFailure:
        """Stop firing until somebody resumes."""
        return cls(FailureDeclaration(policy="halt"))

    @classmethod
    def retry(cls, retries: int, *, then: str = "dead_letter", base: str = "1s", cap: str = "60s") -> OnFailure:
        """Try again after `base`, doubled each time up to `cap`; then `drop`, `dead_letter` or `halt`."""
        place = place_of_caller()
        wait, longest = parsed_duration(base, what="base", place=place), parsed_duration(cap, what="cap", place=place)
        return cls(FailureDeclaration(policy="retry", retries=retries, base=wait, cap=longest, then=then))


class Publish:
    """The Pond that a reactor publishes: each good fire, or with `every` what came in the meantime, together."""

    def __init__(
        self, pond: str, *, every: str | None = None, mode: str = "append", schema: type[object] | None = None
    ) -> None:
        place = place_of_caller()
        checked_name(pond, what="Pond", place=place)
        if mode not in ("append", "replace"):
            raise DefinitionError(
                f"mode {mode!r} of {pond} is not known", hint='mode="append" or "replace"', place=place, code="BAD_MODE"
            )
        interval = None if every is None else parsed_duration(every, what="every", place=place)
        if schema is not None:
            check_patterns(schema, f"the schema of {pond}", place)
        self.schema = None if schema is None else BoundaryType(schema)
        self.declaration = PublicationDeclaration(pond=pond, every=interval, mode=mode)


class Reactor:
    """A declared reactor: its sources, its graphs and what it publishes. Authors get it with `run` (`pondage.Reactor`).

    A declaration is checked when it is made; a wrong one raises an error that names everything that is wrong.
    """

    def __init__(
        self,
        name: str,
        *,
        sources: Sequence[AnyAccumulator],
        version: str = "1.0.0",
        criteria: str = "any",
        strategy: str = "latest",
        on_failure: OnFailure | None = None,
        durable: bool | str = "process",
        publish: Publish | None = None,
        window: int = 64,
        gate: str = "none",
        timeout: str | None = None,
        on_source_failed: str = "fail",
        warming_timeout: str | None = None,
        crash_attempts: int = 3,
        description: str = "",
    ) -> None:
        self.place = place_of_caller()
        self.sources = tuple(sources)
        _require_sources(name, self.sources, self.place)
        self.publish = publish
        self.graphs: dict[str, GraphRunner] = {}
        self._declared = ReactorDeclaration(
            name=name,
            accumulators=tuple(source.declaration for source in self.sources),
            version=version,
            criteria=criteria,
            strategy=strategy,
            on_failure=None if on_failure is None else on_failure.declaration,
            durable=durable,
            window=window,
            gate=gate,
            publish=None if publish is None else publish.declaration,
            timeout=_duration(timeout, "timeout", self.place),
            on_source_failed=on_source_failed,
            warming_timeout=_duration(warming_timeout, "warming_timeout", self.place),
            crash_attempts=crash_attempts,
            description=description,
        )
        _check(self._declared, self.place)

    @property
    def name(self) -> str:
        """Answer the reactor's name."""
        return self._declared.name

    @property
    def declaration(self) -> ReactorDeclaration:
        """Answer the reactor as a plain value, with the graphs that are bound so far."""
        dispatched = tuple(name for name, runner in self.graphs.items() if runner.is_dispatched)
        return msgspec.structs.replace(self._declared, graphs=tuple(self.graphs), dispatched=dispatched)

    @overload
    def graph(self, function: F, /) -> F: ...

    @overload
    def graph(self, /, *, name: str | None = None, inline: bool = False, spark: bool = False) -> Callable[[F], F]: ...

    def graph(
        self,
        function: Callable[..., object] | None = None,
        /,
        *,
        name: str | None = None,
        inline: bool = False,
        spark: bool = False,
    ) -> object:
        """Bind a function: a parameter is a source (None: no value yet), `fire` is the fire.

        `inline=True` promises that it does not block: it is called on the loop itself. Other plain functions run in a
        thread, async ones as a task; with `spark=True` it is dispatched to a worker, and a parameter `spark` gets the
        session. Several graphs on one reactor all run for each fire.
        """
        if spark:
            self._require_journal("a graph on Spark")

        def bind(function: Callable[..., object]) -> Callable[..., object]:
            graph = name or function.__name__
            sources = [source.name for source in self.sources]
            runner = function_graph(function, name=graph, sources=sources, inline=inline, spark=spark)
            self.bind(runner, place_of_function(function))
            return function

        return bind if function is None else bind(function)

    def bind(self, runner: GraphRunner, place: str) -> None:
        """Bind a graph; raises DefinitionError when one of that name is bound."""
        if runner.name in self.graphs:
            raise DefinitionError(
                f"reactor {self.name} has a graph {runner.name} already", place=place, code="ALREADY_LOADED"
            )
        self.graphs[runner.name] = runner

    def job(self, file: str, *, when: str | None = None) -> None:
        """Start a Job for each good fire, or for those of which the expression `when` is true.

        Names in `when` are the sources of the fire and `fire`, its number. The run's context has `reactor`, `fire` and
        `inputs`. A run is begun once for a fire, whatever crashes, in the order of fires.
        """
        self._require_journal("a Job")
        job = JobDeclaration(file=file, when=when)
        self._declared = msgspec.structs.replace(self._declared, jobs=(*self._declared.jobs, job))

    def _require_journal(self, what: str) -> None:
        if self._declared.durable is False:
            raise DefinitionError(
                f"reactor {self.name} is not durable, so {what} of a fire could be lost or done twice",
                hint='durable="process" or "power"',
                place=self.place,
                code="NEEDS_JOURNAL",
            )

    def __repr__(self) -> str:
        return f"Reactor({self.name!r})"


def _require_sources(reactor: str, given: Sequence[object], place: str) -> None:
    for each in given:
        if not isinstance(each, AnyAccumulator):
            raise DefinitionError(
                f"reactor {reactor!r}: {each!r} is no source",
                hint='sources=[Accumulator("prices", Price), …]',
                place=place,
                code="NO_ACCUMULATOR",
            )


def _check(declaration: ReactorDeclaration, place: str) -> None:
    problems = problems_of(declaration)
    if problems:
        raise GraphFailure(f"reactor {declaration.name!r}", problems, place)
    checked_name(declaration.name, what="reactor", place=place)
    parsed_version(declaration.version, place=place)


def _duration(text: str | None, what: str, place: str) -> int | None:
    return None if text is None else parsed_duration(text, what=what, place=place)
