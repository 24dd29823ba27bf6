"""Pondage: data pipelines on Apache Spark that run when somebody needs the result, and only as often as it is used.

These are the names that an author writes. Importing them costs little: no Spark, no database, no terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pondage.define.pond.definition import Retries
from pondage.define.pond.expectation import bad_rows, between, check, in_set, matches, not_null, rows
from pondage.define.pond.function import pond
from pondage.define.pond.pond import Pond
from pondage.define.pond.publication import Delta, Iceberg
from pondage.define.pond.ripple import Source
from pondage.define.pond.run import Run
from pondage.define.pond.table_rules import foreign_key, fresh, unique, volume
from pondage.define.pond.trigger import Tide, Wave
from pondage.define.pond.window import Schedule, Window, daily, hourly, weekly
from pondage.errors import PondageError

if TYPE_CHECKING:
    from pondage.define.job.component import Resources, Scaling, WrongInput, component
    from pondage.define.job.component_run import ComponentRun
    from pondage.define.job.program import external_program
    from pondage.define.reactor.accumulator import Accumulator
    from pondage.define.reactor.boundary import SnapshotRef
    from pondage.define.reactor.graph import Fire, Graph
    from pondage.define.reactor.reactor import OnFailure, Publish
    from pondage.define.reactor.topology import Route
    from pondage.define.types.port import Port
    from pondage.reactors import Reactor
    from pondage.reading import read

# Reactors are imported when somebody asks for one: most projects have none.
_LATER = {
    "Accumulator": "pondage.define.reactor.accumulator",
    "Fire": "pondage.define.reactor.graph",
    "Graph": "pondage.define.reactor.graph",
    "OnFailure": "pondage.define.reactor.reactor",
    "Publish": "pondage.define.reactor.reactor",
    "ComponentRun": "pondage.define.job.component_run",
    "Port": "pondage.define.types.port",
    "Reactor": "pondage.reactors",
    "Resources": "pondage.define.job.component",
    "Route": "pondage.define.reactor.topology",
    "Scaling": "pondage.define.job.component",
    "SnapshotRef": "pondage.define.reactor.boundary",
    "WrongInput": "pondage.define.job.component",
    "component": "pondage.define.job.component",
    "read": "pondage.reading",
    "external_program": "pondage.define.job.program",
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
    "Tide",
    "Wave",
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
    "read",
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
