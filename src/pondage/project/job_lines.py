"""The lines of `connections`: `a.main -> b.input`, `a, b (synchronise) c`, `a (if1): "x > 0" b`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pondage.define.job.job import CONTROL_KINDS, ControlLink, DataLink, Place

_NAME = r"[A-Za-z][A-Za-z0-9_]*"
_DATA = re.compile(rf"\s*({_NAME})\.({_NAME})\s*->\s*({_NAME})\.({_NAME})(?=\s|\Z)")
_CONTROL = re.compile(rf"\s*({_NAME}(?:\s*,\s*{_NAME})*)\s*\(\s*({_NAME})\s*\)\s*({_NAME}(?:\s*,\s*{_NAME})*)(?=\s|\Z)")
_IF = re.compile(rf"""\s*({_NAME})\s*\(\s*(?:if)?(\d{{1,9}})\s*\)\s*:\s*(?:"((?:[^"\\]|\\.)*)")\s*({_NAME})(?=\s|\Z)""")


class BadLine(ValueError):
    """A line that is no connection."""


def data_links(text: str, place: Place) -> Iterator[DataLink]:
    """Read one or several data connections (a folded text holds several); raises BadLine."""
    at = 0
    while text[at:].strip():
        match = _DATA.match(text, at)
        if match is None:
            raise BadLine(f"{text[at:].strip()[:60]!r} is no data connection; write a.main -> b.input")
        yield DataLink(source=match[1], source_port=match[2], target=match[3], target_port=match[4], place=place)
        at = match.end()


def control_links(text: str, place: Place) -> Iterator[ControlLink]:
    """Read one or several control connections; raises BadLine."""
    at = 0
    while text[at:].strip():
        if (match := _IF.match(text, at)) is not None:
            expression = re.sub(r"\\(.)", r"\1", match[3])
            yield ControlLink(
                kind="if", source=match[1], target=match[4], order=int(match[2]), expression=expression, place=place
            )
        elif (match := _CONTROL.match(text, at)) is not None and match[2] in CONTROL_KINDS and match[2] != "if":
            for source in _names(match[1]):
                for target in _names(match[3]):
                    yield ControlLink(kind=match[2], source=source, target=target, place=place)
        else:
            raise BadLine(f'{text[at:].strip()[:60]!r} is no control connection; write a (ok) b, or a (if1): "x > 0" b')
        at = match.end()


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def end_of(text: str) -> tuple[str, str]:
    """Read `component.port`; raises BadLine."""
    match = re.fullmatch(rf"\s*({_NAME})\.({_NAME})\s*", text)
    if match is None:
        raise BadLine(f"{text!r} is no port; write component.port")
    return match[1], match[2]


def is_name(text: str) -> bool:
    """Is it the name of a component?"""
    return re.fullmatch(_NAME, text) is not None
