"""The registry of types: what each one means and how it becomes octets, built in or declared by a project."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from pondage.define.types.types import ERROR, PANIC, TypeSyntax, parse_type, parts
from pondage.define.types.unify import Structures

ARROW = "an Arrow IPC stream; columns by their Spark types"
_JSON = "one JSON value in UTF-8"


class TypeEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A type of the registry. `definition` is what it consists of, as a text of the grammar; empty for a basic one."""

    name: str
    version: str = ""
    definition: str = ""
    doc: str = ""
    serialisation: str = ""
    is_built_in: bool = False

    @property
    def key(self) -> str:
        """Give the name with the major version: two entries of one key are the same type."""
        return f"{self.name}@{self.version.partition('.')[0]}" if self.version else self.name


TypeRegistry = Mapping[str, TypeEntry]


def _basic(name: str, doc: str, serialisation: str = "", definition: str = "") -> TypeEntry:
    return TypeEntry(
        name=name, doc=doc, serialisation=serialisation or "inside a row: its Arrow type; inside a Value: JSON",
        definition=definition, is_built_in=True,
    )  # fmt: skip


BUILT_IN: TypeRegistry = {
    one.name: one
    for one in (
        _basic("Table", "Rows that are handed on as a whole, when whoever makes them has ended well.", ARROW),
        _basic("Stream", "Rows in segments that keep their order; a reader follows while they are written. The "
               "rows inside a segment have an order only with `ordered: true`.",
               f"for each segment {ARROW}; ordered rows have their numbers in `_seq`"),
        _basic("Value", "One value, small enough for memory.", _JSON),
        _basic("Bytes", "Octets of a media type; nobody looks inside.", "the octets as they are"),
        _basic("Result", "A value or the error that stands for it: exactly one of both is not null.",
               "as the row that it consists of", f"{{ok: T, err: {ERROR}}}"),
        _basic("Panic", "What a component says when it fails, as its output `panic` gives it.",
               "as the row that it consists of", PANIC),
        _basic("Any", "Not known before something runs; it meets every type."),
        _basic("string", "A text in UTF-8."),
        _basic("boolean", "True or false."),
        _basic("tinyint", "A whole number of 8 bits (also byte)."),
        _basic("smallint", "A whole number of 16 bits (also short)."),
        _basic("int", "A whole number of 32 bits (also integer)."),
        _basic("bigint", "A whole number of 64 bits (also long)."),
        _basic("float", "A binary floating-point number of 32 bits."),
        _basic("double", "A binary floating-point number of 64 bits."),
        _basic("decimal", "An exact number decimal(p,s): p digits in all (1 to 38), s of them behind the point."),
        _basic("date", "A day; as JSON 2026-01-31."),
        _basic("timestamp", "A moment in microseconds; as JSON 2026-01-31T12:00:00Z."),
        _basic("timestamp_ntz", "A date with a time of day, in no time zone; as JSON 2026-01-31T12:00:00."),
        _basic("binary", "Octets in a column; as JSON base64."),
        _basic("void", "Nothing but null."),
        _basic("array", "Elements of one type."),
        _basic("map", "Values by keys."),
    )
}  # fmt: skip


def structures_of(registry: TypeRegistry) -> Structures:
    """Give what each declared type consists of."""
    return {entry.key: parse_type(entry.definition) for entry in registry.values() if not entry.is_built_in}


def unknown_names(text: str, registry: TypeRegistry) -> list[str]:
    """Give the names in a type that no registry explains; raises TypeSyntax for what is no type."""
    found = []
    for one in parts(parse_type(text)):
        if not one.is_named or "/" in one.head:
            continue
        known = any(
            entry.name == one.head and (not one.version or entry.key == f"{one.head}@{one.version.partition('.')[0]}")
            for entry in registry.values()
        )
        if not known:
            found.append(str(one))
    return found


def wrong_entry(entry: TypeEntry) -> str:
    """Answer what is wrong with a declared type, or nothing."""
    if entry.name in BUILT_IN or not entry.name[:1].isupper():
        return "is no name for a type: begin it with a capital letter, and take none that is built in"
    try:
        found = parse_type(entry.definition)
    except TypeSyntax as error:
        return f"is no type: {error}"
    return "" if found.head == "row" else "must consist of columns: {id: bigint, …}"
