"""Where the engine keeps its files. Every part of a path is a checked name or an id of the ledger."""

from __future__ import annotations

from pathlib import Path

from pondage.engine.config import EngineConfig


def local_warehouse(warehouse: str) -> Path | None:
    """Answer the warehouse as a path of this machine, or None when it is on another file system."""
    if warehouse.startswith("file:"):
        return Path("/" + warehouse.removeprefix("file:").lstrip("/"))
    return None if "://" in warehouse else Path(warehouse)


def logs_directory(config: EngineConfig) -> Path:
    """Answer where the logs of attempts go: beside the data, or with the state when the data is far away."""
    return (local_warehouse(config.warehouse) or config.state) / "logs"


def code_directory(config: EngineConfig) -> Path:
    """Answer where deployed code is unpacked."""
    return config.state / "code"


def snapshot_path(warehouse: str, *, dataset: str, run: str, token: str) -> str:
    """Answer the place that belongs to one execution alone."""
    return f"{warehouse.rstrip('/')}/data/{dataset}/{run}/{token}"
