"""Jobs that Ripples and reactors name: the file is found, read and planned with the project's components."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from pondage.components.registry import built_in, built_in_schemas
from pondage.define.job.component import ComponentDefinition, Schema, schema_of
from pondage.define.job.job import JobProblem, JobRefused
from pondage.define.pond.ripple import Ripple, SqlInputs
from pondage.define.types.type_registry import BUILT_IN, TypeRegistry
from pondage.errors import DefinitionError
from pondage.kernel.control import JobPlan
from pondage.plan.job.planner import plan_job
from pondage.plan.job.stored_job import StoredJob, stored_job
from pondage.project.digest import Digests, digest_of
from pondage.project.job import load_job_file

MAIN = "main"

OwnComponents = Mapping[str, tuple[ComponentDefinition, Callable[..., object]]]


class JobBody(msgspec.Struct, frozen=True, kw_only=True):
    """A planned body: what it reads and its text, and the digest of it and of the project's code that it uses."""

    inputs: SqlInputs
    digest: str


def job_body(ripple: Ripple, root: Path, own: OwnComponents, digests: Digests, types: TypeRegistry) -> JobBody:
    """Read and plan the job that a Ripple names; raises `DefinitionError` with everything that is wrong with it."""
    path = _file_of(ripple.job_path or "", root, ripple.place)
    stored = planned_job(path, root, own, types, ripple.place)
    plan = stored.plan
    _require_main(plan, ripple, path.relative_to(root))
    return JobBody(
        inputs=SqlInputs(
            text=msgspec.json.encode(stored).decode(),
            tables={name: name for name in plan.inputs},
            source=path.read_text(encoding="utf-8"),
        ),
        digest=_digest_of(stored, own, digests),
    )


def reactor_job(
    file: str, place: str, root: Path, own: OwnComponents, digests: Digests, types: TypeRegistry
) -> tuple[str, str]:
    """Read and plan the job that a reactor starts; answer it as JSON, and the digest of it and of its code."""
    stored = planned_job(_file_of(file, root, place), root, own, types, place)
    if stored.plan.inputs:
        raise DefinitionError(
            f"job {file} has the inputs {', '.join(sorted(stored.plan.inputs))}, and a fire gives none",
            hint="what a fire saw is in the context: context.inputs",
            place=place,
            code="JOB_HAS_INPUTS",
        )
    return msgspec.json.encode(stored).decode(), _digest_of(stored, own, digests)


def planned_job(path: Path, root: Path, own: OwnComponents, types: TypeRegistry, place: str) -> StoredJob:
    """Read and plan a job file; raises `DefinitionError` with everything that is wrong with it."""
    loaded = load_job_file(path)
    registry = {**built_in(), **{name: definition for name, (definition, _) in own.items()}}
    try:
        if loaded.job is None:
            raise JobRefused(loaded.problems)
        plan = plan_job(
            loaded.job,
            loaded.joblets,
            registry,
            problems=loaded.problems,
            schemas={**built_in_schemas(), **_schemas_of(own)},
            types={**BUILT_IN, **types},
        ).plan
    except JobRefused as error:
        raise DefinitionError(
            "\n".join(_shown(problem, root) for problem in error.problems),
            hint=f"pondage job validate {path.relative_to(root)}",
            place=place,
            code=error.problems[0].code,
        ) from None
    plan = plan if plan.name else msgspec.structs.replace(plan, name=path.stem)
    return stored_job(plan, registry, file=str(path.relative_to(root)))


def _schemas_of(own: OwnComponents) -> dict[str, Schema]:
    return {name: found for name, (_, function) in own.items() if (found := schema_of(function)) is not None}


def _digest_of(stored: StoredJob, own: OwnComponents, digests: Digests) -> str:
    used = [digests.of_function(own[name][1]) for name in stored.components if name in own]
    return digest_of("job", stored.plan.hash, *used)


def _file_of(file: str, root: Path, place: str) -> Path:
    declared_in = Path(place.rpartition(":")[0]).parent
    for folder in (declared_in, root):
        path = (folder / file).resolve()
        if path.is_relative_to(root) and path.is_file():
            return path
    raise DefinitionError(
        f"there is no job file {file!r} in the project",
        hint="the path is relative to the file that names it, or to the project's directory",
        place=place,
        code="NO_JOB_FILE",
    )


def _require_main(plan: JobPlan, ripple: Ripple, file: Path) -> None:
    if MAIN not in plan.outputs:
        raise DefinitionError(
            f"job {file} has no output {MAIN!r}, so the Ripple {ripple.name!r} would have no table",
            hint="name one: outputs: {main: component.port}",
            place=ripple.place,
            code="NO_OUTPUT",
        )
    component, _ = plan.outputs[MAIN]
    if component not in {one.name for one in plan.components}:
        raise DefinitionError(
            f"the output {MAIN!r} of job {file} is made by {component}, once for each iteration",
            hint="collect the iterations with a component behind the iterator, for example `union`",
            place=ripple.place,
            code="EDGE_INTO_ITERATION",
        )


def _shown(problem: JobProblem, root: Path) -> str:
    place = problem.place
    where = f"{place.file.removeprefix(f'{root}/')}:{place.line}: " if place.line else ""
    return f"{where}{problem.message} [{problem.code}]"
