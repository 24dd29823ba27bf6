"""Trees from JSON: limits first, then the published schema, then values; everything that is wrong at once."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from pondage.define.job.flow import (
    MAX_DEPTH,
    MAX_DOCUMENT,
    MAX_EDGES,
    MAX_NODES,
    MAX_PROBLEMS,
    MAX_TEXT,
    Extract,
    FlowLimits,
    Tree,
    TreeEdge,
    TreeNode,
)
from pondage.define.job.job import JobProblem, Place
from pondage.define.values.pointer import Trail, trail
from pondage.define.values.schema import pointed, violations
from pondage.errors import NotFound

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{},:]|[^\s"\[\]{},:]+', re.DOTALL)
MAX_DIGITS = 400
_SURROGATE = re.compile("[\ud800-\udfff]")


class LoadedTree(msgspec.Struct, frozen=True, kw_only=True):
    """A tree, or what is wrong with its document; without a tree nothing more can be said about it."""

    tree: Tree | None
    problems: tuple[JobProblem, ...] = ()


@functools.cache
def tree_schema() -> Mapping[str, Any]:
    """Give the JSON Schema of trees, as it is published in the package."""
    text = resources.files("pondage.project").joinpath("schemas/tree.schema.json").read_text(encoding="utf-8")
    schema: Mapping[str, Any] = msgspec.json.decode(text)
    return schema


def load_tree_file(path: Path) -> LoadedTree:
    """Read a tree from a file; raises NotFound."""
    if not path.is_file():
        raise NotFound(f"there is no file {path}", hint="give the path of a JSON file with a tree")
    with path.open("rb") as file:
        return load_tree(file.read(MAX_DOCUMENT + 1), file=str(path))


def load_tree(given: bytes | str, *, file: str = "") -> LoadedTree:
    """Read a tree; what is no tree is refused with a JSON pointer to each place."""
    data = given if isinstance(given, bytes) else given.encode("utf-8", "surrogatepass")
    try:
        value = _decoded(data)
        found = [("LIMIT", *one) for one in islice(_over_limits(value), MAX_PROBLEMS)] or [
            ("SCHEMA", *one) for one in _violations(value)
        ]
    except _Refused as error:
        place = Place(file=file, line=error.line, column=error.column)
        return LoadedTree(tree=None, problems=(JobProblem(code=error.code, message=str(error), path="", place=place),))
    problems = tuple(
        JobProblem(code=code, message=message, path=path, place=Place(file=file, path=path))
        for code, path, message in ((code, _printable(path), message) for code, path, message in found)
    )
    return LoadedTree(tree=None if problems else _tree(value, file), problems=problems)


def _violations(value: object) -> Iterator[tuple[str, str]]:
    yield from islice(violations(tree_schema(), value, "", pointed), MAX_PROBLEMS)
    yield from islice(_bad_texts(value), MAX_PROBLEMS)


class _Refused(Exception):
    def __init__(self, code: str, message: str, place: tuple[int, int] = (0, 0)) -> None:
        super().__init__(message)
        self.code = code
        self.line, self.column = place


def _decoded(data: bytes) -> Any:
    if len(data) > MAX_DOCUMENT:
        raise _Refused("LIMIT", f"the document is larger than {MAX_DOCUMENT} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        read = data[: error.start].decode("utf-8")
        raise _Refused("JSON_SYNTAX", f"it is not UTF-8: byte {error.start + 1}", _place(read, len(read))) from None
    _check_tokens(text)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise _Refused("JSON_SYNTAX", str(error), (error.lineno, error.colno)) from None


def _check_tokens(text: str) -> None:
    """Refuse what is nested too deep before anything recursive looks at it, and what Python would take for JSON."""
    keys: list[set[str] | None] = []
    is_key = False
    for match in _TOKENS.finditer(text):
        token = match[0]
        match token[0]:
            case "[" | "{":
                keys.append(set() if token == "{" else None)
                if len(keys) > MAX_DEPTH:
                    why = f"the document is nested deeper than {MAX_DEPTH} levels"
                    raise _Refused("LIMIT", why, _place(text, match.start()))
            case "]" | "}":
                del keys[-1:]
            case '"' if is_key and keys and (known := keys[-1]) is not None:
                if token in known:
                    why = f"the key {token[:100]} stands twice in one object"
                    raise _Refused("JSON_SYNTAX", why, _place(text, match.start()))
                known.add(token)
            case _ if token in ("NaN", "Infinity", "-Infinity"):
                raise _Refused("JSON_SYNTAX", f"{token} is no number of JSON", _place(text, match.start()))
            case _ if token[0] not in '",:' and len(token) > MAX_DIGITS:
                why = f"a number has at most {MAX_DIGITS} characters, not {len(token)}"
                raise _Refused("JSON_SYNTAX", why, _place(text, match.start()))
        is_key = token in ("{", ",")


def _place(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def _over_limits(value: object) -> Iterator[tuple[str, str]]:
    if not isinstance(value, dict):
        return
    nodes, edges = value.get("nodes"), value.get("edges")
    if isinstance(nodes, dict) and len(nodes) > MAX_NODES:
        yield "/nodes", f"{len(nodes)} nodes are more than {MAX_NODES}"
    if isinstance(edges, list) and len(edges) > MAX_EDGES:
        yield "/edges", f"{len(edges)} edges are more than {MAX_EDGES}"
    for name, node in nodes.items() if isinstance(nodes, dict) else ():
        if isinstance(node, dict):
            for where, text in _texts(node.get("params"), trail("/nodes").below(name).below("params")):
                if len(text) > MAX_TEXT:
                    yield str(where), f"a text of {len(text)} characters is longer than {MAX_TEXT}"


def _texts(value: object, where: Trail) -> Iterator[tuple[Trail, str]]:
    """Give every text with its place; of a key, the place of what it stands for."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield where.below(key), key
            yield from _texts(one, where.below(key))
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from _texts(one, where.below(number))


def _bad_texts(value: object) -> Iterator[tuple[str, str]]:
    for where, text in _texts(value, trail("")):
        if _SURROGATE.search(text):
            yield str(where), "half a character is no text"
        elif "\x00" in text:
            yield str(where), "a text holds no NUL"


def _printable(path: str) -> str:
    """A pointer is shown on terminals: what would turn or hide text there is replaced."""
    return "".join(one if one.isprintable() else "?" for one in path)


def _tree(value: Any, file: str) -> Tree:
    return Tree(
        nodes={name: TreeNode(**node) for name, node in value["nodes"].items()},
        edges=tuple(_edge(number, *one) for number, one in enumerate(value.get("edges", ()))),
        extracts={
            name: Extract(
                node=one["from"].partition(".")[0],
                port=one["from"].partition(".")[2],
                **{key: one[key] for key in ("format", "retention") if key in one},
            )
            for name, one in value.get("extract", {}).items()
        },
        limits=FlowLimits(**value.get("limits", {})),
        file=file,
    )


def _edge(number: int, source: str, target: str, limits: Mapping[str, int] | None = None) -> TreeEdge:
    (source, _, source_port), (target, _, target_port) = source.partition("."), target.partition(".")
    return TreeEdge(
        number=number,
        source=source,
        source_port=source_port,
        target=target,
        target_port=target_port,
        **(limits or {}),
    )
