"""What the reading process and its subprocess say to each other, as JSON."""

from __future__ import annotations

import msgspec

from pondage.define.component import ComponentDefinition
from pondage.define.definition import PondDefinition
from pondage.define.reaction import ReactorDefinition
from pondage.define.type_registry import TypeEntry


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Which files, relative to which root, to import; `types` are those that the project gives a name."""

    root: str
    modules: tuple[str, ...]
    types: dict[str, TypeEntry] = {}


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """An error as it travels."""

    code: str
    message: str
    place: str | None = None
    hint: str | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The Ponds, reactors and components that were found, and everything that is wrong."""

    ponds: tuple[PondDefinition, ...] = ()
    reactors: tuple[ReactorDefinition, ...] = ()
    components: tuple[ComponentDefinition, ...] = ()
    problems: tuple[Problem, ...] = ()
