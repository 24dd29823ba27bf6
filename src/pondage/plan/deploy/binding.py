"""Which major version of a Source a Pond reads, and whether the Source is what its Sink needs.

A minimum binds within its major. Without one a Pond binds, at its first deploy, to the newest major that there is, of
its own project first (1 when there is none), and stays on it: what it is bound to is part of what is deployed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from pondage.define.pond.definition import PondDefinition, ReadDefinition, RippleDefinition, SourceDefinition
from pondage.define.values.names import PondKey, parsed_version, pond_key
from pondage.define.values.suggestion import nearest
from pondage.plan.deploy.values import Message, Problem


def bound(
    pond: PondDefinition,
    there: Sequence[PondDefinition],
    former: PondDefinition | None = None,
    *,
    known: Collection[PondKey] = (),
) -> PondDefinition:
    """Answer the Pond with a major for every Source; one that has a major keeps it.

    `there` is what will be deployed, `former` the Pond as it is deployed now: a Source without a minimum stays bound as
    it is there, when that major is, or ever was, `known`. A major that never was is no binding.
    """
    before = {} if former is None else {source.pond: source.major for source in former.sources}
    return msgspec.structs.replace(
        pond, sources=tuple(_bound_source(source, there, before.get(source.pond), known) for source in pond.sources)
    )


def source_problems(pond: PondDefinition, world: Mapping[PondKey, PondDefinition]) -> list[Problem]:
    """Answer what is wrong with the Sources of a bound Pond: too old, or without a Ripple that is read."""
    problems: list[Problem] = []
    for source in pond.sources:
        key = pond_key(source.pond, source.major or 0)
        target = world.get(key)
        if target is None:
            continue
        if source.minimum is not None and parsed_version(target.version) < source.minimum:
            problems.append(
                Problem(
                    code="SOURCE_TOO_OLD",
                    message=f"Pond {pond.name} needs {source.pond} >={version_text(source.minimum)}, "
                    f"which would be {target.version}",
                    pond=pond_key(pond.name, pond.major),
                    place=pond.place or None,
                    hint=f"raise the version of {source.pond}, or lower the minimum in {pond.name}",
                )
            )
        problems += _missing_ripples(pond, source, target)
    return problems


def source_messages(pond: PondDefinition, world: Mapping[PondKey, PondDefinition]) -> list[Message]:
    """Answer which Sources of a bound Pond are not deployed: allowed, and worth saying."""
    return [
        Message(
            kind="not_deployed",
            text=f"{pond.name}: its {'' if source.required else 'optional '}Source {source.pond}@{source.major} is not "
            f"deployed; {'it waits until that is' if source.required else 'it reads nothing from it until that is'}"
            + _meant(source.pond, world),
            pond=pond_key(pond.name, pond.major),
        )
        for source in pond.sources
        if pond_key(source.pond, source.major or 0) not in world
    ]


def _meant(name: str, world: Mapping[PondKey, PondDefinition]) -> str:
    """Answer which Pond may have been meant by a name that is not there."""
    close = nearest(name, [each.name for each in world.values()], likeness=0.8)
    return f" (did you mean {close}?)" if close not in (None, name) else ""


def version_text(version: tuple[int, int, int]) -> str:
    """Answer a version as it is written."""
    return ".".join(map(str, version))


def _bound_source(
    source: SourceDefinition, there: Sequence[PondDefinition], before: int | None, known: Collection[PondKey]
) -> SourceDefinition:
    if source.major is not None:
        return source
    if source.minimum is not None:
        major = source.minimum[0]
    elif before is not None and pond_key(source.pond, before) in known:
        major = before
    else:
        major = max([pond.major for pond in there if pond.name == source.pond] or [1])
    return msgspec.structs.replace(source, major=major)


def _missing_ripples(pond: PondDefinition, source: SourceDefinition, target: PondDefinition) -> list[Problem]:
    known = {ripple.name for ripple in target.ripples}
    return [
        _missing_ripple(pond, ripple, read, target)
        for ripple in pond.ripples
        for read in ripple.reads
        if read.pond == source.pond and read.ripple not in known
    ]


def _missing_ripple(
    pond: PondDefinition, ripple: RippleDefinition, read: ReadDefinition, target: PondDefinition
) -> Problem:
    what = f"Ripple {pond.name}.{ripple.name} reads {read.pond}.{read.ripple}, but"
    into = target.fused_into(read.ripple)
    if into is not None:
        code, message = "FUSED_RIPPLE", f"{what} that is fused into {target.name}.{into}, so it has no table"
        hint = f"declare {target.name}.{read.ripple} with materialize=True and deploy it first"
    else:
        names = ", ".join(sorted(each.name for each in target.ripples))
        code, message = "NO_SUCH_RIPPLE", f"{what} {target.name} {target.version} has no Ripple {read.ripple!r}"
        hint = f'its Ripples are {names}; say which with reads={{"{read.parameter}": "{read.pond}.…"}}'
    return Problem(
        code=code, message=message, pond=pond_key(pond.name, pond.major), place=pond.place or None, hint=hint
    )
