"""OpenAPI 3.1, made from the route table and the structs that its routes declare: it cannot say anything else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import UnionType
from typing import Union, get_args, get_origin

import msgspec

import pondage
from pondage.operations.operation import Level
from pondage.server.call import Route, Socket
from pondage.views.problems import Problem

_REF = "#/components/schemas/{name}"
_PLACE = re.compile(r"{(\w+)}")
_ENVIRONMENT = {
    "name": "env",
    "in": "query",
    "required": False,
    "description": "The environment; needed when the token is bound to several.",
    "schema": {"type": "string"},
}
Json = dict[str, object]


def document(routes: Iterable[Route], sockets: Iterable[Socket]) -> Json:
    """Answer the description of the whole API."""
    listed = list(routes)
    kinds = [Problem, *(kind for route in listed for kind in _kinds(route))]
    schemas, components = msgspec.json.schema_components(kinds, schema_hook=_any, ref_template=_REF)
    known = {id(kind): schema for kind, schema in zip(kinds, schemas, strict=True)}
    paths: dict[str, Json] = {}
    for route in listed:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, known)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Pondage", "version": pondage.__version__},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
        "x-websockets": [{"path": each.path, "summary": each.summary, "x-level": _level(each)} for each in sockets],
    }


def _any(kind: type) -> Json:
    if kind is not object:
        raise NotImplementedError
    return {"description": "Any JSON value."}


def _kinds(route: Route) -> list[object]:
    return [*answers_of(route), *([] if route.request is None else [route.request])]


def answers_of(route: Route) -> list[object]:
    """Answer the types of what a route may answer."""
    is_union = get_origin(route.response) in (Union, UnionType)
    return list(get_args(route.response)) if is_union else [route.response]


def _operation(route: Route, known: dict[int, Json]) -> Json:
    said: Json = {
        "operationId": f"{route.method.lower()}{re.sub(r'[^a-zA-Z0-9]+', '_', route.path)}".rstrip("_"),
        "summary": route.summary,
        "x-level": _level(route),
        "parameters": _parameters(route),
        "responses": {
            str(route.status): {"description": "Done.", "content": {route.media: {"schema": _answer(route, known)}}},
            **{str(each): _refusal(route, known) for each in sorted(route.refusals)},
            "default": {
                "description": "What went wrong.",
                "content": {"application/json": {"schema": known[id(Problem)]}},
            },
        },
    }
    if route.level is Level.OPEN:
        said["security"] = []
    if route.request is not None:
        body = {"application/json": {"schema": known[id(route.request)]}}
        said["requestBody"] = {"required": True, "content": body}
    return said


def _refusal(route: Route, known: dict[int, Json]) -> Json:
    either = {"anyOf": [_answer(route, known), known[id(Problem)]]}
    return {"description": "Refused: the answer says why.", "content": {"application/json": {"schema": either}}}


def _answer(route: Route, known: dict[int, Json]) -> Json:
    found = [known[id(kind)] for kind in answers_of(route)]
    return found[0] if len(found) == 1 else {"anyOf": found}


def _parameters(route: Route) -> list[Json]:
    found: list[Json] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _PLACE.findall(route.path)
    ]
    fields = msgspec.structs.fields(route.query)
    schemas, _ = msgspec.json.schema_components([each.type for each in fields], schema_hook=_any, ref_template=_REF)
    for each, schema in zip(fields, schemas, strict=True):
        found.append({"name": each.encode_name, "in": "query", "required": each.required, "schema": schema})
    if route.level is not Level.OPEN:
        found.append(_ENVIRONMENT)
    return found


def _level(route: Route | Socket) -> str:
    assert route.level is not None
    return route.level.name.lower()
