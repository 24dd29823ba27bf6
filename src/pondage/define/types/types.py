"""Port types: their grammar (flows.md 4). How two of them meet: `define.unify`. Pure: no Spark is asked.

`T := prim | decimal(p,s) | array<T> | map<T,T> | {f: T [not null], … [| RowVar]} | Table<Row> | Stream<Row[, ordered:
true]> | Result<T> | Bytes<mime> | Value<T> | Panic | Any | TypeVar | Name[@v]`. A variable is a name that a component
declares in `vars`. A column whose name is no plain word stands in backticks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from pondage.define.types.segment import ORDER

PRIMITIVES = frozenset(
    {
        "string", "boolean", "byte", "short", "int", "bigint", "float", "double", "date", "timestamp",
        "timestamp_ntz", "binary", "tinyint", "smallint", "long", "integer", "void",
    }
)  # fmt: skip
_ALIASES = {"long": "bigint", "byte": "tinyint", "short": "smallint", "integer": "int"}
PANIC = "{node: string, attempt: int, code: string, message: string, detail: string, at: timestamp}"
ERROR = "{code: string, message: string, detail: string}"
MAX_DEPTH = 30
MAX_CHARACTERS = 20_000

_NAME = r"[A-Za-z_][A-Za-z0-9_.]*"
_QUOTED = r"`(?:[^`\x00-\x1f]|``){1,255}`"
_TOKEN = re.compile(rf"\s*(?:({_NAME}(?:@[0-9][0-9.]*)?)|(\d{{1,9}})|({_QUOTED})|([<>{{}}(),:|]))")
_MIME = re.compile(r"\s*[A-Za-z0-9][A-Za-z0-9.+-]{0,126}/[A-Za-z0-9][A-Za-z0-9.+-]{0,126}")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ORDERED = re.compile(r",\s*ordered\s*:\s*true\s*>\s*\Z")
_VERSION = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,2}\Z")


class TypeSyntax(ValueError):
    """A text is no type; `column` counts from 1."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(f"{message} (column {column})")
        self.column = column


class Field(msgspec.Struct, frozen=True):
    """A column of a row."""

    name: str
    type: Type
    is_nullable: bool = True

    def __str__(self) -> str:
        name = self.name if _PLAIN.match(self.name) else "`" + self.name.replace("`", "``") + "`"
        return f"{name}: {self.type}{'' if self.is_nullable else ' not null'}"


class Type(msgspec.Struct, frozen=True):
    """A type: its head (`Table`, `array`, `int`, a name, `row`, `var`), its arguments, its fields, its row variable.

    `rest` is the row variable of a row, or the name of a variable; `kind` of a variable is `row` when only rows fit it.
    """

    head: str
    arguments: tuple[Type, ...] = ()
    fields: tuple[Field, ...] = ()
    rest: str = ""
    version: str = ""
    numbers: tuple[int, ...] = ()
    kind: str = ""
    is_ordered: bool = False
    """Of a Stream: the rows inside a segment have an order, which their column `_seq` tells."""

    def __str__(self) -> str:
        if self.head == "row":
            return "{" + ", ".join(map(str, self.fields)) + (f" | {self.rest}" if self.rest else "") + "}"
        if self.head == "var":
            return self.rest
        if self.numbers:
            return f"{self.head}({','.join(map(str, self.numbers))})"
        if self.arguments:
            order = ", ordered: true" if self.is_ordered else ""
            return f"{self.head}<{', '.join(map(str, self.arguments))}{order}>"
        return f"{self.head}@{self.version}" if self.version else self.head

    @property
    def is_stream(self) -> bool:
        """Is it a Stream?"""
        return self.head == "Stream"

    @property
    def is_named(self) -> bool:
        """Is it a name that a registry explains?"""
        return self.head not in _KNOWN


ANY = Type("Any")
_CONTAINERS = {"Table": 1, "Stream": 1, "Result": 1, "Bytes": 1, "Value": 1, "array": 1, "map": 2}
_KNOWN = PRIMITIVES | _CONTAINERS.keys() | {"row", "var", "decimal", "Any"}
_PORTS_ONLY = frozenset({"Table", "Stream", "Bytes", "Value"})
"""What a port carries as a whole; a column never has such a type."""


def parse_type(text: str, variables: Mapping[str, str] | None = None) -> Type:
    """Read a type; raises TypeSyntax with the column of the first thing that does not belong there."""
    if len(text) > MAX_CHARACTERS:
        raise TypeSyntax("the type is too long", 1)
    reader = _Reader(text, variables or {})
    found = reader.type(0)
    reader.expect_end()
    return found


class _Reader:
    def __init__(self, text: str, variables: Mapping[str, str]) -> None:
        self.text = text
        self.at = 0
        self.variables = variables

    def peek(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        return match[0].strip() if match else ""

    def take(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            raise TypeSyntax("a type is expected here", self.at + 1)
        self.at = match.end()
        return match[0].strip()

    def expect(self, sign: str) -> None:
        if self.peek() != sign:
            raise TypeSyntax(f"{sign!r} is expected here", self.at + 1)
        self.take()

    def expect_end(self) -> None:
        if self.text[self.at :].strip():
            raise TypeSyntax("nothing more is expected here", self.at + 1)

    def type(self, depth: int) -> Type:
        if depth > MAX_DEPTH:
            raise TypeSyntax("the type is nested too deep", self.at + 1)
        column = self.at + 1
        word = self.take()
        if word == "{":
            return self.row(depth)
        name, _, version = word.partition("@")
        if not re.fullmatch(_NAME, name) or (version and not _VERSION.match(version)):
            raise TypeSyntax("a type is expected here", column)
        if name == "Panic" and not version:
            return parse_type(PANIC)
        if name in self.variables:
            return Type("var", rest=name, kind="row" if self.variables[name] == "row" else "")
        if name == "decimal":
            return self.decimal()
        if self.peek() == "<":
            return self.container(name, depth, column)
        if name in _CONTAINERS:
            raise TypeSyntax(f"{name} takes {_CONTAINERS[name]} argument(s)", column)
        name = _ALIASES.get(name, name)
        if version and name in _KNOWN:
            raise TypeSyntax(f"{name} has no versions", column)
        return Type(name, version=version)

    def inner(self, depth: int) -> Type:
        """Read the type of a column, or of a part of one."""
        column = self.at + 1
        found = self.type(depth + 1)
        if found.head in _PORTS_ONLY:
            raise TypeSyntax(f"{found.head} is no type of a column", column)
        return found

    def decimal(self) -> Type:
        self.expect("(")
        column = self.at + 1
        precision = self.take()
        self.expect(",")
        scale = self.take()
        self.expect(")")
        if not (precision.isdigit() and scale.isdigit()):
            raise TypeSyntax("decimal takes two numbers", column)
        if not 1 <= int(precision) <= 38 or int(scale) > int(precision):
            raise TypeSyntax("decimal takes a precision of 1 to 38 and a scale that is not greater", column)
        return Type("decimal", numbers=(int(precision), int(scale)))

    def container(self, name: str, depth: int, column: int) -> Type:
        if name not in _CONTAINERS:
            raise TypeSyntax(f"{name} takes no arguments", column)
        self.take()
        if name == "Bytes" and (mime := _MIME.match(self.text, self.at)):
            self.at = mime.end()
            self.expect(">")
            return Type(name, arguments=(Type(mime[0].strip()),))
        arguments, is_ordered = [self.inner(depth)], False
        while self.peek() == ",":
            self.take()
            if name == "Stream":
                is_ordered = self.ordered()
                break
            arguments.append(self.inner(depth))
        self.expect(">")
        if len(arguments) != _CONTAINERS[name]:
            raise TypeSyntax(f"{name} takes {_CONTAINERS[name]} argument(s)", column)
        if name in ("Table", "Stream") and not _is_row(arguments[0]):
            raise TypeSyntax(f"{name} takes a row: {{column: type, …}}", column)
        if name == "Bytes" and arguments[0].head not in ("Any", "var"):
            raise TypeSyntax("Bytes takes a media type such as text/csv", column)
        if is_ordered and any(field.name == ORDER for field in arguments[0].fields):
            raise TypeSyntax(f"an ordered stream has {ORDER} beside its columns", column)
        return Type(name, arguments=tuple(arguments), is_ordered=is_ordered)

    def ordered(self) -> bool:
        """Read what follows the row of a stream."""
        self.expect("ordered")
        self.expect(":")
        column, word = self.at + 1, self.take()
        if word not in ("true", "false"):
            raise TypeSyntax("true or false is expected here", column)
        return word == "true"

    def row(self, depth: int) -> Type:
        fields: list[Field] = []
        rest = ""
        while self.peek() != "}":
            if self.peek() == "|":
                self.take()
                column, rest = self.at + 1, self.take()
                if self.variables.get(rest) != "row":
                    raise TypeSyntax(f"{rest!r} is no row variable", column)
                break
            if fields:
                self.expect(",")
            fields.append(self.field(depth, {one.name.casefold(): one.name for one in fields}))
        self.expect("}")
        return Type("row", fields=tuple(fields), rest=rest)

    def field(self, depth: int, known: Mapping[str, str]) -> Field:
        column = self.at + 1
        word = self.take()
        name = word[1:-1].replace("``", "`") if word.startswith("`") else word
        if not (word.startswith("`") or _PLAIN.match(word)):
            raise TypeSyntax(f"{name!r} is no name of a column", column)
        if name.casefold() in known:
            other = known[name.casefold()]
            why = "stands there twice" if other == name else f"and {other!r} are one column: Spark ignores the case"
            raise TypeSyntax(f"{name!r} {why}", column)
        self.expect(":")
        found, is_nullable = self.inner(depth), True
        if self.peek() == "not":
            self.take()
            self.expect("null")
            is_nullable = False
        return Field(name, found, is_nullable)


def _is_row(given: Type) -> bool:
    return given.head in ("row", "var", "Any", "Result") or given.is_named


def resolved(given: Type, bindings: Mapping[str, Type]) -> Type:
    """Put in the variables that are bound, everywhere inside a type. What they are bound to has none itself."""
    if given.head == "var":
        return bindings.get(given.rest, given)
    if not (given.arguments or given.fields or given.rest):
        return given
    fields = tuple(Field(one.name, resolved(one.type, bindings), one.is_nullable) for one in given.fields)
    rest = given.rest
    if given.head == "row" and rest in bindings and bindings[rest].head != "Any":
        more = bindings[rest]
        known = {field.name for field in fields}
        fields += tuple(field for field in more.fields if field.name not in known)
        rest = more.rest
    arguments = tuple(resolved(one, bindings) for one in given.arguments)
    return msgspec.structs.replace(given, arguments=arguments, fields=fields, rest=rest)


def is_ordered(text: str) -> bool:
    """Does the text of a type say that it is a Stream whose rows have an order?"""
    return text.lstrip().startswith("Stream") and _ORDERED.search(text) is not None


def is_concrete(given: Type) -> bool:
    """Has it no variable left?"""
    return not any(one.head == "var" or one.rest for one in parts(given))


def has_any(given: Type) -> bool:
    """Is a part of it not known?"""
    return any(one.head == "Any" for one in parts(given))


def parts(given: Type) -> Iterator[Type]:
    """Give a type and everything inside it."""
    yield given
    for one in (*given.arguments, *(field.type for field in given.fields)):
        yield from parts(one)
