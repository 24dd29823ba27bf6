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

_MARKS = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
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
        value, found = None, [(error.code, "", str(error))]
    problems = tuple(
        JobProblem(code=code, message=message, path=path, place=Place(file=file, path=path))
        for code, path, message in ((code, _printable(path), message) for code, path, message in found)
    )
    return LoadedTree(tree=None if problems else _tree(value, file), problems=problems)


def _violations(value: object) -> Iterator[tuple[str, str]]:
    yield from islice(violations(tree_schema(), value, "", pointed), MAX_PROBLEMS)
    yield from islice(_bad_texts(value), MAX_PROBLEMS)


class _Refused(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def _decoded(data: bytes) -> Any:
    if len(data) > MAX_DOCUMENT:
        raise _Refused("LIMIT", f"the document is larger than {MAX_DOCUMENT} bytes")
    try:
        text = data.decode("utf-8")
        _check_depth(text)
        return json.loads(text, object_pairs_hook=_without_twins, parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise _Refused("JSON_SYNTAX", f"it is not UTF-8: {error}") from None
    except ValueError as error:
        raise _Refused("JSON_SYNTAX", str(error)) from None


def _check_depth(text: str) -> None:
    """Refuse what is nested too deep before anything recursive looks at it."""
    depth = 0
    for match in _MARKS.finditer(text):
        mark = match[0][0]
        depth += (mark in "[{") - (mark in "]}")
        if depth > MAX_DEPTH:
            raise _Refused("LIMIT", f"the document is nested deeper than {MAX_DEPTH} levels")


def _without_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the key {name[:100]!r} stands twice in one object")
        found[name] = value
    return found


def _no_number(text: str) -> object:
    raise ValueError(f"{text} is no number of JSON")


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
