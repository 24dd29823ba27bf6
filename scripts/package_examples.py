"""Put the examples into the wheel, so that `pondage demo` has one to copy after a plain install.

An editable install gets none: there the command finds `examples/` in the checkout, where a copy would only grow old.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LEFT_BEHIND = {"__pycache__", "metastore_db", "spark-warehouse"}


def is_example_source(path: Path) -> bool:
    """Tell an author's file from what a run of the example left in its folder."""
    return not any(part in LEFT_BEHIND or part.startswith(".") for part in path.parts)


class PackageExamples(BuildHookInterface):  # type: ignore[type-arg]
    """Adds every file under `examples/` as `pondage/examples/…`."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it collects the wheel's files."""
        if version == "editable":
            return
        examples = Path(self.root) / "examples"
        for path in sorted(examples.rglob("*")):
            relative = path.relative_to(examples)
            if path.is_file() and is_example_source(relative):
                build_data["force_include"][str(path)] = f"pondage/examples/{relative.as_posix()}"
