"""No view may scan a table that grows with history: every statement is explained by the database itself."""

from collections.abc import Callable

import pytest

from pondage.kernel.demand.events import Pulse
from pondage.kernel.demand.shape import PondKey
from pondage.ledger.database.driver import Row, Transaction, Value
from pondage.views.ponds.rhythm import rhythm
from pondage.views.ponds.show import show
from pondage.views.ponds.status import status
from pondage.views.ponds.why import why
from pondage.views.runs.logs import locate
from pondage.views.runs.processes import alive
from pondage.views.runs.runs import run, runs
from tests.ledger.harness import World

GROWING = {
    "executions", "dispatches", "runs", "snapshots", "run_outputs", "history", "advancements", "signals",
    "availabilities", "processes",
}  # fmt: skip
ALIASES = {"e": "executions", "d": "dispatches", "r": "runs", "n": "runs", "s": "snapshots", "o": "run_outputs"}


class Explaining:
    """A transaction that notes how the database would find each row."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self.scans: list[tuple[str, str]] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._tx, name)

    rows, row, one = Transaction.rows, Transaction.row, Transaction.one

    def read(self, statement: str, values: dict[str, Value]) -> list[Row]:
        for row in self._tx.rows(f"EXPLAIN QUERY PLAN {statement}", **values):
            words = str(row["detail"]).split()
            if words[0] == "SCAN" and "INDEX" not in words:
                table = ALIASES.get(words[1], words[1])
                # A subquery that is limited is called by its alias too; its own scan would be reported by itself.
                if table in GROWING and f") {words[1]}\n" not in statement:
                    self.scans.append((str(row["detail"]), statement))
        return self._tx.read(statement, values)


VIEWS: dict[str, Callable[[Transaction, World], object]] = {
    "status": lambda tx, world: status(tx, world.ledger, "main"),
    "why": lambda tx, world: why(tx, world.ledger, "main", "orders"),
    "runs": lambda tx, _: runs(tx, "main"),
    "runs of a pond": lambda tx, _: runs(tx, "main", pond="sales"),
    "failed runs": lambda tx, _: runs(tx, "main", state="failed"),
    "run": lambda tx, _: run(tx, "main", "sales#1"),
    "show": lambda tx, _: show(tx, "main", "sales"),
    "logs": lambda tx, _: locate(tx, "main"),
    "logs of a pond": lambda tx, _: locate(tx, "main", "sales"),
    "processes": lambda tx, world: alive(tx, world.ledger),
    "rhythm": lambda tx, world: rhythm(tx, "main", since=0, until=world.clock.time),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_finds_its_rows_by_indexes(world: World, name: str) -> None:
    worker = world.worker()
    world.send(Pulse(pond=PondKey("reports@1")))
    worker.drain()
    world.send(Pulse(pond=PondKey("reports@1")))
    with world.ledger.reading() as tx:
        explaining = Explaining(tx)
        VIEWS[name](explaining, world)  # type: ignore[arg-type]
    assert explaining.scans == []
