"""The outbox: what the outside is told after a commit, carried out at least once and harmless to repeat."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

import msgspec

from pondage.engine.process.backoff import doubled
from pondage.engine.services.formats import FormatPublisher
from pondage.engine.services.stable_names import publish, unpublish
from pondage.errors import PondageError
from pondage.ledger.act.removal import Unpublish
from pondage.ledger.data import lineage
from pondage.ledger.data.lineage import RunFacts
from pondage.ledger.database.driver import LedgerUnavailable, Transaction
from pondage.ledger.database.patience import persist
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import history
from pondage.ledger.tables.history import OutboxRow
from pondage.ledger.upkeep import publications, retention

LEASE_S = 60.0
"""A carrier that dies leaves its row to others after this time; one that is merely slow does harmless work twice."""
TOLD_AT_ONCE = 4
"""How many of those outside may keep a supervisor waiting at once; what is published waits for none of them."""
PERSIST_S = 5.0
"""For how long a ledger that does not answer is asked again; then the row waits until its lease is over."""
FIRST_RETRY_S = 1.0
LONGEST_RETRY_S = 300.0

_log = logging.getLogger(__name__)


class PublishOrder(msgspec.Struct, frozen=True):
    """The payload of a `publish` row: a Pond whose stable names should show its current Run."""

    pond: int
    run: str = ""


class RunOrder(msgspec.Struct, frozen=True):
    """The payload of a `lineage` or `failed` row: an ended Run that others may want to know of."""

    run: str


Tell = Callable[[RunFacts], None]


class Outbox:
    """A service that carries out outbox rows, one after the other, with longer waits after each failure of a row.

    With `at_once` as many rows that wait for somebody outside are carried out beside the others, each in a thread.
    """

    name = "outbox"
    is_woken = True

    def __init__(
        self,
        ledger: Ledger,
        warehouse: str,
        address: str = "",
        *,
        tell: Tell | None = None,
        alert: Callable[[OutboxRow], None] | None = None,
        at_once: int = 0,
    ) -> None:
        """`address` is the ledger's, for catalogues beside it. `tell` sends lineage somewhere, `alert` an alert."""
        self._ledger = ledger
        self._warehouse = warehouse
        self._formats = FormatPublisher(ledger, warehouse, address)
        self._tell = tell
        self._alert = alert
        self._free = threading.Semaphore(at_once)
        self._is_alone = at_once == 0

    def run_once(self) -> float:
        """Carry out everything that is available, but what is told outside only as far as somebody is free for it."""
        # Looking costs no write: most of the time there is nothing.
        while self._is_waiting():
            row = self._take()
            if row is None:
                break
            if self._is_alone or row.kind not in history.TELLING:
                self._carry_out(row)
            else:
                threading.Thread(target=self._tell_aside, args=(row,), name="telling", daemon=True).start()
        return self._ledger.durability.poll_s

    def _take(self) -> OutboxRow | None:
        """Take a row; one that is told outside comes with a place of those that may keep us waiting."""
        is_free = not self._is_alone and self._free.acquire(blocking=False)
        row = None
        try:
            row = self._leased(is_telling=is_free or self._is_alone)
        finally:
            if is_free and (row is None or row.kind not in history.TELLING):
                self._free.release()
        return row

    def _leased(self, *, is_telling: bool) -> OutboxRow | None:
        found: OutboxRow | None = None

        def act() -> OutboxRow | None:
            nonlocal found
            with self._ledger.transaction() as tx:
                # A lease may have landed and only its answer was lost; if it is somebody else's, the harm is none.
                held = None if found is None else history.leased_outbox(tx, found)
                if held is not None:
                    return held
                found = history.next_outbox(tx, is_telling=is_telling)
                return None if found is None else history.lease_outbox(tx, found, lease_us=int(LEASE_S * 1e6))

        return persist(act, give_up=_after(PERSIST_S))

    def _tell_aside(self, row: OutboxRow) -> None:
        try:
            self._carry_out(row)
        except LedgerUnavailable:
            _log.warning("outbox row %d was carried out, but that could not be written: it comes again", row.id)
        finally:
            self._free.release()

    def _is_waiting(self) -> bool:
        with self._ledger.reading() as tx:
            return retention.has_outbox(tx)

    def _carry_out(self, row: OutboxRow) -> None:
        try:
            self._act(row)
        except Exception as error:  # noqa: BLE001 - recorded in the row, and tried again
            _log.exception("outbox row %d (%s) failed", row.id, row.kind)
            retry_s = doubled(FIRST_RETRY_S, row.attempts, LONGEST_RETRY_S)
            said = _said(error)
            self._write(lambda tx: history.outbox_failed(tx, row.id, error=said, retry_in_us=int(retry_s * 1e6)))
            return
        self._write(lambda tx: history.outbox_done(tx, row.id))

    def _write(self, what: Callable[[Transaction], None]) -> None:
        def act() -> None:
            with self._ledger.transaction() as tx:
                what(tx)

        persist(act, give_up=_after(PERSIST_S))

    def _act(self, row: OutboxRow) -> None:
        match row.kind:
            case "publish":
                self._publish(row, msgspec.json.decode(row.payload, type=PublishOrder))
            case "formats":
                self._formats.publish(msgspec.json.decode(row.payload, type=PublishOrder).pond)
            case "unpublish":
                unpublish(self._warehouse, msgspec.json.decode(row.payload, type=Unpublish))
            case "lineage" | "failed":
                self._tell_of(msgspec.json.decode(row.payload, type=RunOrder).run)
            case "alert" if self._alert is not None:
                self._alert(row)
            case _:
                raise ValueError(f"nobody here carries out outbox rows of kind {row.kind}")

    def _publish(self, row: OutboxRow, order: PublishOrder) -> None:
        # The Run that is current now, not the one of the row: rows may be carried out late or out of order.
        with self._ledger.reading() as tx:
            published = retention.published(tx, order.pond)
            has_formats = published is not None and bool(publications.formats(tx, published))
        if published is not None:
            publish(self._warehouse, published)
        # Rows of their own: whoever cannot be told now is told later, and is in nobody's way.
        if has_formats:
            self._put(row, "formats", {"pond": order.pond})
        if self._tell is not None and order.run:
            self._put(row, "lineage", {"run": order.run})

    def _put(self, row: OutboxRow, kind: str, payload: object) -> None:
        with self._ledger.transaction() as tx:
            history.put_outbox(tx, environment=row.environment, kind=kind, payload=payload)

    def _tell_of(self, run: str) -> None:
        if self._tell is None:
            return
        with self._ledger.reading() as tx:
            facts = lineage.run_facts(tx, run)
        if facts is not None:
            self._tell(facts)


def _said(error: Exception) -> str:
    if isinstance(error, PondageError):
        return f"{error.code}: {error.message}" + (f" ({error.hint})" if error.hint else "")
    return f"{type(error).__name__}: {error}"


def _after(seconds: float) -> Callable[[], bool]:
    deadline_s = time.monotonic() + seconds
    return lambda: time.monotonic() >= deadline_s
