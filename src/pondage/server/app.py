"""The application: the route table behind the guard. Handlers are plain functions and run in threads."""

from __future__ import annotations

import inspect
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from typing import cast

import anyio
import msgspec
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.routing import Route as HttpRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

import pondage
from pondage import tracing
from pondage.define.values.names import checked_name
from pondage.errors import PondageError
from pondage.ledger.tables import actors, api_tokens
from pondage.ledger.tables.api_tokens import EVERYWHERE, TokenRow
from pondage.operations.operation import Level
from pondage.server import openapi, static
from pondage.server.answers import json_answer, problem_answer, send_problem
from pondage.server.audit import refused
from pondage.server.call import Call, Route, Service, Socket
from pondage.server.fence.shares import Threads
from pondage.server.guard import LOOPBACK, TOKEN, Guard
from pondage.server.problems import Refused, has_zero, not_understood
from pondage.server.routes import OPEN, ROUTES, SOCKETS, checked

LOG = logging.getLogger("pondage.server")
LONGEST = 200
CHECK_EVERY_S = 30.0
REVOKED = 4401
BODY_S = 20.0
BYTES_A_SECOND = 16 * 1024
"""How long a body may take: so long, and a second for each so many bytes of it that have come."""


class _Pools:
    """Threads of several kinds, so that nobody waits for those who wait: for live hosts, for an output of a flow."""

    def __init__(self) -> None:
        self.open = Threads(at_once=4, of_one=4)
        self.reading = Threads(at_once=40, of_one=16)
        self.relays = Threads(at_once=16, of_one=8)
        self.streams = Threads(at_once=16, of_one=4)

    def of(self, route: Route) -> Threads:
        """Answer where the handler of a route runs."""
        if route.level is Level.OPEN:
            return self.open
        return self.relays if route.is_relayed else self.reading


def make_app(
    service: Service,
    *,
    hosts: Iterable[str] = LOOPBACK,
    routes: Sequence[Route] = ROUTES,
    sockets: Sequence[Socket] = SOCKETS,
) -> ASGIApp:
    """Answer the application; raises `PondageError` when a route of the table has no level."""

    @cache
    def document() -> msgspec.Raw:
        """Describe the table when somebody asks: that takes longer than everything else here."""
        return msgspec.Raw(msgspec.json.encode(openapi.document(table, sockets)))

    described = Route(
        method="GET",
        path="/v1/openapi.json",
        level=Level.READ,
        handler=lambda _: document(),
        response=dict[str, object],
        summary="This description.",
    )
    table = (*routes, described)
    checked([*table, *sockets])
    pools = _Pools()
    http: list[BaseRoute] = [
        HttpRoute(route.path, _endpoint(service, route, pools), methods=[route.method]) for route in table
    ]
    http += [WebSocketRoute(each.path, _socket_endpoint(service, each)) for each in sockets]
    files = static.files()
    http += [HttpRoute(path, static.endpoint(file), methods=["GET"]) for path, file in files.items()]
    inner = Starlette(routes=http, exception_handlers={HTTPException: _no_route})
    return Guard(
        inner,
        service.ledger,
        hosts=hosts,
        open_paths=OPEN | files.keys(),
        tickets=service.tickets,
        visitors=service.visitors,
    )


def _endpoint(service: Service, route: Route, pools: _Pools) -> Callable[[Request], object]:
    async def endpoint(request: Request) -> Response:
        with tracing.span(f"{route.method} {route.path}", route=route.path, method=route.method):
            answer = await answered(request)
            tracing.note(status=answer.status_code)
        service.requests[route.method, route.path, answer.status_code] += 1
        answer.headers["Pondage-Version"] = str(pondage.__version__)
        return answer

    async def answered(request: Request) -> Response:
        try:
            call = await _call(service, route, request)
            with service.bodies.held(call.bearer, _size(route, request)):
                call = replace(call, body=await _body(route, request), is_gone=request.is_disconnected)
                if inspect.iscoroutinefunction(route.handler):
                    value = await route.handler(call)
                else:
                    value = await pools.of(route).run(call.bearer, route.handler, call)
        except PondageError as error:
            await refused(
                service,
                cast(TokenRow | None, request.scope.get(TOKEN)),
                route.operation,
                error,
                places=request.path_params,
                environment=request.query_params.get("env"),
            )
            return problem_answer(error)
        except Exception:
            # Whoever asked learns a number, and the log says the rest.
            number = secrets.token_hex(4)
            LOG.exception("%s %s failed (%s)", route.method, route.path, number)
            return problem_answer(Refused(500, "INTERNAL", f"the server failed; its log says why under {number}"))
        if isinstance(value, Iterator):
            return await _streamed(route, partial(pools.streams.run, call.bearer, next, value, b""))
        if isinstance(value, str) and route.media != "application/json":
            return Response(value, route.status, media_type=route.media)
        return json_answer(value, route.status if route.status_of is None else route.status_of(value))

    return endpoint


async def _streamed(route: Route, following: Callable[[], Awaitable[bytes]]) -> Response:
    """Answer bytes as they come. What is wrong before the first of them is an error like any other."""
    try:
        first = await following()
    except PondageError as error:
        return problem_answer(error)

    async def rest() -> AsyncIterator[bytes]:
        chunk = first
        while chunk:
            yield chunk
            chunk = await following()

    return StreamingResponse(rest(), route.status, media_type=route.media)


def _socket_endpoint(service: Service, route: Socket) -> Callable[[WebSocket], object]:
    async def endpoint(socket: WebSocket) -> None:
        try:
            call = await _call(service, route, socket)
        except PondageError as error:
            await send_problem(socket.scope, socket.receive, socket.send, error)
            return
        async with anyio.create_task_group() as group:
            group.start_soon(_until_revoked, call, socket, group.cancel_scope)
            await route.handler(call, socket)
            group.cancel_scope.cancel()

    return endpoint


async def _until_revoked(call: Call, socket: WebSocket, scope: anyio.CancelScope) -> None:
    """End a WebSocket whose token was revoked after it was let in, whatever its handler does."""
    is_valid = True
    while is_valid:
        await anyio.sleep(CHECK_EVERY_S)
        with suppress(PondageError):
            is_valid = await run_sync(_is_valid, call)
    with suppress(RuntimeError):
        await socket.close(REVOKED, "the token is revoked")
    scope.cancel()


def _is_valid(call: Call) -> bool:
    assert call.token is not None
    with call.ledger.reading() as tx:
        return api_tokens.is_valid(tx, call.token.id)


async def _call(service: Service, route: Route | Socket, request: HTTPConnection) -> Call:
    token = cast(TokenRow | None, request.scope.get(TOKEN))
    assert route.level is not None
    has = Level.OPEN if token is None else Level.named(token.level)
    if has < route.level:
        level = route.level.name.lower()
        raise Refused(403, "FORBIDDEN", f"this needs the level {level}", hint=f"pondage token create --level {level}")
    given = _only_once(request)
    for name, value in (*request.path_params.items(), *given.items()):
        if "\0" in str(value):
            raise Refused(400, "BAD_REQUEST", "a zero character is part of no name", place=f"$.{name[:50]}")
    given.pop("ticket", None)
    may_begin = isinstance(route, Route) and route.may_begin
    environment = await run_sync(_environment, service, token, given.pop("env", None), may_begin)
    for value in request.path_params.values():
        if len(str(value)) > LONGEST:
            raise Refused(404, "NOT_FOUND", "no name and no id is that long")
    try:
        query = msgspec.convert(given, route.query, strict=False)
    except msgspec.ValidationError as error:
        raise not_understood(error) from error
    return Call(
        service=service,
        token=token,
        environment=environment,
        path={name: str(value) for name, value in request.path_params.items()},
        query=query,
    )


def _only_once(request: HTTPConnection) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name in found:
            raise Refused(400, "BAD_REQUEST", f"{name[:50]!r} is given twice", place=f"$.{name[:50]}")
        found[name] = value
    return found


def _environment(service: Service, token: TokenRow | None, given: str | None, may_begin: bool) -> str:
    """Answer what the call is about. One that the token is not bound to is answered like one that does not exist."""
    if token is None:
        return service.environment
    if given is None:
        if EVERYWHERE in token.environments:
            return service.environment
        if len(token.environments) > 1:
            raise Refused(400, "AMBIGUOUS", "the token is bound to several environments", hint="add ?env=NAME")
        return token.environments[0]
    if token.may_see(given):
        if EVERYWHERE not in token.environments or given == service.environment:
            return given
        if may_begin:
            return checked_name(given, what="environment")
        with service.ledger.reading() as tx:
            if actors.environment(tx, given) is not None:
                return given
    raise Refused(404, "NO_ENVIRONMENT", f"there is no environment {given[:63]!r}", hint="pondage env list")


def _size(route: Route, request: Request) -> int:
    """Answer how large a body is at most; raises `Refused` when it says itself that it is too large."""
    if route.request is None:
        return 0
    said = request.headers.get("content-length", "")
    size = int(said) if said.isascii() and said.isdigit() else route.limit_bytes
    if size > route.limit_bytes:
        raise Refused(413, "TOO_LARGE", f"the body is larger than {route.limit_bytes:,} bytes")
    return size


async def _body(route: Route, request: Request) -> object:
    """Read and decode the body, at most as much as the route allows."""
    if route.request is None:
        return None
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "NOT_JSON", "the body must be JSON", place="$", hint="Content-Type: application/json")
    data = bytearray()
    try:
        with anyio.fail_after(BODY_S) as scope:
            async for chunk in request.stream():
                data += chunk
                scope.deadline += len(chunk) / BYTES_A_SECOND
                if len(data) > route.limit_bytes:
                    raise Refused(413, "TOO_LARGE", f"the body is larger than {route.limit_bytes:,} bytes")
    except TimeoutError as error:
        raise Refused(408, "TOO_SLOW", "the body did not come in time", is_last=True) from error
    except ClientDisconnect as error:
        raise Refused(400, "HUNG_UP", "the client has gone before its body was whole") from error
    try:
        return await run_sync(_decoded, data, route)
    except msgspec.MsgspecError as error:
        raise not_understood(error) from error
    except UnicodeDecodeError as error:
        raise not_understood(msgspec.DecodeError("it is not UTF-8")) from error
    except RecursionError as error:
        raise not_understood(msgspec.DecodeError("it is nested too deeply")) from error


def _decoded(data: bytearray, route: Route) -> object:
    if has_zero(data):
        raise Refused(400, "BAD_REQUEST", "a text of the body has a zero character in it", place="$")
    return msgspec.json.decode(data, type=route.request)


def _no_route(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    codes: Mapping[int, tuple[str, str]] = {
        404: ("NO_ROUTE", "there is nothing under this path"),
        405: ("NO_METHOD", "this path does not take that method"),
    }
    code, message = codes.get(error.status_code, ("REFUSED", error.detail))
    answer = problem_answer(Refused(error.status_code, code, message, hint="GET /v1/openapi.json"))
    answer.headers.update(error.headers or {})
    return answer
