from pathlib import Path

import pytest

from pondage.project.current import current_secrets

KNOWN = {"fetch": {"KEY": "env:OLD"}}


def test_secrets_are_those_of_the_file_as_it_is_now(tmp_path: Path) -> None:
    (tmp_path / "pondage.toml").write_text('[project]\nname = "shop"\n[secrets.fetch]\nKEY = "env:NEW"\n')
    assert current_secrets(tmp_path, KNOWN) == {"fetch": {"KEY": "env:NEW"}}


@pytest.mark.parametrize("text", [None, "it is being ed", "[secrets.fetch]\nKEY = 3\n"])
def test_a_file_that_is_not_there_or_being_edited_leaves_what_was_known(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "pondage.toml").write_text(text)
    assert current_secrets(tmp_path, KNOWN) == KNOWN
