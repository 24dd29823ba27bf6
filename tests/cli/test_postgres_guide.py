"""What docs/postgres.md says is so: its settings are read, and its commands exist with these options."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from pondage.cli.main import program
from pondage.project.project import load_project

GUIDE = (Path(__file__).parents[2] / "docs" / "postgres.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", GUIDE, re.DOTALL)


@pytest.mark.parametrize("settings", blocks("toml"))
def test_its_settings_are_read(tmp_path: Path, settings: str) -> None:
    (tmp_path / "pondage.toml").write_text(settings)
    project = load_project(tmp_path)
    assert project.ledger == "postgresql://pondage@db.example/pondage"
    assert project.worker.labels in ((), ("gpu", "eu"))


@pytest.mark.parametrize("line", [line for block in blocks("console") for line in block.strip().splitlines()])
def test_its_commands_are_understood(line: str) -> None:
    name, verb, *arguments = shlex.split(line)
    assert name == "pondage"
    context = click.Context(program)
    command = program.get_command(context, verb)
    assert command is not None
    command.make_context(verb, list(arguments), parent=context)


def test_every_option_of_a_worker_is_explained() -> None:
    command = program.get_command(click.Context(program), "worker")
    assert command is not None
    options = [option for each in command.params for option in each.opts]
    assert [option for option in options if option not in GUIDE] == []
