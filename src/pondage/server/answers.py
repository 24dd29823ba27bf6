"""How the server answers: JSON of a struct, or a problem, over HTTP and to a WebSocket that is not let in."""

from __future__ import annotations

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

from pondage.errors import PondageError
from pondage.server.problems import Refused, problem_of, status_of

_CHALLENGE = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "60"}, 503: {"Retry-After": "1"}}


def json_answer(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Answer a value as JSON."""
    return Response(msgspec.json.encode(value), status, headers or _CHALLENGE.get(status), "application/json")


def problem_answer(error: PondageError) -> Response:
    """Answer an error with the status that belongs to it."""
    answer = json_answer(problem_of(error), status_of(error))
    if isinstance(error, Refused) and error.is_last:
        answer.headers["Connection"] = "close"
    return answer


async def send_problem(scope: Scope, receive: Receive, send: Send, error: PondageError) -> None:
    """Answer an error before any route is reached. A WebSocket is refused before it is accepted."""
    answer = problem_answer(error)
    if scope["type"] == "http":
        await answer(scope, receive, send)
        return
    socket = WebSocket(scope, receive, send)
    if "websocket.http.response" in scope.get("extensions", {}):
        await socket.send_denial_response(answer)
    else:
        await socket.close(1008)
