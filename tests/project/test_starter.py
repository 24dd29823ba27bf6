"""`pondage init`: the project it writes can be read as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from pondage.errors import DefinitionError, ProjectError
from pondage.project.project import load_project
from pondage.project.reader import read_project
from pondage.project.starter import create_project


def test_the_new_project_can_be_read_at_once(tmp_path: Path):
    files = create_project(tmp_path / "My-Shop")
    assert all(file.is_file() for file in files)
    project = load_project(tmp_path / "My-Shop")
    assert project.name == "my_shop"
    assert [pond.name for pond in read_project(project)] == ["popular", "visits"]
    assert len((tmp_path / "My-Shop" / "README.md").read_text(encoding="utf-8").splitlines()) <= 10


def test_nothing_is_overwritten(tmp_path: Path):
    (tmp_path / "README.md").write_text("mine", encoding="utf-8")
    with pytest.raises(ProjectError) as caught:
        create_project(tmp_path, "shop")
    assert "README.md" in caught.value.message
    assert [each.name for each in tmp_path.iterdir()] == ["README.md"]


def test_a_bad_name_is_refused(tmp_path: Path):
    with pytest.raises(DefinitionError):
        create_project(tmp_path, "My Shop")
