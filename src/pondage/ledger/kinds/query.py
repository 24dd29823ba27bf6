"""Questions about published data, with the tables that they are about. Nobody but who asks is told how they end."""

from __future__ import annotations

import msgspec

from pondage.ledger.data import snapshots
from pondage.ledger.data.inputs import Breaks, Compared, query_inputs
from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.mapping import of_row
from pondage.ledger.kinds.kind import Kind
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue.claims import Claim
from pondage.work.snapshot import BAD_TABLE, SnapshotContent
from pondage.work.task import Task


class QueryTask(Task, frozen=True, kw_only=True):
    """A question to be answered from published snapshots."""

    sql: str
    limit: int
    views: dict[str, SnapshotContent]
    fused: dict[str, str] = msgspec.field(default_factory=dict)
    breaks: Breaks | None = None
    compared: tuple[Compared, ...] = ()

    @property
    def title(self) -> str:
        """Answer that it is one; its text is the operator's."""
        return "query"

    @property
    def waits_for_room(self) -> bool:
        """Answer that it does: a question must not end because of the questions of others."""
        return True


class QueryKind(Kind):
    """A question, whose end is `Answered`."""

    name = "query"
    survives_crashes = False

    def load(self, tx: Transaction, ledger: Ledger, claim: Claim) -> QueryTask:
        """Answer the question with the snapshots that it may see."""
        asked = query_inputs(claim.inputs)
        loaded = snapshots.load(tx, list(asked.views.values()))
        views = {
            name: loaded[each].content.rejected_table if name.endswith(BAD_TABLE) else loaded[each].content
            for name, each in asked.views.items()
        }
        return of_row(QueryTask, asked, views=views)
