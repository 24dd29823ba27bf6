"""`@component`: a typed component that jobs and flows are built of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import cleandoc
from itertools import chain
from typing import Literal, ParamSpec, TypeVar

import msgspec

from pondage.define.types.port import PANIC_PORT, STOP_PORT, Port, as_ports
from pondage.define.types.types import is_ordered
from pondage.define.values.names import checked_name, parsed_version
from pondage.define.values.schema_shape import passed_over, wrong_schema
from pondage.define.values.size import mebibytes
from pondage.errors import DefinitionError

ATTRIBUTE = "__pondage_component__"
LIBRARY = "pondage.components"
"""The package of the components that every worker has."""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

Transport = Literal["unix", "amqp"]
Schema = Callable[[Mapping[str, str], Mapping[str, object]], Mapping[str, str]]


class WrongInput(Exception):
    """A `schema` function cannot take what comes in by a port; `want` is the type that it could take."""

    def __init__(self, port: str, want: str, why: str = "") -> None:
        super().__init__(why or f"{port} takes {want}")
        self.port = port
        self.want = want


class WrongParams(Exception):
    """A `schema` function cannot take a parameter that fits its JSON Schema; `path` is where, below the parameters."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(why)
        self.path = path


class Resources(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an execution needs. Several sizes of `memory` are tried in turn when it runs out."""

    cores: int = 1
    memory: tuple[str, ...] = ()
    gpu: int = 0
    labels: tuple[str, ...] = ()


class Scaling(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How many executions one worker takes at a time, and between how many workers a machine may have by the depth of
    the queue. 0 leaves it to the worker's slots, and to the machine.
    """

    max_concurrency: int = 0
    min: int = 0
    max: int = 0


class ComponentDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A component as registries hold it. `after` and `globals` list what it may write; None means anything."""

    name: str
    version: str = "1.0.0"
    doc: str = ""
    kind: Literal["plain", "iterator"] = "plain"
    mode: Literal["table", "stream"] = "table"
    inputs: dict[str, Port] = {}
    outputs: dict[str, Port] = {}
    vars: dict[str, str] = {}
    params: dict[str, object] = {}
    """A JSON Schema of an object; empty accepts anything."""
    startable: bool = False
    after: tuple[str, ...] | None = None
    globals: tuple[str, ...] | None = None
    deterministic: bool = False
    restartable: bool = True
    exposed: bool = False
    entry: str = ""
    archive: str = ""
    """The digest of the deployed code that it runs with; empty: that of the job."""
    digest: str = ""
    """Of its own code, so far as that can be told: another one means that it may do something else."""
    resources: Resources = Resources()
    scaling: Scaling = Scaling()
    image: str = ""
    dockerfile: str = ""
    """For manifests only: a container's image that has the program, and how it is built."""

    @property
    def is_library(self) -> bool:
        """Answer whether every worker has it, whatever code was deployed."""
        return is_library(self.entry)

    command: tuple[str, ...] = ()
    """Of an external program: how a worker starts it, in the folder of the deployed code."""
    transport: Transport = "unix"

    @property
    def is_external(self) -> bool:
        """Is it a program of its own, which speaks the wire protocol?"""
        return bool(self.command) or self.transport == "amqp"


Registry = Mapping[str, ComponentDefinition]


def is_library(entry: str) -> bool:
    """Tell whether an entry `module:function` lies in the starter library."""
    return entry.startswith(f"{LIBRARY}.")


def component(
    name: str | None = None,
    *,
    version: str = "1.0.0",
    inputs: Mapping[str, str | Port] | None = None,
    outputs: Mapping[str, str | Port] | None = None,
    vars: Mapping[str, str] | None = None,  # noqa: A002 - the manifest's word
    params: Mapping[str, object] | None = None,
    startable: bool = False,
    after: Sequence[str] | None = None,
    globals: Sequence[str] | None = None,  # noqa: A002 - the rulebook's word
    deterministic: bool = False,
    restartable: bool = True,
    exposed: bool = False,
    mode: Literal["table", "stream"] = "table",
    kind: Literal["plain", "iterator"] = "plain",
    resources: Resources | None = None,
    scaling: Scaling | None = None,
    image: str = "",
    dockerfile: str = "",
    schema: Schema | None = None,
) -> Callable[[Callable[_Arguments, _Result]], Callable[_Arguments, _Result]]:
    """Declare a function as a component; it stays a plain function that can be called in a test.

    `def f(input, …, *, params, run) -> DataFrame | dict[port, DataFrame]`: a multi port gets a list, an absent optional
    one None. `schema(inputs, params)` gives the types of the outputs without Spark, or raises WrongInput. Raises
    DefinitionError for a bad name or version, and when one name is an input and also ends in a wild card twice.
    """

    def declare(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
        chosen = checked_name(name or function.__name__, what="component")
        parsed_version(version)
        ports = [*as_ports(inputs).values(), *as_ports(outputs).values()]
        if mode == "table" and any(is_ordered(port.type) for port in ports):
            raise DefinitionError(f'component {chosen}: only mode="stream" keeps rows in order', code="BAD_TYPE")
        definition = ComponentDefinition(
            name=chosen,
            version=version,
            doc=cleandoc(function.__doc__ or ""),
            kind=kind,
            mode=mode,
            inputs=_checked(as_ports(inputs), chosen),
            outputs=_checked(as_ports(outputs), chosen),
            vars=dict(vars or {}),
            params=dict(params or {}),
            startable=startable,
            after=None if after is None else tuple(after),
            globals=None if globals is None else tuple(globals),
            deterministic=deterministic,
            restartable=restartable and (mode == "table" or deterministic),
            exposed=exposed,
            entry=f"{function.__module__}:{function.__qualname__}",
            resources=resources or Resources(),
            scaling=scaling or Scaling(),
            image=image,
            dockerfile=dockerfile,
        )
        check_declared(definition)
        setattr(function, ATTRIBUTE, definition)
        setattr(function, f"{ATTRIBUTE}schema", schema)
        return function

    return declare


def definition_of(function: object) -> ComponentDefinition | None:
    """Give what `@component` declared of a function, or None."""
    found = getattr(function, ATTRIBUTE, None)
    return found if isinstance(found, ComponentDefinition) else None


def schema_of(function: object) -> Schema | None:
    """Give the pure `schema` function that was declared with a component, or None."""
    found: Schema | None = getattr(function, f"{ATTRIBUTE}schema", None)
    return found


def check_declared(component: ComponentDefinition, place: str | None = None) -> None:
    """Raise DefinitionError when the sizes, the scaling or the parameters of a component make no sense."""
    name, scaling = component.name, component.scaling
    sizes = [mebibytes(size) for size in component.resources.memory]
    if sizes != sorted(set(sizes)):
        message = f"component {name}: each size of memory must be larger than the one before it"
        raise DefinitionError(message, place=place, code="BAD_SIZE")
    if min(scaling.max_concurrency, scaling.min, scaling.max) < 0 or scaling.min > scaling.max:
        raise DefinitionError(f"component {name}: scaling needs 0 <= min <= max", place=place, code="BAD_SCALING")
    wrong = wrong_schema(component.params, "params")
    if component.exposed:  # whoever writes a tree is held by it alone
        wrong = chain(wrong, passed_over(component.params, "params"))
    for where, why in wrong:
        raise DefinitionError(
            f"component {name}: its parameters have no sound JSON Schema: {why}",
            place=where if place is None else f"{place}.{where}",
            code="BAD_SCHEMA",
        )


def _checked(ports: dict[str, Port], name: str) -> dict[str, Port]:
    for port in ports:
        plain = port[:-1] if port.endswith("*") else port
        if not plain.isidentifier() or port in (PANIC_PORT, STOP_PORT):
            raise DefinitionError(f"component {name}: {port!r} is no name for a port", code="BAD_NAME")
    return ports
