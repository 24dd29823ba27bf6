"""Publishing the Pond of a reactor: what its fires gave becomes one batch of its table, exactly once."""

from __future__ import annotations

import msgspec

from pondage.define.reactor.boundary import require_kept
from pondage.define.reactor.graph import Fire
from pondage.define.reactor.reactor import Publish
from pondage.engine.process.places import snapshot_path
from pondage.errors import LedgerError, PondageError
from pondage.ledger.database.driver import LedgerUnavailable
from pondage.ledger.ledger import Ledger
from pondage.ledger.step import reactor_ponds
from pondage.ledger.step.fed_runs import Batch
from pondage.ledger.tables import actors
from pondage.ledger.tables.reactors import Lease, LedgerRow, ReactorRow


class Publisher:
    """Takes in what graphs gave, and writes what is due. `publish` runs beside the loop, never on it."""

    def __init__(self, ledger: Ledger, row: ReactorRow, lease: Lease, given: Publish, *, warehouse: str) -> None:
        if given.schema is None:
            raise PondageError(
                f"reactor {row.name} publishes {given.declaration.pond} without a schema",
                hint="Publish(..., schema=Quote)",
                code="NO_SCHEMA",
            )
        from pondage.engine.live.table import Table  # most hosts publish nothing and need no Arrow

        self._ledger = ledger
        self._row = row
        self._lease = lease
        self._schema = given.schema
        self._table = Table(given.schema)
        self._warehouse = warehouse

    def result_row(self, fire: Fire, graph: str, value: object) -> LedgerRow:
        """Give what the ledger keeps of a result; raises InvalidBoundary when it is not of the declared type.

        Also when no file can hold it: then that fire has failed, and those after it go on.

        None is no row, a list is one row for each of its items.
        """
        values = [] if value is None else value if isinstance(value, list) else [value]
        rows = [self._schema.check(each) for each in values]
        require_kept(rows)
        self._table.require_fit(rows)
        return LedgerRow("result", msgspec.json.encode({"fire": fire.id, "graph": graph, "rows": rows}).decode())

    def publish(self) -> None:
        """Write everything that is due as one batch and hand it to the Pond. A crash in between leaves only files."""
        with self._ledger.reading() as tx:
            due = reactor_ponds.waiting(tx, self._lease)
        if due is None:
            return
        batch: str | None = None
        if due.rows:
            token = self._ledger.ids.new("t")
            run = f"epoch-{self._lease.epoch}"
            place = snapshot_path(self._warehouse, dataset=self._dataset(), run=run, token=token)
            try:
                content = self._table.write(due.rows, place)
            except OSError as error:
                raise LedgerUnavailable(f"{self._row.name} cannot write its Pond now: {error}") from error
            batch = msgspec.json.encode(Batch(token=token, content=content)).decode()
        with self._ledger.transaction() as tx:
            reactor_ponds.publish(tx, self._lease, due, batch)

    def forget(self) -> None:
        """Forget what fires of a former life gave."""
        with self._ledger.transaction() as tx:
            reactor_ponds.forget_results(tx, self._lease)

    def _dataset(self) -> str:
        key = reactor_ponds.pond_of(self._row.declaration)
        with self._ledger.transaction() as tx:
            pond = None if key is None else actors.pond(tx, self._lease.environment, key)
            if pond is None:
                raise LedgerError(f"the Pond of reactor {self._row.name} is not deployed", hint="pondage deploy")
            definition = self._ledger.definition(tx, pond.definition)
            return self._ledger.dataset(tx, pond=pond.id, ripple=definition.ripples[0].name)[1]
