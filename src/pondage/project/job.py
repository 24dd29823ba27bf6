"""Job and joblet files to definitions, with everything that is wrong with them at once."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from pondage.define.job.job import (
    CONTROL_KINDS,
    Call,
    ControlLink,
    DataLink,
    JobConfig,
    JobDefinition,
    JobProblem,
    Place,
)
from pondage.define.pond.definition import ScheduleDefinition
from pondage.define.pond.window import checked_zone
from pondage.define.values.cron import checked_cron
from pondage.define.values.schema import violations
from pondage.errors import DefinitionError, NotFound
from pondage.project.job_yaml import Document, YamlProblem, read_yaml

_NAME = r"[A-Za-z][A-Za-z0-9_]*"
_DATA = re.compile(rf"\s*({_NAME})\.({_NAME})\s*->\s*({_NAME})\.({_NAME})(?=\s|\Z)")
_CONTROL = re.compile(rf"\s*({_NAME}(?:\s*,\s*{_NAME})*)\s*\(\s*({_NAME})\s*\)\s*({_NAME}(?:\s*,\s*{_NAME})*)(?=\s|\Z)")
_IF = re.compile(rf"""\s*({_NAME})\s*\(\s*(?:if)?(\d{{1,9}})\s*\)\s*:\s*(?:"((?:[^"\\]|\\.)*)")\s*({_NAME})(?=\s|\Z)""")

_Link = TypeVar("_Link", DataLink, ControlLink)


class LoadedJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job with the joblets that it calls, and what is wrong with their files. Without a job it cannot be planned."""

    job: JobDefinition | None
    joblets: dict[str, JobDefinition] = {}
    problems: tuple[JobProblem, ...] = ()


@functools.cache
def job_schema() -> Mapping[str, Any]:
    """Give the JSON Schema of job files, as it is published in the package."""
    text = resources.files("pondage.project").joinpath("schemas/job.schema.json").read_text(encoding="utf-8")
    schema: Mapping[str, Any] = msgspec.json.decode(text)
    return schema


def load_job(
    text: str | bytes, joblets: Callable[[str], tuple[str | bytes, str] | None], *, file: str = ""
) -> LoadedJob:
    """Read a job and, by `joblets(name) -> (text, file) | None`, every joblet that it calls directly or indirectly."""
    job, problems = load_definition(text, file=file)
    found: dict[str, JobDefinition] = {}
    waiting = [] if job is None else [job]
    seen: set[str] = set()
    while waiting:
        for call in waiting.pop().calls:
            name = call.type[1:]
            if not call.type.startswith("@") or name in seen or not is_name(name):
                continue
            seen.add(name)
            source = joblets(name)
            if source is None:
                continue
            joblet, more = load_definition(source[0], file=source[1])
            problems += more
            if joblet is not None:
                found[name] = joblet
                waiting.append(joblet)
    return LoadedJob(job=job, joblets=found, problems=tuple(problems))


def load_job_file(path: Path) -> LoadedJob:
    """Read a job file; its joblets are `NAME.yaml` beside it or in `joblets/` beside it. Raises NotFound."""
    if not path.is_file():
        raise NotFound(f"there is no job file {path}", hint="give the path of a YAML file")

    def joblet(name: str) -> tuple[bytes, str] | None:
        for folder in (path.parent, path.parent / "joblets"):
            for ending in (".yaml", ".yml"):
                candidate = folder / f"{name}{ending}"
                if candidate.is_file():
                    return candidate.read_bytes(), str(candidate)
        return None

    return load_job(path.read_bytes(), joblet, file=str(path))


def load_definition(text: str | bytes, *, file: str = "") -> tuple[JobDefinition | None, list[JobProblem]]:
    """Read one file; None when it is no YAML or has not the shape of a job."""
    try:
        document = read_yaml(text, file)
    except YamlProblem as error:
        path = f"line {error.line}, column {error.column}"
        place = Place(file=file, path="", line=error.line, column=error.column)
        return None, [JobProblem(code="YAML_SYNTAX", message=error.message, path=path, place=place)]
    problems = [
        JobProblem(code="SCHEMA", message=message, path=path, place=document.place(path))
        for path, message in violations(job_schema(), document.value, "$")
    ]
    if problems:
        return None, problems
    return _definition(document, problems), problems


def _definition(document: Document, problems: list[JobProblem]) -> JobDefinition:
    value: Any = document.value
    job, connections = value.get("job") or {}, value.get("connections") or {}
    return JobDefinition(
        name=str(job.get("name", "")),
        version=str(job.get("version", "")),
        config=JobConfig(**(value.get("job_config") or {})),
        context=value.get("context") or {},
        inputs={port: end_of(end) for port, end in (value.get("inputs") or {}).items()},
        inputs_at=document.place("$.inputs"),
        outputs={port: end_of(end) for port, end in (value.get("outputs") or {}).items()},
        schedule=_schedule(value.get("schedule"), document, problems),
        calls=tuple(_call(one, document.place(f"$.components[{number}]"))
                    for number, one in enumerate(value["components"])),
        data=tuple(_links(connections.get("data"), "data", _data_entry, data_links, document, problems)),
        control=tuple(_links(connections.get("control"), "control", _control_entry, control_links, document, problems)),
        file=document.file,
    )  # fmt: skip


def _schedule(
    value: dict[str, Any] | None, document: Document, problems: list[JobProblem]
) -> ScheduleDefinition | None:
    if value is None:
        return None
    try:
        made = ScheduleDefinition(
            cron=checked_cron(value["cron"]),
            tz=checked_zone(value.get("tz", "UTC")),
            catch_up=value.get("catch_up", "latest"),
        )
    except DefinitionError as error:
        path = "$.schedule"
        problems.append(JobProblem(code="SCHEMA", message=error.message, path=path, place=document.place(path)))
        return None
    return made


def _call(value: dict[str, Any], place: Place) -> Call:
    return Call(
        name=value["name"],
        type=value["type"],
        params=value.get("params") or {},
        die_on_error=value.get("die_on_error", True),
        startable=bool(value.get("startable", False)),
        global_export=tuple(value.get("global_export") or ()),
        retries=value.get("retries", 0),
        timeout_s=value.get("timeout_s"),
        labels=tuple(value.get("labels") or ()),
        place=place,
    )


def _links(
    value: Any,
    name: str,
    entry: Callable[[dict[str, Any], Place], Iterator[_Link]],
    lines: Callable[[str, Place], Iterator[_Link]],
    document: Document,
    problems: list[JobProblem],
) -> list[_Link]:
    """Read a list, the keys of a mapping, or one folded text."""
    found: list[_Link] = []
    entries = value if isinstance(value, list) else list(value or ()) if isinstance(value, dict) else [value or ""]
    for number, one in enumerate(entries):
        path = f"$.connections.{name}[{number}]"
        place = document.place(path)
        try:
            found += list(entry(one, place) if isinstance(one, dict) else lines(one, place))
        except BadLine as error:
            problems.append(JobProblem(code="BAD_CONNECTION", message=str(error), path=path, place=place))
    return found


def _data_entry(value: dict[str, Any], place: Place) -> Iterator[DataLink]:
    (source, source_port), (target, target_port) = end_of(value["from"]), end_of(value["to"])
    yield DataLink(
        source=source,
        source_port=source_port,
        target=target,
        target_port=target_port,
        max_in_flight_rows=value.get("max_in_flight_rows"),
        max_in_flight_bytes=value.get("max_in_flight_bytes"),
        place=place,
    )


def _control_entry(value: dict[str, Any], place: Place) -> Iterator[ControlLink]:
    kind = "if" if "if" in value else value.get("on", "")
    if kind not in CONTROL_KINDS or (kind == "if") != ("if" in value) or ("if" in value and "on" in value):
        raise BadLine(f"write on: with one of {', '.join(CONTROL_KINDS)}, or if: with an expression")
    if kind == "if" and "order" not in value:
        raise BadLine("a condition needs an order")
    for source in _listed(value["from"]):
        for target in _listed(value["to"]):
            yield ControlLink(
                kind=kind,
                source=source,
                target=target,
                order=value.get("order"),
                expression=value.get("if"),
                place=place,
            )


def _listed(value: str | list[str]) -> list[str]:
    names = [value] if isinstance(value, str) else value
    for name in names:
        if not is_name(name):
            raise BadLine(f"{name!r} is no name of a component")
    return names


class BadLine(ValueError):
    """A line that is no connection."""


def data_links(text: str, place: Place) -> Iterator[DataLink]:
    """Read one or several data connections (a folded text holds several); raises BadLine."""
    at = 0
    while text[at:].strip():
        match = _DATA.match(text, at)
        if match is None:
            raise BadLine(f"{text[at:].strip()[:60]!r} is no data connection; write a.main -> b.input")
        yield DataLink(source=match[1], source_port=match[2], target=match[3], target_port=match[4], place=place)
        at = match.end()


def control_links(text: str, place: Place) -> Iterator[ControlLink]:
    """Read one or several control connections; raises BadLine."""
    at = 0
    while text[at:].strip():
        if (match := _IF.match(text, at)) is not None:
            expression = re.sub(r"\\(.)", r"\1", match[3])
            yield ControlLink(
                kind="if", source=match[1], target=match[4], order=int(match[2]), expression=expression, place=place
            )
        elif (match := _CONTROL.match(text, at)) is not None and match[2] in CONTROL_KINDS and match[2] != "if":
            for source in _names(match[1]):
                for target in _names(match[3]):
                    yield ControlLink(kind=match[2], source=source, target=target, place=place)
        else:
            raise BadLine(f'{text[at:].strip()[:60]!r} is no control connection; write a (ok) b, or a (if1): "x > 0" b')
        at = match.end()


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def end_of(text: str) -> tuple[str, str]:
    """Read `component.port`; raises BadLine."""
    match = re.fullmatch(rf"\s*({_NAME})\.({_NAME})\s*", text)
    if match is None:
        raise BadLine(f"{text!r} is no port; write component.port")
    return match[1], match[2]


def is_name(text: str) -> bool:
    """Is it the name of a component?"""
    return re.fullmatch(_NAME, text) is not None
