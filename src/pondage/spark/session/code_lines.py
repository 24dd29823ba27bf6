"""Which lines of a file a function is, with the functions inside it: so an error that has a place finds its author."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType


def lines_of(code: CodeType) -> frozenset[int]:
    """Answer the lines of a function and of the functions inside it, its first one included."""
    return frozenset({code.co_firstlineno, *_lines(code)})


def _lines(code: CodeType) -> Iterator[int]:
    yield from (line for _, _, line in code.co_lines() if line is not None)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _lines(constant)
