"""All components of the starter library, found by importing their modules (which import no Spark)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from pondage.define.job.component import LIBRARY, Registry, Schema, definition_of, schema_of
from pondage.errors import PondageError

MODULES = (
    "checks",
    "columns",
    "constants",
    "control",
    "files",
    "groups",
    "iterators",
    "jdbc",
    "joins",
    "results",
    "rows",
    "samples",
)

_OWN = ("fixture_failure",)
"""What only a simulation puts into a plan: nobody writes it into a job, and no list has it."""


@cache
def _functions() -> dict[str, Callable[..., object]]:
    found: dict[str, Callable[..., object]] = {}
    for module in MODULES:
        for value in vars(import_module(f"{LIBRARY}.{module}")).values():
            definition = definition_of(value)
            if definition is not None:
                found[definition.name] = value
    return found


def built_in() -> Registry:
    """Answer the definitions of the starter library by their names."""
    found = {name: definition_of(one) for name, one in _functions().items() if name not in _OWN}
    return {name: definition for name, definition in found.items() if definition is not None}


def built_in_schemas() -> dict[str, Schema]:
    """Answer the pure `schema` functions of the starter library."""
    return {name: found for name, one in _functions().items() if (found := schema_of(one)) is not None}


def built_in_function(entry: str) -> Callable[..., object]:
    """Answer the function of an entry in the starter library; raises when there is none."""
    for one in _functions().values():
        definition = definition_of(one)
        if definition is not None and definition.entry == entry:
            return one
    raise PondageError(f"the library has no component {entry}", code="UNKNOWN_TYPE")
