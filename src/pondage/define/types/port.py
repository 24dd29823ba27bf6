"""Ports: where data enters and leaves a component."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

Accept = Literal["exact", "subset", "upcast"]

ANY_TABLE = "Table<Any>"
INFER = "infer"
PANIC_PORT = "panic"
"""The output that every node of a flow has: one row, only when it fails."""
STOP_PORT = "stop"
"""The input that every node of a flow has: its first row stops it."""


class Port(msgspec.Struct, frozen=True, omit_defaults=True):
    """One port. `type` is a text of the type grammar, or `infer`; a name that ends in `*` stands for many ports.

    `required` and `multi` are about inputs: a required port that can no longer be fed starves its component, and only
    a `multi` port may have several connections. `discardable` is about outputs of flows: nobody has to read it. What
    comes in by a `job_only` port says where to look, so that no tree may wire it.
    """

    type: str = ANY_TABLE
    required: bool = True
    multi: bool = False
    discardable: bool = False
    accept: Accept = "exact"
    job_only: bool = False


def as_ports(given: Mapping[str, str | Port] | None) -> dict[str, Port]:
    """Give ports as declared in short (`name: type`) or in full."""
    return {name: Port(type=port) if isinstance(port, str) else port for name, port in (given or {}).items()}


def declared_port(ports: Mapping[str, Port], name: str) -> Port | None:
    """Find the port of that name: declared as it is, or by the longest wild card that it begins with."""
    if name in ports and not name.endswith("*"):
        return ports[name]
    fitting = [wild for wild in ports if wild.endswith("*") and name.startswith(wild[:-1]) and name != wild[:-1]]
    return ports[max(fitting, key=len)] if fitting else None


def natural_order(names: Iterable[str]) -> list[str]:
    """Sort with numbers by their value: `output_2` stands before `output_10`."""
    return sorted(names, key=lambda name: [(part.isdigit(), int(part or 0), "") if part.isdigit() else (False, 0, part)
                                           for part in re.split(r"(\d+)", name)])  # fmt: skip
