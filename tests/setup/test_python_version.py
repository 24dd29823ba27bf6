"""The first thing the set-up says is whether this Python will do."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from scripts import bootstrap


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 14), (4, 0)])
def test_a_python_that_is_new_enough_is_not_refused(version: tuple[int, int]) -> None:
    assert bootstrap.refusal_of_python(version) is None


@pytest.mark.parametrize("version", [(3, 6), (3, 10)])
def test_an_old_python_is_told_what_to_install_and_what_to_type(version: tuple[int, int]) -> None:
    refusal = bootstrap.refusal_of_python(version)
    assert refusal is not None
    assert f"this is Python 3.{version[1]}" in refusal
    assert "apt install python3.11" in refusal
    assert "make demo PYTHON=" in refusal


def test_the_file_that_refuses_can_be_read_by_the_pythons_it_refuses() -> None:
    ast.parse(Path(bootstrap.__file__).read_text(encoding="utf-8"), feature_version=(3, 7))


def test_an_unknown_set_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert bootstrap.main(["nonsense"]) == 2
    said = capsys.readouterr().err
    assert "nonsense" in said
    assert "demo" in said
