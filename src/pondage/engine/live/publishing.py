"""Publishing the Pond of a reactor: what its fires gave becomes one batch of its table, exactly once."""

from __future__ import annotations

import msgspec

from pondage.define.reactor.boundary import kept_text, require_kept
from pondage.define.reactor.graph import Fire
from pondage.define.reactor.reactor import Publish
from pondage.engine.process.places import snapshot_path
from pondage.errors import LedgerError, PondageError
from pondage.ledger.database.driver import LedgerUnavailable
from pondage.ledger.ledger import Ledger
from pondage.ledger.step import reactor_ponds
from pondage.ledger.step.fed_runs import Batch
from pondage.ledger.step.reactor_ponds import Publication
from pondage.ledger.tables import actors
from pondage.ledger.tables.reactors import Lease, LedgerRow, ReactorRow

UNFIT = (ValueError, TypeError, OverflowError, msgspec.MsgspecError)
"""What is raised where rows do not fit a table; errors of Arrow are such, too, but for those of files."""


def _text(error: Exception) -> str:
    return kept_text(f"{type(error).__name__}: {error}")


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

    def publish(self) -> bool:
        """Write everything that is due as one batch and hand it to the Pond. A crash in between leaves only files.

        Results that no file can hold, such as those of before another schema was deployed, are dead letters. Answer
        whether anything was published. Raises `LedgerError` when it cannot be done now.
        """
        while True:
            with self._ledger.reading() as tx:
                due = reactor_ponds.waiting(tx, self._lease)
            if due is None:
                return False
            try:
                self._publish(due)
            except UNFIT as error:
                if not self._set_aside(due, error):
                    raise LedgerError(f"{self._row.name} cannot be published: {_text(error)}") from error
            else:
                return True

    def due(self) -> str | None:
        """Name the first publication that waits; None when none does."""
        with self._ledger.reading() as tx:
            return reactor_ponds.first_due(tx, self._lease)

    def _set_aside(self, due: Publication, error: Exception) -> bool:
        """Put aside what is at fault: what does not fit by itself, else all of it. False: nothing is, or not ours."""
        fire = -1 if due.fire is None else due.fire
        with self._ledger.transaction() as tx:
            found = reactor_ponds.results(tx, self._lease.actor, after=-1, to=fire)
            unfit = [(each, said) for each in found if (said := self._table.refusal(each.rows)) is not None]
            whole = [(each, _text(error)) for each in found]
            return bool(found) and reactor_ponds.set_aside(tx, self._lease, unfit or whole)

    def _publish(self, due: Publication) -> None:
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
