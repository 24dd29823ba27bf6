"""Small projects written into a temporary directory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pondage.project.project import Project, load_project

Write = Callable[[dict[str, str]], Project]


@pytest.fixture
def project_of(tmp_path: Path) -> Write:
    """Answer a function that writes files into one project and loads it; called again, it writes over them."""
    root = tmp_path / "shop"

    def write(files: dict[str, str]) -> Project:
        for name, text in {"pondage.toml": '[project]\nname = "shop"\n', **files}.items():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return load_project(root)

    return write
