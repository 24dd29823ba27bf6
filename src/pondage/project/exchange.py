"""What the reading process and its subprocess say to each other, as JSON."""

from __future__ import annotations

from typing import Literal

import msgspec

from pondage.define.job.component import ComponentDefinition
from pondage.define.pond.definition import Coherence, PondDefinition, ReadingDefinition
from pondage.define.reactor.reaction import ReactorDefinition
from pondage.define.types.type_registry import TypeEntry


class SchemaCall(msgspec.Struct, frozen=True, kw_only=True):
    """A question to the `schema` function of a component."""

    component: str
    inputs: dict[str, str]
    params: dict[str, object]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Which files, relative to which root, to import.

    `types` are those that the project gives a name, `coherent`, `mode` and `reading` are for Ponds that say nothing of
    it, `data` names the packed files that are no modules.

    With a `call` only that is answered.
    """

    root: str
    modules: tuple[str, ...]
    types: dict[str, TypeEntry] = {}
    coherent: Coherence = True
    mode: Literal["replace", "auto"] = "replace"
    reading: ReadingDefinition = ReadingDefinition()
    data: tuple[str, ...] = ()
    call: SchemaCall | None = None


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """An error as it travels."""

    code: str
    message: str
    place: str | None = None
    hint: str | None = None


class Wrong(msgspec.Struct, frozen=True, kw_only=True):
    """What a `schema` function cannot take: a WrongInput as it travels."""

    port: str
    want: str
    why: str


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The Ponds, reactors and components that were found, and everything that is wrong.

    `schemas` names the components with a `schema` function; `outputs` and `wrong` answer a call of one.
    """

    ponds: tuple[PondDefinition, ...] = ()
    reactors: tuple[ReactorDefinition, ...] = ()
    components: tuple[ComponentDefinition, ...] = ()
    problems: tuple[Problem, ...] = ()
    schemas: tuple[str, ...] = ()
    outputs: dict[str, str] = {}
    wrong: Wrong | None = None
