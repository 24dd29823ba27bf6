"""Port types: their grammar, and how two of them meet (flows.md 4, points 1 to 3). Pure: no Spark is asked.

`T := prim | decimal(p,s) | array<T> | map<T,T> | {f: T [not null], … [| RowVar]} | Table<Row> | Stream<Row> | Result<T>
| Bytes<mime> | Value<T> | Panic | Any | TypeVar | Name[@v]`. A variable is a name that a component declares in `vars`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

PRIMITIVES = frozenset(
    {
        "string", "boolean", "byte", "short", "int", "bigint", "float", "double", "date", "timestamp",
        "timestamp_ntz", "binary", "tinyint", "smallint", "long", "void",
    }
)  # fmt: skip
_ALIASES = {"long": "bigint", "byte": "tinyint", "short": "smallint", "integer": "int"}
_WIDER = {
    "tinyint": ("smallint", "int", "bigint", "float", "double"),
    "smallint": ("int", "bigint", "float", "double"),
    "int": ("bigint", "double"),
    "bigint": (),
    "float": ("double",),
    "date": ("timestamp",),
}
PANIC = "{node: string, attempt: int, code: string, message: string, detail: string, at: timestamp}"
MAX_DEPTH = 30
MAX_CHARACTERS = 20_000

_TOKEN = re.compile(r"\s*(?:([A-Za-z_][A-Za-z0-9_./+-]*(?:@[0-9][0-9.]*)?)|(\d+)|([<>{}(),:|]))")


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


class Type(msgspec.Struct, frozen=True):
    """A type: its head (`Table`, `array`, `int`, a name, `row`, `var`), its arguments, its fields, its row variable."""

    head: str
    arguments: tuple[Type, ...] = ()
    fields: tuple[Field, ...] = ()
    rest: str = ""
    version: str = ""
    numbers: tuple[int, ...] = ()

    def __str__(self) -> str:
        if self.head == "row":
            parts = [f"{one.name}: {one.type}{'' if one.is_nullable else ' not null'}" for one in self.fields]
            return "{" + ", ".join(parts) + (f" | {self.rest}" if self.rest else "") + "}"
        if self.head == "var":
            return self.rest
        inner = ", ".join([*(str(one) for one in self.arguments), *map(str, self.numbers)])
        name = f"{self.head}@{self.version}" if self.version else self.head
        if not inner:
            return name
        return f"{name}({inner})" if self.numbers else f"{name}<{inner}>"

    @property
    def is_stream(self) -> bool:
        """Is it a Stream?"""
        return self.head == "Stream"


ANY = Type("Any")
_CONTAINERS = {"Table": 1, "Stream": 1, "Result": 1, "Bytes": 1, "Value": 1, "array": 1, "map": 2}


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
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_./+-]*", name):
            raise TypeSyntax("a type is expected here", column)
        if name == "Panic" and not version:
            return parse_type(PANIC)
        if name in self.variables:
            return Type("var", rest=name)
        if name == "decimal":
            return self.decimal()
        if self.peek() == "<":
            return self.container(name, depth, column)
        name = _ALIASES.get(name, name)
        return Type(name, version="" if name in PRIMITIVES or name == "Any" else version)

    def decimal(self) -> Type:
        self.expect("(")
        precision = self.take()
        self.expect(",")
        scale = self.take()
        self.expect(")")
        if not (precision.isdigit() and scale.isdigit()):
            raise TypeSyntax("decimal takes two numbers", self.at + 1)
        return Type("decimal", numbers=(int(precision), int(scale)))

    def container(self, name: str, depth: int, column: int) -> Type:
        if name not in _CONTAINERS:
            raise TypeSyntax(f"{name} takes no arguments", column)
        self.take()
        arguments = [self.type(depth + 1)]
        while self.peek() == ",":
            self.take()
            arguments.append(self.type(depth + 1))
        self.expect(">")
        if len(arguments) != _CONTAINERS[name]:
            raise TypeSyntax(f"{name} takes {_CONTAINERS[name]} argument(s)", column)
        return Type(name, arguments=tuple(arguments))

    def row(self, depth: int) -> Type:
        fields: list[Field] = []
        rest = ""
        while self.peek() != "}":
            if self.peek() == "|":
                self.take()
                rest = self.take()
                break
            if fields:
                self.expect(",")
            fields.append(self.field(depth, {one.name for one in fields}))
        self.expect("}")
        return Type("row", fields=tuple(fields), rest=rest)

    def field(self, depth: int, known: set[str]) -> Field:
        name = self.take()
        if not name.isidentifier() or name in known:
            raise TypeSyntax(f"{name!r} is no name of a further column", self.at + 1)
        self.expect(":")
        found, is_nullable = self.type(depth + 1), True
        if self.peek() == "not":
            self.take()
            self.expect("null")
            is_nullable = False
        return Field(name, found, is_nullable)


class Mismatch(Exception):
    """Two types do not meet; the text says where."""


Bindings = dict[str, Type]


def unify(got: Type, want: Type, bindings: Bindings, *, accept: str = "exact", at: str = "") -> None:
    """Let what is produced meet what is wanted; variables of the consumer are bound. Raises Mismatch."""
    got, want = resolved(got, bindings), resolved(want, bindings)
    if "Any" in (got.head, want.head):
        return
    if want.head == "var":
        bindings[want.rest] = got
        return
    if got.head == "var":
        bindings[got.rest] = want
        return
    if {got.head, want.head} == {"Table", "Stream"}:
        got = Type(want.head, arguments=got.arguments)
    if got.head == "row" and want.head == "row":
        _unify_rows(got, want, bindings, accept, at)
        return
    if got.head != want.head:
        if accept == "upcast" and want.head in _WIDER.get(got.head, ()):
            return
        raise Mismatch(f"{at or 'type'}: {got} is not {want}")
    _check_same(got, want, at)
    for one, other in zip(got.arguments, want.arguments, strict=True):
        unify(one, other, bindings, accept=accept, at=at)


def _check_same(got: Type, want: Type, at: str) -> None:
    if got.version.partition(".")[0] != want.version.partition(".")[0] and got.version and want.version:
        raise Mismatch(f"{at or 'type'}: {got} and {want} are of different major versions")
    if got.numbers != want.numbers or len(got.arguments) != len(want.arguments):
        raise Mismatch(f"{at or 'type'}: {got} is not {want}")


def _unify_rows(got: Type, want: Type, bindings: Bindings, accept: str, at: str) -> None:
    known = {field.name: field for field in got.fields}
    for field in want.fields:
        here = f"{at}.{field.name}" if at else field.name
        found = known.pop(field.name, None)
        if found is None:
            if got.rest:
                continue
            if accept in ("subset", "upcast") and field.is_nullable:
                continue
            raise Mismatch(f"{here}: the column is missing")
        if found.is_nullable and not field.is_nullable:
            raise Mismatch(f"{here}: it may be null, and is wanted not null")
        unify(found.type, field.type, bindings, accept=accept, at=here)
    if want.rest:
        _bind_rest(want.rest, tuple(known.values()), got.rest, bindings, at)
    elif known and accept == "exact":
        raise Mismatch(f"{at or 'row'}: the columns {', '.join(known)} are too many")
    order = [field.name for field in got.fields if field.name in {one.name for one in want.fields}]
    wanted = [field.name for field in want.fields if field.name in order]
    if accept == "exact" and not want.rest and not got.rest and order != wanted:
        raise Mismatch(f"{at or 'row'}: the columns stand in another order")


def _bind_rest(name: str, fields: tuple[Field, ...], rest: str, bindings: Bindings, at: str) -> None:
    found = Type("row", fields=fields, rest=rest)
    if name in bindings and bindings[name] != found:
        raise Mismatch(f"{at or 'row'}: {name} is {bindings[name]} and also {found}")
    bindings[name] = found


def resolved(given: Type, bindings: Mapping[str, Type]) -> Type:
    """Put in the variables that are bound, everywhere inside a type."""
    if given.head == "var":
        found = bindings.get(given.rest)
        return given if found is None or found == given else resolved(found, bindings)
    fields = tuple(Field(one.name, resolved(one.type, bindings), one.is_nullable) for one in given.fields)
    rest = given.rest
    if given.head == "row" and rest in bindings:
        more = resolved(bindings[rest], bindings)
        known = {field.name for field in fields}
        fields += tuple(field for field in more.fields if field.name not in known)
        rest = more.rest
    arguments = tuple(resolved(one, bindings) for one in given.arguments)
    return Type(given.head, arguments, fields, rest, given.version, given.numbers)


def is_concrete(given: Type) -> bool:
    """Has it no variable left?"""
    if given.head == "var" or given.rest:
        return False
    return all(map(is_concrete, given.arguments)) and all(is_concrete(field.type) for field in given.fields)
