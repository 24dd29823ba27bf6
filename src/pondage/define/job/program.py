"""`external_program`: a program in any language, declared as a component. Only a deployed project may do this."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from pondage.define.job.component import ATTRIBUTE, ComponentDefinition, Resources, Scaling, Transport, component
from pondage.define.types.port import Port
from pondage.errors import DefinitionError


def external_program(
    name: str,
    *,
    command: Sequence[str] = (),
    transport: Transport = "unix",
    version: str = "1.0.0",
    doc: str = "",
    inputs: Mapping[str, str | Port] | None = None,
    outputs: Mapping[str, str | Port] | None = None,
    vars: Mapping[str, str] | None = None,  # noqa: A002 - the manifest's word
    params: Mapping[str, object] | None = None,
    deterministic: bool = False,
    restartable: bool = True,
    exposed: bool = False,
    resources: Resources | None = None,
    scaling: Scaling | None = None,
) -> Callable[..., object]:
    """Declare an external program: `lines = external_program("lines", command=["perl", "lines.pl"], …)` in a module.

    A worker starts `command` for each execution, in the folder of the deployed code, and serves its streams over a
    socket (`unix`) or a broker (`amqp`). Without a command, with `amqp`, somebody else runs it. One that is not
    `deterministic` is never restarted. Secrets of `[secrets.NAME]` are variables of its environment.
    """
    if not command and transport != "amqp":
        raise DefinitionError(f"program {name}: it has no command", code="NO_COMMAND")
    if isinstance(command, str) or any("\0" in part for part in command):
        raise DefinitionError(f"program {name}: a command is a list of texts", code="NO_COMMAND")

    def external(**_ports: object) -> object:
        raise DefinitionError(f"{name} is an external program: a worker starts it, nobody calls it", code="EXTERNAL")

    external.__doc__ = doc
    declared = component(
        name, version=version, inputs=inputs, outputs=outputs, vars=vars, params=params, after=(), globals=(),
        deterministic=deterministic, restartable=restartable, exposed=exposed, mode="stream", resources=resources,
        scaling=scaling,
    )(external)  # fmt: skip
    definition: ComponentDefinition = getattr(declared, ATTRIBUTE)
    made = msgspec.structs.replace(definition, command=tuple(command), transport=transport, entry="")
    setattr(declared, ATTRIBUTE, made)
    return declared
