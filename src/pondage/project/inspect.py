"""The subprocess that imports an author's modules: `python -m pondage.project.inspect REQUEST ANSWER`.

It runs no Ripple. Whatever the modules print goes to its output, never into the answer, which is a file. An error comes
back with the author's file, line and message.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TypeVar

import msgspec

from pondage.define.job.component import ComponentDefinition, WrongInput, definition_of, schema_of
from pondage.define.pond.declarations import declared_ponds
from pondage.define.pond.definition import (
    ExpectationDefinition,
    PondDefinition,
    ReadDefinition,
    ReadingDefinition,
    RippleDefinition,
)
from pondage.define.pond.pond import Pond
from pondage.define.pond.ripple import Ripple, SqlInputs
from pondage.define.pond.settings import PondSettings
from pondage.define.pond.verification import DEFAULT, parsed_verification
from pondage.define.reactor.reaction import ReactorDefinition
from pondage.define.reactor.reactor import Reactor
from pondage.define.types.type_registry import TypeRegistry
from pondage.define.values.suggestion import nearest
from pondage.errors import DefinitionError, PondageError
from pondage.project.digest import Digests, digest_of, with_digest
from pondage.project.exchange import Answer, Problem, Request, SchemaCall, Wrong
from pondage.project.job_ripple import job_body
from pondage.project.reactors import published_pond, reactor_definition
from pondage.project.source import SourceFiles, module_name

Declared = TypeVar("Declared", Pond, Reactor)
_ARGUMENT = re.compile(r"(?P<function>\w+)\(\) got an unexpected keyword argument '(?P<name>\w+)'")
_IMPORT = re.compile(r"cannot import name '(?P<name>\w+)'")

_PARSER = "sqlglot"
"""To load it takes as long as everything else here, and most projects have no SQL."""


def inspected(request: Request) -> Answer:
    """Import the modules and answer their Ponds; errors are collected, so one broken module does not hide another."""
    root = Path(request.root)
    problems: list[Problem] = []
    modules: list[ModuleType] = []
    with declared_ponds() as declared:
        for file in request.modules:
            try:
                modules.append(importlib.import_module(module_name(Path(file))))
            except PondageError as error:
                problems.append(_problem(error, root))
            except (Exception, SystemExit) as error:  # noqa: BLE001 - recorded: it is the author's to read
                problems.append(_authors_problem(error, file, root))
    if request.call is not None:
        return _called(request.call, modules, problems)
    files = SourceFiles(root, request.data)
    components = _with_digests_of(_found_components(modules), Digests(files, sys.modules), root, problems)
    ponds: list[PondDefinition] = []
    found_ponds = _found(modules, Pond)
    problems += [_problem(error, root) for error in lost_ponds(declared, list(found_ponds.values()))]
    for entry, pond in found_ponds.items():
        try:
            found_pond = _definition(pond, entry, root, Digests(files, sys.modules), components, request.types)
            if pond.settings.coherent is None:
                found_pond = msgspec.structs.replace(found_pond, coherent=request.coherent)
            if pond.settings.is_mode_open and request.mode == "auto" and _may_be_automatic(found_pond):
                verify = pond.settings.verify or parsed_verification(DEFAULT, pond.place)
                found_pond = msgspec.structs.replace(found_pond, mode="auto", verify=verify)
            found_pond = _with_reading(found_pond, pond.settings, request.reading)
            ponds.append(found_pond)
        except PondageError as error:
            problems.append(_problem(error, root))
    reactors: list[ReactorDefinition] = []
    for entry, reactor in _found(modules, Reactor).items():
        try:
            place = _relative(reactor.place, root) or ""
            own = {definition.name: (definition, function) for definition, function in components}
            found = reactor_definition(
                reactor, entry, Digests(files, sys.modules), place, root=root, own=own, types=request.types or {}
            )
            pond_of = published_pond(reactor, found)
            reactors.append(found)
            ponds += [] if pond_of is None else [pond_of]
        except PondageError as error:
            problems.append(_problem(error, root))
    return Answer(
        ponds=tuple(ponds),
        reactors=tuple(reactors),
        components=tuple(definition for definition, _ in components),
        problems=tuple(problems),
        schemas=tuple(definition.name for definition, function in components if schema_of(function) is not None),
    )


def _may_be_automatic(pond: PondDefinition) -> bool:
    """Answer whether what the project says of modes is meant for this Pond: it reads others, and by no other means."""
    reads = [read for ripple in pond.ripples for read in ripple.reads]
    is_plain = all(ripple.kind in ("function", "sql") for ripple in pond.ripples)
    return bool(pond.sources) and is_plain and not any(read.by_changes for read in reads)


def _with_reading(found: PondDefinition, settings: PondSettings, default: ReadingDefinition) -> PondDefinition:
    """Answer a Pond with what the project says of readers, where the Pond says nothing."""
    asks = default.asks if settings.reading is None else settings.reading
    wait_us = default.wait_us if settings.wait_us is None else settings.wait_us
    return msgspec.structs.replace(found, reading=ReadingDefinition(asks=asks, wait_us=wait_us))


def _called(call: SchemaCall, modules: list[ModuleType], problems: list[Problem]) -> Answer:
    """Ask the `schema` function of a component."""
    found = [schema_of(function) for one, function in _found_components(modules) if one.name == call.component]
    if problems or not found or found[0] is None:
        return Answer(problems=tuple(problems))
    try:
        return Answer(outputs=dict(found[0](call.inputs, call.params)))
    except WrongInput as error:
        return Answer(wrong=Wrong(port=error.port, want=error.want, why=str(error)))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - recorded: it is the author's to read
        return Answer(problems=(Problem(code="SCHEMA_FAILED", message=f"{type(error).__name__}: {error}"),))


def _found(modules: list[ModuleType], kind: type[Declared]) -> dict[str, Declared]:
    """Answer each Pond or reactor once, under the module that declares it where that can be told, else the first."""
    entries: dict[int, tuple[bool, str, Declared]] = {}
    for module in modules:
        for attribute, value in vars(module).items():
            if isinstance(value, kind):
                is_home = value.place.rpartition(":")[0] == module.__file__
                known = entries.get(id(value))
                if known is None or (is_home and not known[0]):
                    entries[id(value)] = (is_home, f"{module.__name__}:{attribute}", value)
    return {entry: value for _, entry, value in entries.values()}


def _found_components(modules: list[ModuleType]) -> list[tuple[ComponentDefinition, Callable[..., object]]]:
    """Answer each component once, under the module that declares it where that is one of these, and its function."""
    found: dict[int, tuple[ComponentDefinition, Callable[..., object]]] = {}
    for module in modules:
        for attribute, value in vars(module).items():
            definition = definition_of(value)
            if definition is None or definition.entry.startswith("pondage."):
                continue
            if id(value) not in found or getattr(value, "__module__", "") == module.__name__:
                definition = msgspec.structs.replace(definition, entry=f"{module.__name__}:{attribute}")
                found[id(value)] = definition, value
    return list(found.values())


def _with_digests_of(
    found: list[tuple[ComponentDefinition, Callable[..., object]]],
    digests: Digests,
    root: Path,
    problems: list[Problem],
) -> list[tuple[ComponentDefinition, Callable[..., object]]]:
    complete = []
    for definition, function in found:
        try:
            complete.append((with_digest(definition, function, digests, root), function))
        except PondageError as error:
            problems.append(_problem(error, root))
    return complete


def _definition(
    pond: Pond,
    entry: str,
    root: Path,
    digests: Digests,
    components: Sequence[tuple[ComponentDefinition, Callable[..., object]]] = (),
    types: TypeRegistry | None = None,
) -> PondDefinition:
    sql = {ripple.name: _sql_of(ripple, root) for ripple in pond.ripples.values() if ripple.sql_path is not None}
    own = {definition.name: (definition, function) for definition, function in components}
    jobs = {
        ripple.name: job_body(ripple, root, own, digests, types or {})
        for ripple in pond.ripples.values()
        if ripple.job_path is not None
    }
    sql.update({name: body.inputs for name, body in jobs.items()})
    bare = pond.definition(entry, sql=sql)
    found: dict[str, str] = {}
    for definition in bare.ripples:
        reads = [_read_text(read) for read in definition.reads]
        function = pond.ripples[definition.name].function
        if function is not None:
            found[definition.name] = digests.of_function(function, reads=reads)
        elif definition.sql is not None:
            from pondage.project.sql import normalised_sql

            found[definition.name] = digest_of("sql", normalised_sql(definition.sql), repr(reads))
        elif definition.name in jobs:
            found[definition.name] = digest_of(jobs[definition.name].digest, repr(reads))
    made = pond.definition(entry, digests=found, sql=sql)
    return msgspec.structs.replace(
        made,
        ripples=tuple(_with_digests(pond, ripple, digests) for ripple in made.ripples),
        place=_relative(made.place, root) or "",
    )


def _with_digests(pond: Pond, ripple: RippleDefinition, digests: Digests) -> RippleDefinition:
    """Answer the Ripple with the digests of its checks and its probe, which are not part of its own."""
    probe = pond.probe_of(ripple.name) if ripple.has_probe else None
    checks: list[ExpectationDefinition] = []
    for each in pond.ripples[ripple.name].expectations:
        digest = "" if each.function is None else digests.of_function(each.function)
        checks.append(msgspec.structs.replace(each.definition, digest=digest))
    return msgspec.structs.replace(
        ripple, expectations=tuple(checks), probe_digest="" if probe is None else digests.of_function(probe)
    )


def _sql_of(ripple: Ripple, root: Path) -> SqlInputs:
    declared_in = Path(ripple.place.rpartition(":")[0]).parent
    path = (declared_in / (ripple.sql_path or "")).resolve()
    if not path.is_relative_to(root):
        raise PondageError(
            f"the SQL file {ripple.sql_path!r} is outside the project", place=ripple.place, code="NO_SQL_FILE",
            hint="keep SQL files under the project's directory",
        )  # fmt: skip
    from pondage.project.sql import read_sql_file

    return read_sql_file(path, place=ripple.place)


def _read_text(read: ReadDefinition) -> str:
    columns = "" if read.columns is None else f" columns {', '.join(read.columns)}"
    return f"{read.parameter} = {read.pond or ''}.{read.ripple}{columns}"


def _problem(error: PondageError, root: Path) -> Problem:
    return Problem(
        code=error.code,
        message=_without_root(error.message, root),
        place=_relative(error.place, root),
        hint=_without_root(error.hint, root) if error.hint else None,
    )


def _authors_problem(error: BaseException, file: str, root: Path) -> Problem:
    if isinstance(error, SyntaxError) and error.filename:
        place = f"{_relative(error.filename, root)}:{error.lineno or 1}"
        message = f"{file} cannot be read: {type(error).__name__}: {error.msg}"
        hint = f"Python does not understand: {error.text.strip()}" if error.text else None
        return Problem(code="IMPORT_FAILED", message=message, place=place, hint=hint)
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(root)]
    place = f"{_relative(own[-1].filename, root)}:{own[-1].lineno}" if own else file
    hint = instead(error)
    if isinstance(error, ModuleNotFoundError):
        hint = (
            f"install {error.name!r}, or check its spelling; modules are imported with the project's root on the path"
        )
    elif "SESSION_OR_CONTEXT_NOT_EXISTS" in str(error):
        hint = (
            "modules are imported without Spark: give a type object instead of its name (@F.udf(LongType()), not "
            '@F.udf("long")), or move the line into the function of the Ripple'
        )
    message = f"{file} cannot be imported: {type(error).__name__}: {_without_root(str(error), root)}"
    return Problem(code="IMPORT_FAILED", message=message, place=place, hint=hint)


def _relative(place: str | None, root: Path) -> str | None:
    return place.removeprefix(f"{root}/") if place is not None else None


def _without_root(text: str, root: Path) -> str:
    return text.replace(f"{root}/", "")


class _Kept:
    """Finds a package that is loaded later where it lies now, whatever the path has by then."""

    def __init__(self, name: str) -> None:
        self._spec = importlib.util.find_spec(name)
        self._name = name

    def find_spec(self, name: str, _path: object, _target: object = None, /) -> ModuleSpec | None:
        """Answer the place of the package; of its modules it knows by itself."""
        return self._spec if name == self._name else None


def main(arguments: list[str]) -> None:
    """Read the request file, import, write the answer file."""
    request = msgspec.json.decode(Path(arguments[0]).read_bytes(), type=Request)
    sys.meta_path.insert(0, _Kept(_PARSER))
    sys.path.insert(0, request.root)
    answer = inspected(request)
    Path(arguments[1]).write_bytes(msgspec.json.encode(answer))


def lost_ponds(declared: Sequence[Pond], found: Sequence[Pond]) -> list[PondageError]:
    """Answer an error for each declared Pond that no module has any more, though another line declares its name."""
    errors: list[PondageError] = []
    kept = {id(pond) for pond in found}
    for lost in declared:
        others = (pond for pond in found if pond.name == lost.name and _is_other_line(pond.place, lost.place))
        other = None if id(lost) in kept else next(others, None)
        if other is not None:
            file = _file(other.place).rpartition("/")[2]
            errors.append(
                DefinitionError(
                    f"Pond {lost.name!r} is declared twice in {file}, and Python keeps only the last",
                    hint=f"the other one is at {lost.place}; rename one, or put it into another file",
                    place=other.place,
                    code="DUPLICATE_POND",
                )
            )
    return errors


def _is_other_line(place: str, other: str) -> bool:
    """Answer if both are lines of one file. The same line is one declaration that ran again: a loop, a reload."""
    return place != other and _file(place) == _file(other)


def _file(place: str) -> str:
    return place.rpartition(":")[0]


def instead(error: BaseException) -> str | None:
    """Answer the hint for an error of an imported module; None when nothing near is known."""
    text = str(error)
    if isinstance(error, ImportError) and (found := _IMPORT.match(text)):
        return _near(found["name"], dir(sys.modules.get(error.name or "")))
    if isinstance(error, NameError) and error.name:
        return _near(error.name, _visible(error))
    if isinstance(error, TypeError) and (found := _ARGUMENT.search(text)):
        function = getattr(sys.modules["pondage"], found["function"], None)
        return _near(found["name"], inspect.signature(function).parameters) if callable(function) else None
    return None


def _visible(error: BaseException) -> set[str]:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    frame = None if trace is None else trace.tb_frame
    names = set(dir(builtins))
    return names if frame is None else names | set(frame.f_globals) | set(frame.f_locals)


def _near(wrong: str, known: Iterable[str]) -> str | None:
    found = nearest(wrong, known, likeness=0.7)
    return None if found is None else f"did you mean {found!r}?"


if __name__ == "__main__":
    main(sys.argv[1:])
