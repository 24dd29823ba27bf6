"""The one route table: what exists, and the least level that each route asks for."""

from __future__ import annotations

from collections.abc import Iterable

from pondage.errors import PondageError
from pondage.operations.operation import Level
from pondage.operations.table import OPERATIONS
from pondage.server import feed_socket, log_socket, metrics, reactor_sockets, tickets
from pondage.server.call import Route, Socket
from pondage.server.mounts import mounted

ROUTES: tuple[Route, ...] = (*metrics.ROUTES, *(mounted(each) for each in OPERATIONS), *tickets.ROUTES)
SOCKETS: tuple[Socket, ...] = (*feed_socket.SOCKETS, *log_socket.SOCKETS, *reactor_sockets.SOCKETS)
OPEN = frozenset({"/healthz"})


def checked(routes: Iterable[Route | Socket]) -> None:
    """Refuse a table with a hole: a route without a level, one that is open and should not be, or one twice."""
    seen: set[tuple[str, str]] = set()
    for route in routes:
        method = route.method if isinstance(route, Route) else "WS"
        if not isinstance(route.level, Level):
            raise PondageError(f"{method} {route.path} has no level", code="NO_LEVEL", hint="give it one in its table")
        if route.level is Level.OPEN and (method, route.path) != ("GET", "/healthz"):
            raise PondageError(f"{method} {route.path} may not be open", code="NO_LEVEL", hint="give it a level")
        if (method, route.path) in seen:
            raise PondageError(f"{method} {route.path} is in the table twice", code="ROUTE_TWICE")
        seen.add((method, route.path))
