"""Sizes of memory and of data as people and the JVM write them."""

from __future__ import annotations

import re

from pondage.errors import DefinitionError, PondageError

_FACTORS = {"k": 1 / 1024, "m": 1.0, "g": 1024.0, "t": 1024.0 * 1024}


def mebibytes(text: str) -> int:
    """Answer a size (`512m`, `2g`, plain mebibytes as Spark reads them) in mebibytes; raises `PondageError`."""
    plain = text.strip().lower().removesuffix("b")
    try:
        if plain[-1:] in _FACTORS:
            return int(float(plain[:-1]) * _FACTORS[plain[-1]])
        return int(plain)
    except (ValueError, OverflowError):
        raise PondageError(
            f"memory {text!r} is not a size", code="BAD_SETTING", hint="write it like 512m or 2g"
        ) from None


_UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000, "t": 1_000_000_000_000}
_DATA = re.compile(r"\s*([0-9]{1,12})\s*([kmgt]?)b\s*\Z", re.IGNORECASE)


def data_bytes(text: str, *, what: str) -> int:
    """Answer an amount of data (`10 GB`, `500 MB`, `4096 B`) in bytes; raises `DefinitionError`."""
    found = _DATA.match(text)
    if found is None or int(found[1]) == 0:
        raise DefinitionError(
            f"{what} {text[:63]!r} is not an amount of data", hint='write it like "500 MB" or "10 GB"', code="BAD_SIZE"
        )
    return int(found[1]) * _UNITS[found[2].lower()]
