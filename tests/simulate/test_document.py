"""docs/simulate.md says what really happens: its project is written, its commands are run, their output compared."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Call

TEXT = (Path(__file__).parents[2] / "docs" / "simulate.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)


@pytest.fixture
def in_utc() -> Iterator[None]:
    """The document's times are of this zone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("in_utc")
def test_the_examples_print_what_the_document_shows(project: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    (project / "ponds").mkdir()
    (project / "ponds" / "shop.py").write_text(blocks("python")[0])
    (project / "day.jsonl").write_text(blocks("json")[0])
    shown = blocks("console")
    assert len(shown) == 2
    for block in shown:
        command, _, expected = block.partition("\n")
        said = call(*command.removeprefix("$ pondage ").split())
        assert said.out == expected


def test_every_option_of_the_document_exists(call: Call) -> None:
    known = call("simulate", "--help").out + call("readers", "--help").out
    for option in set(re.findall(r"--[a-z][a-z-]+", TEXT)) - {"--env"}:
        assert option in known, option
