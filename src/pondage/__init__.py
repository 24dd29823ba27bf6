"""Pondage: data pipelines on Apache Spark that run when somebody needs the result, and only as often as it is used.

These are the names that an author writes. Importing them costs little: no Spark, no database, no terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pondage.define.definition import Retries
from pondage.define.expectation import bad_rows, between, check, in_set, matches, not_null, rows
from pondage.define.function import pond
from pondage.define.pond import Pond
from pondage.define.publication import Delta, Iceberg
from pondage.define.ripple import Source
from pondage.define.run import Run
from pondage.define.table_rules import foreign_key, fresh, unique, volume
from pondage.define.window import Schedule, Window, daily, hourly, weekly
from pondage.errors import PondageError

if TYPE_CHECKING:
    from pondage.define.accumulator import Accumulator
    from pondage.define.boundary import SnapshotRef
    from pondage.define.component import Resources, Scaling, WrongInput, component
    from pondage.define.component_run import ComponentRun
    from pondage.define.graph import Fire, Graph
    from pondage.define.port import Port
    from pondage.define.program import external_program
    from pondage.define.reactor import OnFailure, Publish, Reactor
    from pondage.define.topology import Route

# Reactors are imported when somebody asks for one: most projects have none.
_LATER = {
    "Accumulator": "pondage.define.accumulator",
    "Fire": "pondage.define.graph",
    "Graph": "pondage.define.graph",
    "OnFailure": "pondage.define.reactor",
    "Publish": "pondage.define.reactor",
    "ComponentRun": "pondage.define.component_run",
    "Port": "pondage.define.port",
    "Reactor": "pondage.define.reactor",
    "Resources": "pondage.define.component",
    "Route": "pondage.define.topology",
    "Scaling": "pondage.define.component",
    "SnapshotRef": "pondage.define.boundary",
    "WrongInput": "pondage.define.component",
    "component": "pondage.define.component",
    "external_program": "pondage.define.program",
}

__all__ = [
    "Accumulator",
    "ComponentRun",
    "Delta",
    "Fire",
    "Graph",
    "Iceberg",
    "OnFailure",
    "Pond",
    "PondageError",
    "Port",
    "Publish",
    "Reactor",
    "Resources",
    "Retries",
    "Route",
    "Run",
    "Scaling",
    "Schedule",
    "SnapshotRef",
    "Source",
    "Window",
    "WrongInput",
    "__version__",
    "bad_rows",
    "between",
    "check",
    "component",
    "daily",
    "external_program",
    "foreign_key",
    "fresh",
    "hourly",
    "in_set",
    "matches",
    "not_null",
    "pond",
    "rows",
    "unique",
    "volume",
    "weekly",
]


def __getattr__(name: str) -> object:
    if name in _LATER:
        from importlib import import_module

        return getattr(import_module(_LATER[name]), name)
    # Asking the installed metadata takes milliseconds, so only somebody who wants the version pays for it.
    if name != "__version__":
        raise AttributeError(f"module 'pondage' has no attribute {name!r}")
    from importlib import metadata

    try:
        return metadata.version("pondage")
    except metadata.PackageNotFoundError:
        return "0+unknown"
