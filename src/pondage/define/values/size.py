"""Sizes of memory as people and the JVM write them."""

from __future__ import annotations

from pondage.errors import PondageError

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
