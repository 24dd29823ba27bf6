"""Operations as routes: what a request carries becomes what is asked, and strangers are looked at before."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from typing import get_origin

import msgspec

from pondage.define.job.flow import MAX_DOCUMENT
from pondage.ledger.act.flow_constants import MAX_BYTES
from pondage.operations import (
    deployments,
    flows,
    inference,
    installation,
    jobs,
    questions,
    reactors,
    simulations,
    trees,
)
from pondage.operations.operation import Operation
from pondage.server.audit import heard
from pondage.server.call import Call, Handler, Nothing, Route
from pondage.server.fence.shares import SMALL
from pondage.server.strangers import WRAPPERS

LARGE = 40 * 1024 * 1024
_PLACE = re.compile(r"{(\w+)}")
_OF_FILES = (
    deployments.plan, deployments.analyze, deployments.deploy, questions.sample, inference.infer,
    jobs.job_run_sent, jobs.job_resume, jobs.job_difference,
)  # fmt: skip
_LIMITS: Mapping[Operation[..., object], int] = {
    **dict.fromkeys(_OF_FILES, LARGE),
    flows.flow_store: 2 * MAX_BYTES,
    flows.flow_submit: MAX_DOCUMENT + 10_000,
    trees.flow_check: 2 * MAX_DOCUMENT,
    simulations.simulation_save: simulations.LARGEST,
    reactors.reactor_push: 1024 * 1024,
    reactors.reactor_command: 1024 * 1024,
}
"""How large a body may be, where it may be large."""
_RELAYED: Sequence[Operation[..., object]] = (
    installation.doctor, reactors.reactor_state, reactors.reactor_dead, reactors.reactor_push, reactors.reactor_command,
)  # fmt: skip
"""What waits for others, and not for the ledger."""
_BEGINNING: Sequence[Operation[..., object]] = (deployments.plan, deployments.analyze, deployments.deploy)
"""What may be about an environment that nobody has deployed to yet."""


def mounted(operation: Operation[..., object]) -> Route:
    """Answer the route of an operation. The places of its path are texts; the rest is its body or its parameters."""
    places = tuple(_PLACE.findall(operation.path))
    has_body = operation.method == "POST"
    sent = sent_of(operation.asked, (*places, *operation.kept), "Body" if has_body else "Query")
    is_bytes = get_origin(operation.response) is Iterator
    return Route(
        method=operation.method,
        path=operation.path,
        level=operation.level,
        handler=_handler(operation),
        summary=operation.summary,
        response=bytes if is_bytes else operation.response,
        query=Nothing if has_body else sent,
        request=sent if has_body else None,
        status=operation.status,
        status_of=operation.status_of if operation.refusals else None,
        refusals=frozenset(operation.refusals.values()),
        media="application/octet-stream" if is_bytes else "application/json",
        limit_bytes=_LIMITS.get(operation, SMALL),
        operation=operation,
        is_relayed=operation in _RELAYED,
        may_begin=operation in _BEGINNING,
    )


@cache
def sent_of(asked: type[msgspec.Struct], others: tuple[str, ...], suffix: str) -> type[msgspec.Struct]:
    """Answer what a body or the parameters carry: what is asked without `others`."""
    return msgspec.defstruct(
        asked.__name__.removesuffix("Request") + suffix,
        [_field(each) for each in msgspec.structs.fields(asked) if each.name not in others],
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
        namespace={"__doc__": asked.__doc__},
    )


def _field(given: msgspec.structs.FieldInfo) -> tuple[str, type] | tuple[str, type, object]:
    if given.required:
        return given.name, given.type
    has_factory = given.default is msgspec.NODEFAULT
    default = msgspec.field(default_factory=given.default_factory) if has_factory else given.default
    return given.name, given.type, default


def _handler(operation: Operation[..., object]) -> Handler:
    around = WRAPPERS.get(operation)

    def asked(call: Call) -> msgspec.Struct:
        sent = call.body if operation.method == "POST" else call.query
        assert isinstance(sent, msgspec.Struct)
        made = operation.request(**call.path, **{name: getattr(sent, name) for name in sent.__struct_fields__})
        if operation.kind in ("ask", "push"):
            target = "/".join(call.path.values()) or getattr(made, "pond", "")
            heard(call, operation.kind, operation.verb, target, getattr(made, "sql", ""))
        return made

    if around is None:
        return lambda call: operation.do(call.context, asked(call))
    if inspect.iscoroutinefunction(around):

        async def waiting(call: Call) -> object:
            return await around(call, asked(call), partial(operation.do, call.context))

        return waiting
    return lambda call: around(call, asked(call), partial(operation.do, call.context))
