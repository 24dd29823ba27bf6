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
        shown = asked.views | {name: found for name, found in _newest(tx, asked.newest).items() if found is not None}
        loaded = snapshots.load(tx, list(shown.values()))
        views = {
            name: loaded[each].content.rejected_table if name.endswith(BAD_TABLE) else loaded[each].content
            for name, each in shown.items()
        }
        return of_row(QueryTask, asked, views=views)


def _newest(tx: Transaction, wanted: dict[str, tuple[int, str]]) -> dict[str, int | None]:
    """Answer the snapshots that readers see now, of the Ripples that these views show."""
    runs = {pond: snapshots.current_run(tx, pond) for pond in {pond for pond, _ in wanted.values()}}
    given = {pond: {} if run is None else snapshots.outputs(tx, run) for pond, run in runs.items()}
    found: dict[str, int | None] = {}
    for name, (pond, ripple) in wanted.items():
        output = given[pond].get(ripple)
        found[name] = None if output is None else output.snapshot
    return found
