"""What the project file says now, for processes that have read it long ago."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pondage.errors import PondageError
from pondage.project.project import load_project


def current_secrets(root: Path | str, known: Mapping[str, Mapping[str, str]]) -> Mapping[str, Mapping[str, str]]:
    """Answer `[secrets.COMPONENT]` as it stands in the file, so that a name that was added needs no restart.

    What was `known` when the process began is answered where the file is not there, or is being edited and wrong.
    """
    try:
        return load_project(Path(root)).secrets
    except PondageError:
        return known
