"""Routes of components: what jobs and trees are built of, which queues wait for which code, other code for a queue."""

from __future__ import annotations

import msgspec

from pondage.errors import NotFound
from pondage.ledger.act import rebinding
from pondage.ledger.tables import actors
from pondage.ledger.upkeep import retention
from pondage.server.demanding import Plain
from pondage.server.levels import Level
from pondage.server.problems import Refused
from pondage.server.table import Call, Route
from pondage.views.jobs.components import KnownComponent, KnownType, components, types
from pondage.views.jobs.queues import QueuesView, Rebound, component_queues


class QueuesQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether with those in which there is nothing now."""

    is_all: bool = False


class RebindBody(Plain, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The digest of the code, or its beginning; without it what was deployed last."""

    to: str | None = None


def _list(call: Call) -> list[KnownComponent]:
    with call.ledger.reading() as tx:
        return components(tx, call.environment)


def _show(call: Call) -> KnownComponent:
    found = next((one for one in _list(call) if one.name == call.path["name"]), None)
    if found is None:
        raise NotFound(
            f"there is no component {call.path['name'][:63]!r}",
            hint="deploy the project that exposes it: pondage deploy",
            code="NO_COMPONENT",
        )
    return found


def _types(call: Call) -> list[KnownType]:
    project = call.service.project
    with call.ledger.reading() as tx:
        return types(tx, call.environment, None if project is None else project.types)


def _queues(call: Call) -> QueuesView:
    with call.ledger.reading() as tx:
        return component_queues(tx, is_all=call.asked(QueuesQuery).is_all)


def _rebind(call: Call) -> Rebound:
    sent = call.sent(RebindBody)
    if not call.path["queue"].isascii() or not call.path["queue"].isdecimal() or len(call.path["queue"]) > 18:
        raise Refused(404, "NO_QUEUE", "there is no such queue")
    queue = int(call.path["queue"])
    with call.ledger.transaction() as tx:
        environment = actors.environment(tx, call.environment, is_created=True)
        assert environment is not None
        code = retention.archive_like(tx, sent.to) if sent.to else retention.newest_archive(tx)
        rebinding.rebind(call.ledger, tx, queue, to=code, environment=environment, by=call.by(sent.note))
    return Rebound(queue=queue, served_by=code)


ROUTES = (
    Route(
        method="GET",
        path="/v1/components",
        level=Level.READ,
        handler=_list,
        response=list[KnownComponent],
        summary="The components of the library, and those that projects expose to trees.",
    ),
    Route(
        method="GET",
        path="/v1/types",
        level=Level.READ,
        handler=_types,
        response=list[KnownType],
        summary="The types of ports: built in, and of projects.",
    ),
    Route(
        method="GET",
        path="/v1/components/queues",
        level=Level.READ,
        handler=_queues,
        query=QueuesQuery,
        response=QueuesView,
        summary="What waits for which code.",
    ),
    Route(
        method="POST",
        path="/v1/components/queues/{queue}/rebind",
        level=Level.OPERATE,
        handler=_rebind,
        request=RebindBody,
        response=Rebound,
        summary="Let another code serve a queue.",
    ),
    Route(
        method="GET",
        path="/v1/components/{name}",
        level=Level.READ,
        handler=_show,
        response=KnownComponent,
        summary="A component: its ports and parameters.",
    ),
)
