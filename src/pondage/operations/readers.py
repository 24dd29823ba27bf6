"""Who reads the Ponds, and which Runs nobody has read."""

from __future__ import annotations

from typing import Annotated

import msgspec

from pondage.ledger.tables.environments import environment_id, resolve_pond
from pondage.operations.operation import Context, Level, Request, operation
from pondage.views.ponds import readers as views
from pondage.views.ponds.readers import DAY_US, ReadersView


class ReadersRequest(Request, frozen=True, kw_only=True):
    """Of the last so many days, of one Pond or of all; `rows` brings the rows of the log along."""

    pond: str = ""
    days: Annotated[int, msgspec.Meta(ge=1, le=3_660)] = 7
    rows: bool = False


@operation("GET /v1/readers", Level.READ, ReadersRequest)
def readers(context: Context, asked: ReadersRequest) -> ReadersView:
    """Who read which Pond, when and through which door, and the Runs of which nothing was read."""
    with context.ledger.reading() as tx:
        key = None
        if asked.pond:
            key = resolve_pond(tx, environment_id(tx, context.environment), asked.pond)
        return views.readers(tx, context.environment, since_us=asked.days * DAY_US, pond=key, has_rows=asked.rows)
