"""`pondage error`: every code that the program can show is explained, from the code itself."""

from __future__ import annotations

import json

import pytest

from pondage.cli.look.error import known_codes
from pondage.cli.main import main
from scripts.error_codes import codes
from scripts.error_codes import main as written


def test_what_is_written_of_error_codes_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert written(["--check"]) == 0, capsys.readouterr().out


def test_each_code_says_what_it_is() -> None:
    assert known_codes().keys() == codes().keys()
    assert len(known_codes()) > 250
    assert all(each.kind or each.said for each in known_codes().values())


@pytest.mark.parametrize("typed", ["NO_POND", "no-pond", "error[NO_POND]"])
def test_a_code_is_explained_as_it_was_shown(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["error", typed]) == 0
    said = capsys.readouterr().out
    assert said.startswith("NO_POND")
    assert "there is no Pond" in said
    assert "→" in said


def test_the_codes_are_listed_and_answered_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["error"]) == 0
    assert "CONTRACT: " in capsys.readouterr().out
    assert main(["error", "CONTRACT", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["code"] == "CONTRACT"


def test_a_mistyped_code_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["error", "CONTRCT"]) == 1
    assert "pondage error CONTRACT" in capsys.readouterr().err
