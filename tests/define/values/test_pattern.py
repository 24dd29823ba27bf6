"""Patterns of authors are matched in a time that grows with the text and no faster, or refused when declared."""

from __future__ import annotations

import pytest

from pondage.define.job.component import component
from pondage.define.values.pattern import mismatch, wrong_pattern
from pondage.errors import DefinitionError

EVIL = r"^([a-z0-9]+[.-]?)+@example$"


@pytest.mark.parametrize("pattern", [EVIL, "^(a+)+$", "^(a|a)*$", "^(a*)*b$", r"(x+x+)+y", "^(.*)*@$"])
def test_a_text_that_python_would_read_for_ever_is_read_once(pattern: str) -> None:
    """A million characters: each one more would double the time of an expression that goes back."""
    assert mismatch(pattern, "a" * 1_000_000 + "!") == f"does not match {pattern!r}"


@pytest.mark.parametrize(
    ("pattern", "fitting", "other"),
    [
        ("^[a-z]+$", "abc", "abc\n"),
        ("jdbc:", "a jdbc:x", "jdb"),
        (r"^\d{4}$", "2026", "٢٠٢٦"),
        (r"^\p{L}+$", "Ångström", "a1"),
        ("^.$", "é", "\ud800"),
    ],
)
def test_a_pattern_means_what_json_schema_says(pattern: str, fitting: str, other: str) -> None:
    assert wrong_pattern(pattern) == ""
    assert mismatch(pattern, fitting) == ""
    assert mismatch(pattern, other) == f"does not match {pattern!r}"


@pytest.mark.parametrize("pattern", [r"(?=a)b", r"(?<!a)b", r"(a)\1", "a++b", "^a{5000}$"])
def test_what_only_going_back_can_match_is_said_to_be_that_when_it_is_declared(pattern: str) -> None:
    with pytest.raises(DefinitionError, match=r"going back|repeats") as refused:
        component("mine", params={"properties": {"a": {"pattern": pattern}}}, exposed=True)(lambda **_: None)
    assert (refused.value.code, refused.value.place) == ("BAD_SCHEMA", "params.properties.a.pattern")


@pytest.mark.parametrize("pattern", ["(", "a{99999999999999999999}", "[b-a]", "\ud800"])
def test_what_is_no_pattern_is_no_fence_that_lets_anything_through(pattern: str) -> None:
    assert wrong_pattern(pattern)
    for text in ("", "a", pattern):
        assert mismatch(pattern, text)
