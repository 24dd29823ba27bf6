"""From names to inputs: which Ripple each parameter or table means, and that the Ripples of a Pond have no cycle."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence

import msgspec

from pondage.define.pond.definition import ExpectationDefinition, ReadDefinition, RippleDefinition
from pondage.define.pond.ripple import Ripple, RippleReference, Source, SqlInputs
from pondage.define.values.suggestion import nearest
from pondage.errors import DefinitionError


def resolved_reads(
    pond: str, ripple: Ripple, siblings: Mapping[str, Ripple], sources: Mapping[str, Source], sql: SqlInputs | None
) -> tuple[ReadDefinition, ...]:
    """Answer the inputs of a Ripple in order, or raise `DefinitionError` for a name that means nothing."""
    checked = tuple(_checked(pond, ripple, each, siblings, sources) for each in ripple.references)
    if sql is not None:
        return (
            *(
                _read(pond, ripple, name, ripple.reads.get(written, written), siblings, sources)
                for name, written in sql.tables.items()
            ),
            *checked,
        )
    tables = tuple(
        _read(pond, ripple, each.name, ripple.reads.get(each.name, each.name), siblings, sources)
        for each in ripple.signature.tables
    )
    followed = (_followed(pond, ripple, each, siblings, sources) for each in dict.fromkeys(ripple.changes))
    return (*tables, *followed, *checked)


def _checked(
    pond: str,
    ripple: Ripple,
    rule: ExpectationDefinition,
    siblings: Mapping[str, Ripple],
    sources: Mapping[str, Source],
) -> ReadDefinition:
    """Answer the table that a foreign key points to, of which only the key is read."""
    found = _read(pond, ripple, rule.input, rule.refers, siblings, sources)
    return msgspec.structs.replace(found, columns=(rule.key,), by_check=True)


def checked_reads(
    function: Callable[..., object], reads: Mapping[str, RippleReference | str | Callable[..., object]], place: str
) -> dict[str, RippleReference | str]:
    """Answer what `reads=` of a function says, or raise `DefinitionError` for what means nothing."""
    names = set(inspect.signature(function).parameters)
    checked: dict[str, RippleReference | str] = {}
    for parameter, target in reads.items():
        if parameter not in names:
            raise DefinitionError(
                f"reads= of {function.__name__} names {parameter!r}, which is not one of its parameters",
                hint=f"its parameters are {', '.join(sorted(names)) or 'none'}",
                place=place,
                code="BAD_PARAMETER",
            )
        if callable(target):
            target = target.__name__
        if not isinstance(target, (RippleReference, str)):
            raise DefinitionError(
                f"reads= of {function.__name__} gives {target!r} for {parameter!r}",
                hint='give source["ripple"], a Ripple of this Pond or a text "pond.ripple"',
                place=place,
                code="BAD_PARAMETER",
            )
        checked[parameter] = target
    return checked


def _followed(
    pond: str, ripple: Ripple, table: str, siblings: Mapping[str, Ripple], sources: Mapping[str, Source]
) -> ReadDefinition:
    if "run" not in ripple.signature.injects:
        raise DefinitionError(
            f"Ripple {pond}.{ripple.name} follows {table!r}, but has no parameter `run` to ask for its changes",
            hint="add `run: Run` to the function and call run.changes(…)",
            place=ripple.place,
            code="BAD_PARAMETER",
        )
    found = _read(pond, ripple, "", table, siblings, sources)
    return msgspec.structs.replace(found, parameter=found.table(pond), by_changes=True)


def refuse_cycle(pond: str, ripples: Sequence[RippleDefinition], places: Mapping[str, str]) -> None:
    """Raise `DefinitionError` with the path when Ripples of the Pond wait for each other."""
    parents = {ripple.name: ripple.parents for ripple in ripples}
    path = found_cycle(parents)
    if path:
        raise DefinitionError(
            f"the Ripples of Pond {pond!r} wait for each other: {' -> '.join(path)}",
            hint="a Ripple may only read Ripples that do not read it",
            place=places.get(path[0]),
            code="CYCLE",
        )


def found_cycle(before: Mapping[str, Sequence[str]]) -> list[str]:
    """Answer one cycle as a path in the direction of the data (`a -> b -> a`), or [] when there is none."""
    done: set[str] = set()
    for root in sorted(before):
        trail: list[str] = []
        on_trail: dict[str, int] = {}
        stack: list[tuple[str, int]] = [(root, 0)]
        while stack:
            name, index = stack.pop()
            if index == 0:
                if name in on_trail:
                    cycle = [*trail[on_trail[name] :], name]
                    return cycle[::-1]
                if name in done or name not in before:
                    continue
                on_trail[name] = len(trail)
                trail.append(name)
            if index < len(before[name]):
                stack.append((name, index + 1))
                stack.append((before[name][index], 0))
            else:
                done.add(name)
                trail.pop()
                del on_trail[name]
    return []


def _read(
    pond: str,
    ripple: Ripple,
    parameter: str,
    target: RippleReference | str,
    siblings: Mapping[str, Ripple],
    sources: Mapping[str, Source],
) -> ReadDefinition:
    if isinstance(target, RippleReference):
        return _of_source(pond, ripple, parameter, target.pond, target.ripple, sources, target.columns)
    if "." in target:
        source, _, name = target.partition(".")
        return _of_source(pond, ripple, parameter, source, name, sources, None)
    # A Ripple never reads itself, so `def sales(sales)` means the Source of that name.
    if target in siblings and (target != ripple.name or target not in sources):
        return ReadDefinition(parameter=parameter, ripple=target)
    if target in sources:
        return _of_source(pond, ripple, parameter, target, target, sources, None)
    known = sorted({*siblings, *sources} - {ripple.name})
    near = nearest(target, known)
    raise DefinitionError(
        f"Ripple {pond}.{ripple.name} reads {target!r}, which is neither a Ripple of this Pond nor one of its Sources",
        hint=f"did you mean {near!r}?" if near else _how_to_declare(target, known),
        place=ripple.place,
        code="UNKNOWN_INPUT",
    )


def _how_to_declare(target: str, known: Sequence[str]) -> str:
    names = f"known here: {', '.join(known)}; " if known else ""
    return f'{names}declare it with .source("{target}"), or name another in reads='


def _of_source(
    pond: str,
    ripple: Ripple,
    parameter: str,
    source: str,
    name: str,
    sources: Mapping[str, Source],
    columns: tuple[str, ...] | None,
) -> ReadDefinition:
    declared = sources.get(source)
    if declared is None:
        raise DefinitionError(
            f"Ripple {pond}.{ripple.name} reads {source}.{name}, but {source!r} is not a Source of Pond {pond!r}",
            hint=f'declare it: .source("{source}")',
            place=ripple.place,
            code="UNKNOWN_INPUT",
        )
    return ReadDefinition(
        parameter=parameter,
        ripple=name,
        pond=source,
        optional=not declared.definition.required,
        columns=columns or declared.columns,
    )
