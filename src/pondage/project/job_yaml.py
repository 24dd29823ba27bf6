"""YAML with places: plain values, and the line and column of every path. Only plain data is ever made of a text."""

from __future__ import annotations

import math
from typing import Any

import yaml

from pondage.define.job.job import Place

MAX_NODES = 200_000
MAX_DEPTH = 50
MAX_DIGITS = 400
MAX_CHARACTERS = 4_000_000


class YamlProblem(Exception):
    """The text is no YAML that we read; line and column count from 1."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


class Document:
    """The value of a text, and where its parts stand. Paths look like `$.components[1].type`."""

    def __init__(self, value: object, file: str, places: dict[str, tuple[int, int]]) -> None:
        self.value = value
        self.file = file
        self._places = places

    def place(self, path: str) -> Place:
        """Give where a path stands; the nearest part around it when it is not in the text."""
        known = path
        while known and known not in self._places:
            known = known[: max(known.rfind("."), known.rfind("["), 0)]
        line, column = self._places.get(known, (1, 1))
        return Place(file=self.file, path=path, line=line, column=column)


def read_yaml(given: str | bytes, file: str) -> Document:
    """Read a text, or the bytes of a file; raises YamlProblem for bad syntax, tags, and anything out of bounds."""
    text = given if isinstance(given, str) else _text(given)
    if len(text) > MAX_CHARACTERS:
        raise YamlProblem(f"the file has more than {MAX_CHARACTERS} characters", 1, 1)
    node = _composed(text)
    reader = _Reader()
    value = None if node is None else reader.read(node, "$", 0)
    return Document(value, file, reader.places)


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        read = data[: error.start].decode("utf-8")
        found = " (it looks like UTF-16)" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        why = f"it is not UTF-8: byte {error.start + 1}{found}"
        raise YamlProblem(why, read.count("\n") + 1, len(read) - read.rfind("\n")) from error


def _composed(text: str) -> yaml.Node | None:
    try:
        found: yaml.Node | None = yaml.compose(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        return found
    except yaml.YAMLError:
        pass
    # The reader in C is fast, the one in Python explains: a text with an error is read again.
    try:
        again: yaml.Node | None = yaml.compose(text, yaml.SafeLoader)
        return again
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise YamlProblem(error.problem or str(error), line, column) from error
    except yaml.YAMLError as error:
        raise YamlProblem(str(error).splitlines()[0], 1, 1) from error


class _Reader:
    def __init__(self) -> None:
        self.places: dict[str, tuple[int, int]] = {}
        self.count = 0
        self.scalars = yaml.constructor.SafeConstructor()

    def read(self, node: yaml.Node, path: str, depth: int) -> Any:
        mark = node.start_mark
        self.places.setdefault(path, (mark.line + 1, mark.column + 1))
        self.count += 1
        if depth > MAX_DEPTH:
            raise _problem(node, f"it is nested deeper than {MAX_DEPTH} levels")
        if self.count > MAX_NODES:
            # An alias of an alias of an alias is small as a text and endless as a value.
            raise _problem(node, f"the file holds more than {MAX_NODES:,} values")
        if isinstance(node, yaml.MappingNode):
            _require_tag(node, "map")
            return self._mapping(node, path, depth)
        if isinstance(node, yaml.SequenceNode):
            _require_tag(node, "seq")
            return [self.read(one, f"{path}[{number}]", depth + 1) for number, one in enumerate(node.value)]
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, path: str, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise _problem(key_node, "a key must be a plain text")
            _require_tag(key_node, *_SCALARS, "merge")
            key = str(key_node.value)
            if key in found:
                raise _problem(key_node, f"the key {key!r} stands here twice")
            found[key] = self.read(value_node, f"{path}.{key}", depth + 1)
        return found

    def _scalar(self, node: yaml.Node) -> Any:
        _require_tag(node, *_SCALARS)
        kind = node.tag.removeprefix(_TAG)
        if kind in ("str", "timestamp", "value"):
            return str(node.value)
        if kind in ("int", "float") and len(node.value) > MAX_DIGITS:
            raise _problem(node, f"a number has at most {MAX_DIGITS} characters, not {len(node.value)}")
        try:
            value = self.scalars.construct_object(node)
        except ValueError as error:
            raise _problem(node, str(error)) from error
        if isinstance(value, float) and not math.isfinite(value):
            raise _problem(node, f"{node.value} is no number that can be computed with")
        return value


def _require_tag(node: yaml.Node, *kinds: str) -> None:
    if node.tag not in {_TAG + kind for kind in kinds}:
        raise _problem(node, f"the tag {node.tag.replace(_TAG, '!!')} is not allowed: only plain values are read")


def _problem(node: yaml.Node, message: str) -> YamlProblem:
    return YamlProblem(message, node.start_mark.line + 1, node.start_mark.column + 1)


_TAG = "tag:yaml.org,2002:"
_SCALARS = ("str", "int", "float", "bool", "null", "timestamp", "value")
