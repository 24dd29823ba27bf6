"""Components: what jobs and trees are built of, which queues wait for which code, other code for a queue."""

from __future__ import annotations

from pondage.errors import NotFound
from pondage.ledger.act import rebinding
from pondage.ledger.tables import actors
from pondage.ledger.upkeep import retention
from pondage.operations.operation import Context, Level, NotedRequest, Request, operation
from pondage.operations.ponds import NameRequest
from pondage.views.jobs.components import KnownComponent, KnownType, components, types
from pondage.views.jobs.queues import QueuesView, Rebound
from pondage.views.jobs.queues import component_queues as read_queues


class QueuesRequest(Request, frozen=True, kw_only=True):
    """Whether with those in which there is nothing now."""

    is_all: bool = False


class RebindRequest(NotedRequest, frozen=True, kw_only=True):
    """A queue, and the digest of the code, or its beginning; without it the newest deployment that serves the queue.

    `back`: also to code that is older than what serves the queue.
    """

    queue: str
    to: str | None = None
    back: bool = False


@operation("GET /v1/components", Level.READ, Request)
def component_list(context: Context, _: Request) -> list[KnownComponent]:
    """The components of the library, and those that projects expose to trees."""
    with context.ledger.reading() as tx:
        return components(tx, context.environment)


@operation("GET /v1/types", Level.READ, Request)
def type_list(context: Context, _: Request) -> list[KnownType]:
    """The types of ports: built in, and of projects."""
    with context.ledger.reading() as tx:
        return types(tx, context.environment, None if context.project is None else context.project.types)


@operation("GET /v1/components/queues", Level.READ, QueuesRequest)
def component_queues(context: Context, asked: QueuesRequest) -> QueuesView:
    """What waits for which code."""
    with context.ledger.reading() as tx:
        return read_queues(tx, context.ledger, environment=context.environment, is_all=asked.is_all)


@operation("POST /v1/components/queues/{queue}/rebind", Level.OPERATE, RebindRequest)
def component_rebind(context: Context, asked: RebindRequest) -> Rebound:
    """Let another code serve a queue."""
    if not asked.queue.isascii() or not asked.queue.isdecimal() or len(asked.queue) > 18:
        raise NotFound("there is no such queue", code="NO_QUEUE")
    queue = int(asked.queue)
    with context.ledger.transaction() as tx:
        environment = actors.made_environment(tx, context.environment)
        code = retention.archive_like(tx, asked.to) if asked.to else None
        done = rebinding.rebind(
            context.ledger, tx, queue, to=code, environment=environment, is_back=asked.back, by=context.by
        )
    return Rebound(
        queue=queue,
        served_by=done.code,
        before=done.before,
        components=done.components,
        deployed_at=done.deployed_at,
    )


@operation("GET /v1/components/{name}", Level.READ, NameRequest)
def component_show(context: Context, asked: NameRequest) -> KnownComponent:
    """A component: its ports and parameters."""
    with context.ledger.reading() as tx:
        every = components(tx, context.environment)
    found = next((one for one in every if one.name == asked.name), None)
    if found is None:
        raise NotFound(
            f"there is no component {asked.name[:63]!r}",
            hint="deploy the project that exposes it: pondage deploy",
            code="NO_COMPONENT",
        )
    return found
