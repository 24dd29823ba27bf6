"""Where the engine keeps its files. Every part of a path is a checked name or an id of the ledger."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pondage.define.values.names import checked_name
from pondage.engine.process.config import EngineConfig
from pondage.engine.process.local import local_warehouse

LONGEST_SOCKET_PATH = 100
"""The address of a socket has a few characters more on every system."""


def socket_place(rest: int) -> Path:
    """Answer where a socket goes whose path needs so many more characters: TMPDIR, or /tmp when that is deep."""
    given = Path(tempfile.gettempdir())
    return given if len(os.fsencode(given)) + rest < LONGEST_SOCKET_PATH else Path("/tmp")


def logs_directory(config: EngineConfig) -> Path:
    """Answer where the logs of attempts go: beside the data, or with the state when the data is far away."""
    return (local_warehouse(config.warehouse) or config.state) / "logs"


def code_directory(config: EngineConfig) -> Path:
    """Answer where deployed code is unpacked."""
    return config.state / "code"


def table_directory(warehouse: Path, *, environment: str, pond: str, major: int, ripple: str) -> Path:
    """Answer where outside readers find a table under a name that does not change."""
    names = [checked_name(each) for each in (environment, pond, ripple)]
    return warehouse / "tables" / names[0] / names[1] / f"v{major}" / names[2]


def snapshot_path(warehouse: str, *, dataset: str, run: str, token: str) -> str:
    """Answer the place that belongs to one execution alone."""
    return f"{warehouse.rstrip('/')}/data/{dataset}/{run}/{token}"


def lists_path(warehouse: str, *, dataset: str) -> str:
    """Answer the place of the lists of what the batches of a table have taken. No run has this name."""
    return f"{warehouse.rstrip('/')}/data/{dataset}/taken"


def run_table_path(warehouse: str, *, run: str, dispatch: int, port: str, token: str) -> str:
    """Answer the place of a table between components of a job: a port is a checked name."""
    return f"{warehouse.rstrip('/')}/runs/{run}/{dispatch}/{port}/{token}"


def checkpoint_path(warehouse: str, *, place: str) -> str:
    """Answer where Spark keeps how far it has read a stream: `place` is the ledger's, with a checked name."""
    return f"{warehouse.rstrip('/')}/streams/{place}"
