"""Names and ids: the only texts of an author that may become part of a key or a path."""

from __future__ import annotations

import re
from typing import NewType

from pondage.errors import DefinitionError

PondKey = NewType("PondKey", str)
"""A Pond in its major version, for example `sales@2`."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}\Z")
_VERSION = re.compile(r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\Z", re.ASCII)
_MINIMUM = re.compile(r"\s*(?:>=)?\s*(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?\s*\Z", re.ASCII)

Version = tuple[int, int, int]


def is_name(text: str) -> bool:
    """Answer whether a text can be a name."""
    return _NAME.match(text) is not None


def checked_name(text: str, *, what: str = "name", place: str | None = None) -> str:
    """Answer `text` when it is a lower-case identifier of at most 63 characters, else raise `DefinitionError`."""
    if not _NAME.match(text):
        raise DefinitionError(
            f"{what} {text!r} is not a valid name",
            hint="use lower-case letters, digits and underscores, starting with a letter, at most 63 characters",
            place=place,
            code="BAD_NAME",
        )
    return text


def parsed_version(text: str, *, place: str | None = None) -> Version:
    """Answer `1.2.3` as numbers, or raise `DefinitionError`."""
    match = _VERSION.match(text)
    if not match:
        raise DefinitionError(
            f"version {text!r} is not of the form 1.2.3",
            hint="write it as major.minor.patch",
            place=place,
            code="BAD_VERSION",
        )
    return int(match[1]), int(match[2]), int(match[3])


def parsed_minimum(text: str, *, place: str | None = None) -> Version:
    """Answer the minimum version of a Source (`>=1.2`, `2`, `1.2.3`) as numbers, or raise `DefinitionError`."""
    match = _MINIMUM.match(text)
    if not match:
        raise DefinitionError(
            f"minimum version {text!r} is not of the form >=1.2",
            hint="write `>=1.2`: it binds within major 1",
            place=place,
            code="BAD_VERSION",
        )
    return int(match[1]), int(match[2] or 0), int(match[3] or 0)


def pond_key(name: str, major: int) -> PondKey:
    """Answer the key of a Pond's major version."""
    return PondKey(f"{name}@{major}")


def split_key(key: str) -> tuple[str, int]:
    """Answer name and major of a key made by `pond_key`."""
    name, _, major = key.rpartition("@")
    return name, int(major)


def table_key(pond: str, ripple: str) -> str:
    """Answer how the table of a Ripple is called among those of all Ponds: `sales@1.clean`."""
    return f"{pond}.{ripple}"
