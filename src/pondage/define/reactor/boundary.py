"""Typed boundaries: what arrives is checked against the declared type, and what is wrong is named by its path."""

from __future__ import annotations

import math
import re
from typing import Generic, TypeVar

import msgspec
import msgspec.inspect

from pondage.errors import DefinitionError

T = TypeVar("T")
_PLACE = re.compile(r"(?P<what>.*?)(?: - at `(?P<path>[^`]*)`)?\Z", re.DOTALL)

_SUSPECT = re.compile(rb"null|[0-9]{19}")
"""In the JSON of a value: what may have been NaN, and what may be too large. Anything else is kept as it is."""
MOST_DEPTH = 200
"""Lists and objects inside of each other. Whoever keeps or shows a value puts it into others, and JSON is read and
written up to 1,000 deep only: what was taken in at 990 could be shown to nobody any more."""
_MISSING = re.compile(r"Object missing required field `(?P<field>[^`]*)`\Z")


class InvalidBoundary(ValueError):
    """A value is not of the boundary's type; `path` says where (`$` is the value itself)."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path
        self.message = message


class SnapshotRef(msgspec.Struct, frozen=True):
    """The value of a Pond source: a published Run of the Pond, by freshness, delay and snapshot id."""

    freshness: int
    delay: int
    id: str


def patterns_of(kind: object) -> list[str]:
    """Answer the patterns in a type, however deep: decoding by it matches them by going back, without a bound."""
    found: list[str] = []
    waiting: list[object] = [msgspec.inspect.type_info(kind)]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if isinstance(one, tuple):
            waiting.extend(one)
        elif isinstance(one, msgspec.inspect.Type | msgspec.inspect.Field) and id(one) not in seen:
            seen.add(id(one))
            if isinstance(one, msgspec.inspect.StrType) and one.pattern is not None:
                found.append(one.pattern)
            waiting.extend(getattr(one, name) for name in one.__struct_fields__)
    return found


def check_patterns(kind: object, what: str, place: str) -> None:
    """Raise `DefinitionError` for a type with a pattern: one text that somebody pushes could hold up the whole host."""
    for pattern in patterns_of(kind):
        raise DefinitionError(
            f"{what} has the pattern {pattern!r}, which is matched by going back, without a bound",
            hint="take the pattern out of the type, and look at the text in a hook of the accumulator",
            place=place,
            code="UNBOUND_PATTERN",
        )


class BoundaryType(Generic[T]):
    """A dataclass, a msgspec struct, or any type that msgspec knows."""

    __slots__ = ("_decoder", "_is_class", "type")

    def __init__(self, boundary: type[T]) -> None:
        self.type = boundary
        self._decoder = msgspec.json.Decoder(boundary)
        self._is_class = isinstance(boundary, type)

    def check(self, value: object) -> T:
        """Give the value as the boundary's type; raises InvalidBoundary. An instance of the type is one already."""
        if self._is_class and type(value) is self.type:
            return value
        try:
            return msgspec.convert(value, self.type)
        except msgspec.ValidationError as error:
            raise _invalid(error) from error
        except RecursionError:
            raise _too_deep("$") from None

    def described(self) -> str:
        """Give the type as a text: equal texts mean that values of one fit the other."""
        try:
            return msgspec.json.encode(msgspec.json.schema(self.type)).decode()
        except TypeError:  # a type that JSON Schema has no word for
            return repr(self.type)

    def decode(self, text: bytes | str) -> T:
        """Give what a JSON text says; raises InvalidBoundary."""
        try:
            return self._decoder.decode(text)
        except msgspec.DecodeError as error:
            raise _invalid(error) from error
        except RecursionError:
            raise _too_deep("$") from None


def require_kept(value: object) -> None:
    """Raise InvalidBoundary when a value cannot be kept as JSON and come back the same; its path says where.

    That is an integer beyond 64 bits, a lone surrogate, NaN, an infinite number, what is nested too deeply, or a value
    of a type without JSON.
    """
    try:
        text = msgspec.json.encode(value)
        is_plain = _SUSPECT.search(text) is None and text.count(b"[") + text.count(b"{") <= MOST_DEPTH
    except (TypeError, ValueError, OverflowError, RecursionError):
        is_plain = False
    if not is_plain:
        _walk(value)


def kept_text(text: str) -> str:
    """Give a text that can be kept: of what somebody's error says, half pairs of characters are escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def _walk(value: object) -> None:
    try:
        waiting = [("$", msgspec.to_builtins(value), 0)]
    except RecursionError:
        raise _too_deep("$") from None
    except TypeError as error:
        raise InvalidBoundary("$", f"it cannot be written as JSON: {error}") from None
    while waiting:
        path, one, depth = waiting.pop()
        match one:
            case bool() | None:
                pass
            case dict() | list() | tuple() if depth >= MOST_DEPTH:
                raise _too_deep(path)
            case dict():
                for key, inner in one.items():
                    _require_text(path, str(key))
                    waiting.append((f"{path}.{key}", inner, depth + 1))
            case list() | tuple():
                waiting += [(f"{path}[{at}]", inner, depth + 1) for at, inner in enumerate(one)]
            case int() if not -(2**63) <= one < 2**63:
                raise InvalidBoundary(path, "an integer is kept with 64 bits, and this one needs more")
            case float() if not math.isfinite(one):
                raise InvalidBoundary(path, f"JSON has no {one}")
            case str():
                _require_text(path, one)


def _too_deep(path: str) -> InvalidBoundary:
    shown = path if len(path) <= 60 else path[:60] + "…"
    return InvalidBoundary(shown, f"it is nested more than {MOST_DEPTH} deep")


def _require_text(path: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidBoundary(path, f"character {error.start + 1} is half of a pair, and no text") from None


def _invalid(error: Exception) -> InvalidBoundary:
    found = _PLACE.match(str(error))
    path, what = (found["path"], found["what"]) if found else (None, str(error))
    missing = _MISSING.match(what)
    return InvalidBoundary((path or "$") + (f".{missing['field']}" if missing else ""), what)
