"""`Pond`: a Pond written out, which gets its Ripples one by one. Declaring checks, and runs nothing.

A Pond holds functions; its `definition()` is the plain value that is deployed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar, overload

import msgspec

from pondage.define.pond.declarations import tell_declared
from pondage.define.pond.definition import (
    Coherence,
    PondDefinition,
    ReadDefinition,
    Reading,
    ReadingDefinition,
    Retries,
    RippleDefinition,
    Scalar,
)
from pondage.define.pond.expectation import Expectations, flattened
from pondage.define.pond.partition import Expected, Late, Nulls
from pondage.define.pond.probes import Probe, probe_refused, probes_by_ripple
from pondage.define.pond.publication import Formats, refuse_unknown_ripples
from pondage.define.pond.resolve import checked_reads, refuse_cycle, resolved_reads
from pondage.define.pond.ripple import (
    Ripple,
    RippleReference,
    Source,
    SqlInputs,
    checked_parameters,
    refuse_for_job,
    source_text,
)
from pondage.define.pond.settings import Mode, Pacing, PondSettings, Schedules, Tides, Waves, Windows, checked_settings
from pondage.define.pond.signature import signature_of
from pondage.define.values.duration import parsed_seconds
from pondage.define.values.names import checked_name
from pondage.define.values.place import place_of_caller, place_of_function
from pondage.errors import DefinitionError

F = TypeVar("F", bound=Callable[..., object])
Reads = Mapping[str, "RippleReference | str | Callable[..., object]"]


class Pond:
    """A Pond with the Ripples it is given: `sales = Pond("sales", version="2.1.0")`.

    Without a Source it is an Inlet. What can be wrong about a declaration raises `DefinitionError` with the author's
    file and line; what can only be known when all Ripples are there (names of later siblings, cycles, SQL) is checked
    by `definition()`, which `pondage plan` and `deploy` call before anything else.
    """

    def __init__(
        self,
        name: str,
        version: str = "1.0.0",
        *,
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
        fuse: bool = False,
        keep: str | None = None,
        timeout: str | None = None,
        progress_lease: str | None = None,
        pool: str | None = None,
        labels: Iterable[str] = (),
        publish: Formats = (),
        reading: Reading | None = None,
        wait: str | None = None,
    ) -> None:
        self.place = place_of_caller()
        self.name = checked_name(name, what="Pond", place=self.place)
        self.settings: PondSettings = checked_settings(
            version=version, description=description, owner=owner, tags=tags, window=window, wave=wave, pacing=pacing,
            tide=tide, schedule=schedule, retries=retries, mode=mode, keys=keys, verify=verify, by=by, null=null,
            within=within, late=late, expected=expected, coherent=coherent, fuse=fuse, keep=keep,
            timeout=timeout, progress_lease=progress_lease, pool=pool, labels=labels, publish=publish,
            reading=reading, wait=wait, place=self.place,
        )  # fmt: skip
        self.ripples: dict[str, Ripple] = {}
        self.sources: dict[str, Source] = {}
        self.probes: dict[str, Probe] = {}
        tell_declared(self)

    @property
    def version(self) -> str:
        """Answer the contract's version, `major.minor.patch`."""
        return self.settings.version

    def __repr__(self) -> str:
        return f"Pond({self.name!r}, version={self.version!r})"

    def source(
        self, name: str, minimum: str | None = None, *, required: bool = True, columns: Sequence[str] | None = None
    ) -> Source:
        """Declare a Pond that this one reads and answer it; `source["ripple"]` is what `reads=` takes."""
        return self.add_source(Source(name, minimum, required=required, columns=columns))

    @overload
    def ripple(self, function: F, /) -> F: ...

    @overload
    def ripple(
        self,
        /,
        *,
        reads: Reads | None = None,
        changes: Iterable[str] = (),
        expect: Expectations = (),
        parameters: Mapping[str, Scalar] | None = None,
        timeout: str | None = None,
        progress_lease: str | None = None,
        always: bool = False,
        materialize: bool | None = None,
        deterministic: bool = True,
        description: str = "",
    ) -> Callable[[F], F]: ...

    def ripple(
        self,
        function: F | None = None,
        /,
        *,
        reads: Reads | None = None,
        changes: Iterable[str] = (),
        expect: Expectations = (),
        parameters: Mapping[str, Scalar] | None = None,
        timeout: str | None = None,
        progress_lease: str | None = None,
        always: bool = False,
        materialize: bool | None = None,
        deterministic: bool = True,
        description: str = "",
    ) -> F | Callable[[F], F]:
        """Declare a Ripple: `@sales.ripple` or `@sales.ripple(reads=…, expect=[…])`. The function stays as it is.

        A parameter is a Ripple of this Pond, or a Source's Ripple of the same name, or what `reads` says it is: a
        `source["ripple"]`, a function that is a Ripple here, or a text `"pond.ripple"`. `always=True` runs it even when
        its code and inputs are unchanged. `changes=["orders.raw"]` are tables that it follows with `run.changes(…)` and
        has no parameter for. `timeout` ends it, and `progress_lease` ends it when no Spark task finished for so long;
        without them the Pond's count. `materialize=False` writes no table for it: its plan becomes part of the one
        Ripple that reads it; `materialize=True` always writes one; left open, it is written unless the Pond says
        `fuse=True` and a plan finds it safe. `deterministic=False` says that running it twice on the same inputs may
        give other rows.
        """

        def declared(function: F) -> F:
            place = place_of_function(function)
            self._add_ripple(
                Ripple(
                    name=function.__name__,
                    place=place,
                    function=function,
                    signature=signature_of(function),
                    reads=checked_reads(function, reads or {}, place),
                    changes=(changes,) if isinstance(changes, str) else tuple(changes),
                    expectations=flattened(expect, place=place),
                    parameters=checked_parameters(parameters or {}, place),
                    description=description or inspect.cleandoc(function.__doc__ or ""),
                    always=always,
                    materialize=materialize,
                    is_deterministic=deterministic,
                    timeout_s=parsed_seconds(timeout, "timeout", place),
                    progress_lease_s=parsed_seconds(progress_lease, "progress_lease", place),
                )
            )
            return function

        return declared if function is None else declared(function)

    def sql(
        self,
        name: str,
        path: str,
        *,
        reads: Mapping[str, RippleReference | str] | None = None,
        expect: Expectations = (),
        timeout: str | None = None,
        progress_lease: str | None = None,
        always: bool = False,
        materialize: bool | None = None,
        deterministic: bool = True,
        description: str = "",
    ) -> None:
        """Declare a Ripple whose body is one SELECT in a file; `path` is relative to the file that declares it.

        Table `x` is the Ripple x of this Pond or the Source's Ripple of the same name, `x.y` is Ripple y of Source x.
        """
        place = place_of_caller()
        self._add_ripple(
            Ripple(
                name=name,
                place=place,
                sql_path=path,
                reads=dict(reads or {}),
                expectations=flattened(expect, place=place),
                description=description,
                always=always,
                materialize=materialize,
                is_deterministic=deterministic,
                timeout_s=parsed_seconds(timeout, "timeout", place),
                progress_lease_s=parsed_seconds(progress_lease, "progress_lease", place),
            )
        )

    def job(
        self,
        name: str,
        path: str,
        *,
        reads: Mapping[str, RippleReference | str] | None = None,
        expect: Expectations = (),
        parameters: Mapping[str, Scalar] | None = None,
        timeout: str | None = None,
        always: bool = False,
        description: str = "",
    ) -> None:
        """Declare a Ripple whose body is a job in a file: output `main` is its table, `inputs` are what it reads.

        `path` is relative to the file that declares it, or to the project. An input `x` of the job is the Ripple x of
        this Pond or the Source's Ripple of the same name, or what `reads` says. `parameters` are part of its context.
        """
        place = place_of_caller()
        self._add_ripple(
            Ripple(
                name=name,
                place=place,
                job_path=path,
                reads=dict(reads or {}),
                expectations=refuse_for_job(self.settings.mode, flattened(expect, place=place), place),
                parameters=checked_parameters(parameters or {}, place),
                description=description,
                always=always,
                materialize=True,
                timeout_s=parsed_seconds(timeout, "timeout", place),
            )
        )

    @overload
    def probe(self, function: F, /) -> F: ...

    @overload
    def probe(self, /, *, ripple: str) -> Callable[[F], F]: ...

    def probe(self, function: F | None = None, /, *, ripple: str | None = None) -> F | Callable[[F], F]:
        """Declare the cheap question of an Inlet: it returns a value, and an equal value means that nothing changed.

        `@orders.probe` belongs to the Inlet's only root Ripple; with several, name one: `@shop.probe(ripple="raw")`.
        The function may ask for `spark` and `run`, and must return something that JSON can hold.
        """

        def declared(function: F) -> F:
            place = place_of_function(function)
            if self.sources:
                raise probe_refused(self.name, place)
            if signature_of(function).tables:
                raise DefinitionError(
                    f"the probe of Pond {self.name!r} asks for tables",
                    hint="a probe may ask for `spark` and `run` only",
                    place=place,
                    code="BAD_PROBE",
                )
            if (ripple or "") in self.probes:
                raise DefinitionError(
                    f"Pond {self.name!r} has two probes for one Ripple", hint="keep one", place=place, code="BAD_PROBE"
                )
            self.probes[ripple or ""] = function
            return function

        return declared if function is None else declared(function)

    def probe_of(self, ripple: str) -> Probe | None:
        """Answer the probe's function for a Ripple whose definition says `has_probe`. For the worker."""
        return self.probes.get(ripple, self.probes.get(""))

    def definition(
        self, entry: str, *, digests: Mapping[str, str] | None = None, sql: Mapping[str, SqlInputs] | None = None
    ) -> PondDefinition:
        """Answer the Pond as a plain value; raises `DefinitionError`.

        `entry` is `module:attribute` of this object, `digests` the code digest of each Ripple, and `sql` what a reader
        found in the files of the SQL Ripples.
        """
        if not self.ripples:
            raise DefinitionError(
                f"Pond {self.name!r} has no Ripple",
                hint=f"declare one with @{self.name}.ripple",
                place=self.place,
                code="NO_RIPPLES",
            )
        ripples = self._definitions(digests or {}, sql or {})
        refuse_unknown_ripples(self.settings.publish, self.ripples, self.place)
        refuse_cycle(self.name, ripples, {ripple.name: ripple.place for ripple in self.ripples.values()})
        with_probe = probes_by_ripple(self.name, self.probes, ripples, has_sources=bool(self.sources))
        settings = self.settings
        return PondDefinition(
            name=self.name,
            version=settings.version,
            entry=entry,
            ripples=tuple(
                msgspec.structs.replace(ripple, has_probe=True) if ripple.name in with_probe else ripple
                for ripple in ripples
            ),
            sources=tuple(source.definition for source in self.sources.values()),
            windows=settings.windows,
            retries=settings.retries,
            triggers=settings.triggers,
            mode=settings.mode,
            keys=settings.keys,
            verify=settings.verify if settings.mode == "auto" else None,
            partition=settings.partition,
            coherent=True if settings.coherent is None else settings.coherent,
            reading=ReadingDefinition(asks=settings.reading or "none", wait_us=settings.wait_us),
            fuse=settings.fuse,
            keep=settings.keep,
            pool=settings.pool,
            labels=settings.labels,
            publish=settings.publish,
            description=settings.description,
            owner=settings.owner,
            tags=settings.tags,
            place=self.place,
        )

    def _definitions(self, digests: Mapping[str, str], sql: Mapping[str, SqlInputs]) -> tuple[RippleDefinition, ...]:
        return tuple(self._ripple_definition(each, digests.get(each.name, ""), sql) for each in self.ripples.values())

    def _ripple_definition(self, ripple: Ripple, digest: str, sql: Mapping[str, SqlInputs]) -> RippleDefinition:
        inputs = sql.get(ripple.name)
        reads: tuple[ReadDefinition, ...] = ()
        if ripple.function is not None or inputs is not None:
            reads = resolved_reads(self.name, ripple, self.ripples, self.sources, inputs)
        return RippleDefinition(
            name=ripple.name,
            kind=ripple.kind,
            reads=reads,
            injects=ripple.signature.injects,
            expectations=tuple(each.definition for each in ripple.expectations),
            parameters=dict(ripple.parameters),
            description=ripple.description,
            digest=digest,
            source=source_text(ripple, inputs),
            sql=inputs.text if inputs is not None and ripple.kind == "sql" else None,
            job=inputs.text if inputs is not None and ripple.kind == "job" else None,
            always=ripple.always,
            materialize=ripple.materialize,
            is_deterministic=ripple.is_deterministic,
            timeout_s=_first(ripple.timeout_s, self.settings.timeout_s),
            progress_lease_s=_first(ripple.progress_lease_s, self.settings.progress_lease_s),
        )

    def add_source(self, source: Source) -> Source:
        """Add a Source that was made on its own, and answer it; raises `DefinitionError` as `source()` does."""
        if source.name == self.name:
            raise DefinitionError(
                f"Pond {self.name!r} names itself as a Source",
                hint="a Pond cannot wait for itself",
                place=source.place,
                code="CYCLE",
            )
        if source.name in self.sources:
            raise DefinitionError(
                f"Pond {self.name!r} has two Sources named {source.name!r}",
                hint="declare it once and read it often",
                place=source.place,
                code="DUPLICATE_SOURCE",
            )
        if self.settings.windows:
            raise DefinitionError(
                f"Pond {self.name!r} has a Window and the Source {source.name!r}",
                hint="a Window belongs to an Inlet: put it on the Pond where the data comes from",
                place=self.place,
                code="WINDOW_WITH_SOURCES",
            )
        if self.probes:
            raise probe_refused(self.name, source.place)
        self.sources[source.name] = source
        return source

    def _add_ripple(self, ripple: Ripple) -> None:
        checked_name(ripple.name, what="Ripple", place=ripple.place)
        other = self.ripples.get(ripple.name)
        if other is not None:
            raise DefinitionError(
                f"Pond {self.name!r} has two Ripples named {ripple.name!r}",
                hint=f"the other one is at {other.place}",
                place=ripple.place,
                code="DUPLICATE_RIPPLE",
            )
        self.ripples[ripple.name] = ripple


def _first(own: float | None, of_pond: float | None) -> float | None:
    return own if own is not None else of_pond
