"""Questions about published data, with the tables that they are about."""

from __future__ import annotations

import msgspec

from pondage.ledger.data import snapshots
from pondage.ledger.data.inputs import Breaks, Compared, query_inputs
from pondage.ledger.database.driver import Transaction
from pondage.work.snapshot import BAD_TABLE, SnapshotContent


class QueryTask(msgspec.Struct, frozen=True, kw_only=True):
    """A question to be answered from published snapshots."""

    sql: str
    limit: int
    views: dict[str, SnapshotContent]
    fused: dict[str, str] = {}
    breaks: Breaks | None = None
    compared: tuple[Compared, ...] = ()


def query_task(tx: Transaction, inputs: str) -> QueryTask:
    """Answer the work of a question with the snapshots that it may see."""
    asked = query_inputs(inputs)
    loaded = snapshots.load(tx, list(asked.views.values()))
    views = {
        name: loaded[each].content.rejected_table if name.endswith(BAD_TABLE) else loaded[each].content
        for name, each in asked.views.items()
    }
    return QueryTask(
        sql=asked.sql, limit=asked.limit, views=views, fused=asked.fused, breaks=asked.breaks, compared=asked.compared
    )
