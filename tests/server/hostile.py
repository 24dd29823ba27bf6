"""Hostile requests, made for every route of the table from what it declares: numbers, names and bodies that are wrong.

A new route gets its own as soon as it is in the table. A route that answers with anything but a result or a problem
with a code (and, for what it was sent, a place) is complained of.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from msgspec import inspect

from pondage.operations.operation import Level
from pondage.server.call import Route, Socket
from tests.server.client import Answer, Client

HUGE = 10**30
DIGITS = ("٣", "²", "1e999", "NaN", "-Infinity", "1_000", "0x10", "1.5", "")
"""What `int` or `isdigit` may take for a number and a database does not."""
NUMBERS = (HUGE, -HUGE, 2**63, -1)
TEXTS = (
    "x" * 201, "x" * 5_000, "sales#" + "9" * 400, "sales#9223372036854775808", "sales#٣", "sales#²", "#", "@",
    "sales@" + "9" * 400, "sales@٣", "q" + "f" * 32, "q" + "9" * 30, "9" * 400, "a\x00b", "\ufffd", ".", "..",
    "a\ud7ff\U0010ffff", "%2e%2e%2f", "'; DROP TABLE runs; --", "sales.", "sales.sales.sales.sales",
    "sales@1#1@1#1", "zzzz", "z" * 64,
)  # fmt: skip
DEEP = 10_000
DEEPEST = 3
MOST = int(os.environ.get("PONDAGE_EXAMPLES", "1")) * 40
"""About how many wrong bodies each route gets; with PONDAGE_EXAMPLES=200 it gets all of them."""
RAW = (
    b"", b"null", b"1", b"[]", b'"x"', b"{", b"{}}", b"\xff\xfe", b"\x00", b"NaN", b'{"note": NaN}', b'{"note": 1e999}',
    b'{"note": "\\ud800"}', b'{"note": "\xff"}', b'{"note": ' + b"9" * 5_000 + b"}", b"[" * DEEP + b"]" * DEEP,
    b'{"note": ' + b"[" * DEEP + b"]" * DEEP + b"}", b'{"a":' * DEEP + b"1" + b"}" * DEEP, b"[" * DEEP,
    b'{"": {}}', b'{"note": "a", "note": 1}',
)  # fmt: skip
"""Bodies that are wrong for every route."""


def nested(depth: int) -> msgspec.Raw:
    return msgspec.Raw(b"[" * depth + b"]" * depth)


VALUES = (
    *NUMBERS, 0, 1.5, 1e308, True, None, [], {}, [None], {"": ""}, nested(400), nested(980), nested(1_200),
    {"a": HUGE}, [HUGE, -HUGE], "", "\x00", "x" * 5_000, "٣", "9" * 400, "9999999999999d", "-1s", "1e400", "../x",
)  # fmt: skip
"""What is put in the place of every value of a body."""


def sample_of(kind: inspect.Type, depth: int = 0) -> Any:
    """Answer a value that a type takes, with every field of every struct; what holds itself ends somewhere."""
    match kind:
        case inspect.StructType():
            return {each.encode_name: sample_of(each.type, depth + 1) for each in kind.fields}
        case inspect.UnionType():
            kinds = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
            return sample_of(kinds[0], depth) if kinds and depth < DEEPEST else None
        case inspect.LiteralType():
            return kind.values[0]
        case inspect.EnumType():
            return next(iter(kind.cls)).value
        case inspect.IntType():
            return 1 if kind.ge is None else kind.ge
        case inspect.FloatType():
            return 1.0
        case inspect.BoolType():
            return False
        case inspect.BytesType():
            return ""
        case inspect.ListType() | inspect.VarTupleType() | inspect.SetType() | inspect.FrozenSetType():
            return [sample_of(kind.item_type, depth + 1)] if depth < DEEPEST else []
        case inspect.TupleType():
            return [sample_of(each, depth + 1) for each in kind.item_types]
        case inspect.DictType():
            return {"sales": sample_of(kind.value_type, depth + 1)} if depth < DEEPEST else {}
        case inspect.StrType():
            return "sales"
        case _:
            return {}


def replaced(body: Any, value: object) -> Iterator[Any]:
    """Answer the body with a value in the place of each of its own, and under each name that an object may have."""
    if isinstance(body, dict):
        for name in body:
            yield {**body, name: value}
            yield from ({**body, name: each} for each in replaced(body[name], value))
    elif isinstance(body, list):
        for at, part in enumerate(body[:2]):
            yield [*body[:at], value, *body[at + 1 :]]
            yield from ([*body[:at], each, *body[at + 1 :]] for each in replaced(part, value))


def filled(path: str, known: Mapping[str, str], **other: str) -> str:
    """Answer a path with something in its places."""
    return re.sub(r"{(\w+)}", lambda found: quote(other.get(found[1], known.get(found[1], "sales")), safe=""), path)


def hostile_paths(route: Route | Socket, known: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    """Answer paths with wrong places and parameters, each with whether it must be refused."""
    info = inspect.type_info(route.query)
    assert isinstance(info, inspect.StructType)
    needed = {each.encode_name: str(sample_of(each.type)) for each in info.fields if each.required}
    for place in re.findall(r"{(\w+)}", route.path):
        for text in TEXTS:
            yield f"{filled(route.path, known, **{place: text})}?{urlencode(needed)}", False
    path = filled(route.path, known)
    yield f"{path}?{urlencode({**needed, 'x' * 5_000: 1})}", True
    yield f"{path}?{urlencode({**needed, 'env': chr(0)})}", True
    yield f"{path}?{urlencode({**needed, 'env': '9' * 400})}", route.level is not Level.OPEN
    for field in info.fields:
        name, is_number = field.encode_name, _is_number(field.type)
        yield f"{path}?{name}=1&{name}=1", True
        for value in (*NUMBERS, *DIGITS, *TEXTS):
            yield f"{path}?{urlencode({**needed, name: value})}", is_number


def _is_number(kind: inspect.Type) -> bool:
    kinds = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    return all(isinstance(each, inspect.IntType | inspect.NoneType) for each in kinds)


def hostile_bodies(good: object) -> Iterator[tuple[bytes, bool]]:
    """Answer wrong forms of a body, each with whether it must be refused."""
    for raw in RAW:
        yield raw, True
    bodies = [body for value in VALUES for body in replaced(good, value)]
    for body in bodies[:: max(1, len(bodies) // MOST)]:
        yield msgspec.json.encode(body), False


def complaint(what: str, answer: Answer, *, is_wrong: bool) -> str | None:
    """Answer what is not right about an answer; None when it is a result, or a problem as problems are."""
    shown = f"{what[:160]} -> {answer.status} {answer.data[:200]!r}"
    if answer.status < 400:
        return f"taken: {shown}" if is_wrong else None
    if answer.status >= 500 and answer.status != 503:
        return f"failed: {shown}"
    said = answer.json
    if said.get("accepted") is False and said.get("error"):
        return None  # a push that is refused: its answer, under the status of the reason
    if not said.get("code") or not said.get("message") or "Traceback" in said["message"]:
        return f"said nothing: {shown}"
    if said["code"] in ("BAD_REQUEST", "NOT_JSON") and not said["place"]:
        return f"said no place: {shown}"
    return None


def complaints(
    asking: Client, route: Route, known: Mapping[str, str], good: object = None, *, every: int = 1
) -> list[str]:
    """Try everything on one route, or every n-th of it."""
    body = b"" if good is None else msgspec.json.encode(good)
    tried = [(path, body, is_wrong) for path, is_wrong in hostile_paths(route, known)]
    if route.request is not None:
        path = filled(route.path, known)
        tried += [(path, raw, is_wrong) for raw, is_wrong in hostile_bodies(good)]
    found = [
        complaint(f"{route.method} {path} {raw[:100]!r}", asking.ask(route.method, path, raw=raw), is_wrong=is_wrong)
        for path, raw, is_wrong in tried[::every]
    ]
    return [each for each in found if each is not None]
