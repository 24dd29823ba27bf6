"""Zero characters are found however many backslashes stand before them, and large bodies are gone over once."""

from __future__ import annotations

import json

import pytest

from pondage.server.problems import has_zero


@pytest.mark.parametrize("backslashes", range(6))
def test_a_zero_character_is_one_behind_an_even_number_of_backslashes(backslashes: int) -> None:
    written = b'{"a": "' + b"\\" * backslashes + b'u0000"}'
    is_zero = backslashes > 0 and "\0" in json.loads(written)["a"]
    assert has_zero(written) == is_zero
    assert has_zero(bytearray(b'{"b": "\\\\u0000 \\u0000"}' + written)), "one of many is enough"


@pytest.mark.parametrize(
    "body", [b"\\" * 10_000_001, b"\\\\u0000" * 2_000_000, (b"\\" * 1_000 + b" ") * 10_000 + b"\\\\u0000"]
)
def test_a_body_of_backslashes_is_gone_over_once(body: bytes) -> None:
    assert not has_zero(body)
