"""Reading a project: its modules are imported in a subprocess, so that nothing of an author's code runs in this one."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec

import pondage
from pondage.define.job.component import ComponentDefinition, Schema, WrongInput
from pondage.define.pond.definition import PondDefinition, ReadingDefinition
from pondage.define.pond.settings import checked_wait
from pondage.define.reactor.reaction import ReactorDefinition
from pondage.define.values.names import pond_key
from pondage.errors import DefinitionError, PondageError, ProjectError
from pondage.project.archive import data_files
from pondage.project.exchange import Answer, Problem, Request, SchemaCall
from pondage.project.problems import raise_all
from pondage.project.project import Project

TIMEOUT_S = 60.0
_TAIL = 10


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a project declares, sorted by name."""

    ponds: list[PondDefinition]
    reactors: list[ReactorDefinition]
    components: list[ComponentDefinition] = []
    schemas: frozenset[str] = frozenset()
    """The components that have a `schema` function."""


def read_project(project: Project, *, timeout_s: float = TIMEOUT_S) -> list[PondDefinition]:
    """Answer the project's Ponds sorted by name; raises everything that is wrong at once."""
    return read_declared(project, timeout_s=timeout_s).ponds


def read_declared(project: Project, *, timeout_s: float = TIMEOUT_S) -> Declared:
    """Answer the project's Ponds and reactors; raises everything that is wrong at once. It may have only jobs.

    The modules run at import, their Ripples never. A module that does not come back within `timeout_s` is given up.
    """
    if not project.modules and project.job_files:
        return Declared(ponds=[], reactors=[])
    if not project.modules:
        raise ProjectError(
            f"project {project.name!r} has no modules",
            hint="put a Python file into ponds/, or name files in `modules` of pondage.toml", place=str(project.file),
            code="NO_MODULES",
        )  # fmt: skip
    request = Request(
        root=str(project.root),
        modules=project.modules,
        types=project.types,
        coherent=project.ponds.coherent,
        mode=project.ponds.mode,
        reading=ReadingDefinition(
            asks=project.ponds.reading, wait_us=checked_wait(project.ponds.wait, str(project.file))
        ),
        data=data_files(project),
    )
    answer = _ask(request, timeout_s)
    errors = [_error(problem) for problem in answer.problems]
    errors += doubles(answer.ponds)
    errors += _double_reactors(answer.reactors)
    errors += _double_components(answer.components)
    raise_all(errors, what=f"project {project.name}")
    return Declared(
        ponds=sorted(answer.ponds, key=lambda pond: (pond.name, pond.major)),
        reactors=sorted(answer.reactors, key=lambda reactor: reactor.name),
        components=sorted(answer.components, key=lambda component: component.name),
        schemas=frozenset(answer.schemas),
    )


def schema_function(project: Project, component: str) -> Schema:
    """Answer the `schema` function of one of the project's components, which is called in a subprocess.

    It raises what the author's function raises: WrongInput, or ProjectError with its text.
    """

    @cache
    def asked(call: bytes) -> Answer:
        asking = msgspec.json.decode(call, type=SchemaCall)
        return _ask(Request(root=str(project.root), modules=project.modules, call=asking), TIMEOUT_S)

    def schema(inputs: Mapping[str, str], params: Mapping[str, object]) -> Mapping[str, str]:
        call = SchemaCall(component=component, inputs=dict(inputs), params=dict(params))
        answer = asked(msgspec.json.encode(call, order="sorted"))
        if answer.wrong is not None:
            raise WrongInput(answer.wrong.port, answer.wrong.want, answer.wrong.why)
        for problem in answer.problems:
            raise _error(problem)
        return answer.outputs

    return schema


def _double_reactors(reactors: Sequence[ReactorDefinition]) -> list[PondageError]:
    known: dict[str, ReactorDefinition] = {}
    return [
        DefinitionError(
            f"reactor {each.name!r} is declared twice",
            hint=f"the other one is at {known[each.name].place}; rename one",
            place=each.place,
            code="DUPLICATE_REACTOR",
        )
        for each in reactors
        if known.setdefault(each.name, each) is not each
    ]


def doubles(ponds: Sequence[PondDefinition]) -> list[PondageError]:
    """Answer an error for each Pond that is declared twice in one major version."""
    errors: list[PondageError] = []
    known: dict[str, PondDefinition] = {}
    for pond in ponds:
        other = known.setdefault(pond_key(pond.name, pond.major), pond)
        if other is not pond:
            errors.append(
                DefinitionError(
                    f"Pond {pond.name!r} is declared twice in major version {pond.major}",
                    hint=f"the other one is at {other.place}; rename one, or give it another major version",
                    place=pond.place,
                    code="DUPLICATE_POND",
                )
            )
    return errors


def _double_components(components: Sequence[ComponentDefinition]) -> list[PondageError]:
    known: dict[str, ComponentDefinition] = {}
    return [
        DefinitionError(
            f"component {one.name!r} is declared twice", hint=f"the other one is {known[one.name].entry}",
            place=one.entry, code="DUPLICATE_NAME",
        )
        for one in components
        if known.setdefault(one.name, one) is not one
    ]  # fmt: skip


def _ask(request: Request, timeout_s: float) -> Answer:
    with tempfile.TemporaryDirectory(prefix="pondage-read-") as name:
        directory = Path(name)
        asked, answered, printed = directory / "request", directory / "answer", directory / "printed"
        asked.write_bytes(msgspec.json.encode(request))
        with printed.open("wb") as output:
            # -P: the project's root is put on the path by the subprocess itself, after our own modules are loaded, so
            # that a file of the author's cannot stand in for one of them. -B: reading leaves no caches in the project.
            command = [sys.executable, "-P", "-B", "-m", "pondage.project.inspect", str(asked), str(answered)]
            try:
                done = subprocess.run(
                    command, cwd=request.root, env=_environment(), stdin=subprocess.DEVNULL, stdout=output,
                    stderr=subprocess.STDOUT, timeout=timeout_s, check=False,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                raise ProjectError(
                    f"the project's modules were still importing after {timeout_s:g} s",
                    hint="declare at the top of a module, and work inside the Ripples" + _tail(printed), code="TIMEOUT",
                ) from None  # fmt: skip
        if not answered.is_file():
            raise ProjectError(
                f"the process that imports the project's modules ended with code {done.returncode}",
                hint="a module must not end the process" + _tail(printed),
                code="IMPORT_FAILED",
            )
        return msgspec.json.decode(answered.read_bytes(), type=Answer)


def _environment() -> dict[str, str]:
    # The subprocess has another working directory: relative entries of the path would mean other places there.
    home = str(Path(pondage.__file__).resolve().parent.parent)
    given = [str(Path(each).resolve()) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys([home, *given]))}


def _tail(printed: Path) -> str:
    lines = printed.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL:]
    return "; it printed last:\n" + "\n".join(f"  {line}" for line in lines) if lines else ""


def _error(problem: Problem) -> PondageError:
    return ProjectError(problem.message, hint=problem.hint, place=problem.place, code=problem.code)
