"""The output of a durable reactor: records are committed in groups, effects wait until what is before them is safe."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

from pondage.engine.live.pump import Pump
from pondage.engine.process.backoff import Backoff
from pondage.errors import LedgerError, PondageError
from pondage.kernel.reaction import (
    AnyRecord,
    Effect,
    Facts,
    Full,
    ReactorShape,
    encode_records,
    is_derivable,
    redeclare,
)
from pondage.kernel.reaction.effects import (
    CancelFire,
    DropDemand,
    Fired,
    Health,
    Held,
    Log,
    PondFailed,
    Publish,
    RecoveryNote,
    StartFire,
    TargetPond,
    WantPond,
)
from pondage.kernel.reaction.events import Journal as JournalEvent
from pondage.kernel.reaction.redeclare import changed_kinds
from pondage.ledger.commit.journal import Batch, Fenced, Journal
from pondage.ledger.commit.journal_items import folded
from pondage.ledger.tables.reactors import LedgerRow

FULL_EVERY = 1000
"""After so many records the full state is written and the rows before it go."""
ROWS_WAIT_S = 0.05
"""How long something for the ledger waits for records to go with."""
MOST_UNWRITTEN = 64 << 20
"""So many bytes may wait for a journal that cannot be written before the sources are throttled."""

Written = Callable[[Exception | None], None]
Write = Callable[[Batch, Written], None]
"""Write a batch and say, on the loop's thread, how it went."""
Schedule = Callable[[Callable[[], None]], None]


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """What a life begins with: the facts of the journal, and the number of its last commit."""

    facts: Facts
    seq: int


def open_life(
    journal: Journal,
    shape: ReactorShape,
    *,
    declaration: str,
    read_shape: Callable[[str], ReactorShape],
    name: str = "REACTOR",
) -> Life:
    """Fold a journal under the declaration that it was written under; under another one its full state is written anew.

    Raises PondageError: KIND_CHANGED when a source would be of another kind, UNREADABLE_JOURNAL with the item's name.
    """
    found = journal.read()
    if found.declaration == declaration:
        return Life(facts=folded(name, shape, found), seq=found.seq)
    rows: list[LedgerRow] = []
    if found.declaration is None:
        facts = folded(name, shape, found)
    else:
        old = read_shape(found.declaration)
        if changed := changed_kinds(old, shape):
            raise PondageError(
                f"accumulator {changed[0]} would be of another kind than in the journal",
                hint="give the new one another name",
                code="KIND_CHANGED",
            )
        changed_to = redeclare(old, folded(name, old, found), shape)
        facts = changed_to.facts
        rows = [_dropped_row(source, number) for source, number in changed_to.dropped.items()]
    seq, full = found.seq + 1, encode_records([Full(facts)])
    journal.write(Batch(seq=seq, records=full, is_full=True, rows=tuple(rows), declaration=declaration))
    return Life(facts=facts, seq=seq)


def _dropped_row(source: str, number: int) -> LedgerRow:
    return LedgerRow("reactor dropped", msgspec.json.encode({"source": source, "number": number}).decode())


def ledger_row(effect: Effect) -> LedgerRow | None:
    """Answer what the ledger is told of an effect: recoveries and holds are history, health is what others see."""
    match effect:
        case RecoveryNote(component, attempt, backoff):
            said = {"component": component, "attempt": attempt, "backoff": backoff}
            return LedgerRow("reactor recovery", msgspec.json.encode(said).decode())
        case Held(hold):
            return LedgerRow("reactor hold", msgspec.json.encode({"hold": hold}).decode())
        case Health(state, sources):
            return LedgerRow("health", msgspec.json.encode({"state": state, "sources": sources}).decode())
    return pond_row(effect)


def pond_row(effect: Effect) -> LedgerRow | None:
    """Answer what the ledger is told of an effect about Ponds: the reactor's own, and those that it reads."""
    match effect:
        case Publish(f, d, fire):
            return LedgerRow("publish", msgspec.json.encode({"f": f, "d": d, "fire": fire}).decode())
        case PondFailed(on):
            return LedgerRow("pond failed", msgspec.json.encode({"on": on}).decode())
        case DropDemand():
            return LedgerRow("demand dropped", "{}")
        case WantPond(source, f):
            return LedgerRow("want", msgspec.json.encode({"source": source, "f": f}).decode())
        case TargetPond(source, f):
            return LedgerRow("target", msgspec.json.encode({"source": source, "f": f}).decode())
        case Fired(fire, _, outcome):
            return LedgerRow("fired", msgspec.json.encode({"fire": fire, "outcome": outcome}).decode())
    return None


def ledger_rows(effect: Effect) -> Sequence[LedgerRow]:
    """Answer what the ledger is told of an effect, as rows."""
    row = ledger_row(effect)
    return () if row is None else (row,)


SAID = frozenset({RecoveryNote, Held, Health, Publish, PondFailed, DropDemand, WantPond, TargetPond})
"""What the ledger is told of any reactor; of one that publishes also how each fire ended."""


class JournalOutput:
    """Groups records into commits. At most one commit is under way; what comes meanwhile is the next group."""

    def __init__(
        self,
        *,
        write: Write,
        schedule: Schedule,
        later: Callable[[float, Callable[[], None]], None],
        seq: int,
        lazy_s: float = 0.0,
        said: frozenset[type] = SAID,
        rows_of: Callable[[Effect], Sequence[LedgerRow]] = ledger_rows,
    ) -> None:
        """`lazy_s` is how long records wait for others when nobody waits for them: ends of fires, mostly."""
        self.on_fenced: Callable[[], None] = lambda: None
        self.on_pressure: Callable[[bool], None] = lambda _: None
        self.on_rows: Callable[[], None] = lambda: None
        self._write = write
        self._schedule = schedule
        self._later = later
        self._seq = seq
        self._lazy_s = lazy_s
        self._said = said
        self._rows_of = rows_of
        self._declaration: str | None = None
        self._pending: list[AnyRecord] = []
        self._rows: list[LedgerRow] = []
        self._held: list[Effect] = []
        # Effects behind records are in two lines: `_held` waits for the next commit, `_released` for the one under way.
        # A commit takes what is held with it, so but for early starts nothing is done before its records are durable.
        self._flight: Batch | None = None
        self._released: list[Effect] = []
        # How many records that nothing else can derive are pending, and under way: while there are none, a new life
        # would decide the same start again from what is durable, so it may run ahead of its commit.
        self._firm = [0, 0]
        self._starts_held = 0
        self._since_full = 0
        self._bytes_since_full = 0
        self._full_bytes = 0
        self._waiting_bytes = 0
        self._is_scheduled = False
        self._is_waiting = False
        self._is_over = False
        self._is_pressed = False
        self._backoff: Backoff | None = None
        self._idle = asyncio.Event()
        self.error: LedgerError | None = None
        """Why the journal cannot be written now."""
        self.failing_since: int | None = None

    def attach(self, pump: Pump) -> None:
        """Perform with this pump."""
        self._pump = pump

    def take(self, effects: Sequence[Effect]) -> None:
        """Take the effects of one step: perform those before which everything is durable, hold the others."""
        said = self._said
        for effect in effects:
            kind = type(effect)
            if kind is Log:
                self._log(effect.record)  # type: ignore[union-attr]
                continue
            if kind is Fired and self._pending and Fired not in said:
                self._held.append(effect)  # Nobody waits for it: it needs no commit of its own.
                continue
            if kind in said:
                for row in self._rows_of(effect):
                    self.say(row)
            if self._pending:
                if not self._may_run_ahead(effect):
                    self._hold(self._held, effect)
                    continue
            elif self._flight is not None and not self._may_run_ahead(effect):
                self._hold(self._released, effect)
                continue
            self._pump.perform(effect)

    def declare(self, declaration: str) -> None:
        """Go on under another declaration: the next commit is the full state, and says so."""
        self._declaration = declaration
        self._ask()

    def say(self, row: LedgerRow) -> None:
        """Tell the ledger something, in the same transaction as the records so far; alone, it need not be at once."""
        self._rows.append(row)
        if len(self._rows) == 1 and not self._is_over:
            self._later(ROWS_WAIT_S, self.commit)

    def commit(self) -> None:
        """Begin to write what is pending. Called by the schedule; also when there is nothing, or a write under way."""
        self._is_scheduled = False
        if self._flight is not None or self._is_over or not self._has_pending:
            return
        records, rows = self._pending, tuple(self._rows)
        self._since_full += len(records)
        declaration, self._declaration = self._declaration, None
        is_full = self._since_full >= FULL_EVERY and self._bytes_since_full >= self._full_bytes
        is_full = is_full or declaration is not None
        # Between two steps the facts are the fold of every record so far, this group's too.
        try:
            blob = encode_records([Full(self._pump.state.facts)] if is_full else records)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            # What no journal keeps is caught at the door. This life has taken it in nevertheless: it cannot go on.
            self._pump.crash(error)
            return
        self._bytes_since_full += len(blob)
        if is_full:
            self._since_full, self._bytes_since_full, self._full_bytes = 0, 0, len(blob)
        self._pending, self._rows = [], []
        # Nothing is under way (see above), so nothing released is overwritten here.
        self._released, self._held = self._held, []
        self._firm = [0, self._firm[0]]
        self._seq += 1
        self._flight = Batch(seq=self._seq, records=blob, is_full=is_full, rows=rows, declaration=declaration)
        self._write(self._flight, self._written)

    def abandon(self) -> None:
        """End without a word, as a dead process does."""
        self._is_over = True

    async def close(self) -> None:
        """Wait until everything is written."""
        while (self._flight is not None or self._has_pending) and not self._is_over:
            # Cleared before the commit, which an inline writer ends within the call: its `set` must not be lost.
            self._idle.clear()
            self.commit()
            if self._flight is not None:
                await self._idle.wait()
        self._is_over = True

    @property
    def _has_pending(self) -> bool:
        return bool(self._pending or self._rows or self._declaration)

    def _log(self, record: AnyRecord) -> None:
        self._pending.append(record)
        if not is_derivable(record):
            self._firm[0] += 1
        if self._backoff is not None:
            self._press(len(encode_records([record])))
        if not self._lazy_s:
            self._ask()
        elif self._is_waiting:
            return
        elif not (self._is_scheduled or self._is_over):
            self._is_waiting = True
            self._later(self._lazy_s, self._commit_late)

    def _commit_late(self) -> None:
        self._is_waiting = False
        self.commit()

    def _ask(self) -> None:
        if not self._is_scheduled and self._flight is None and not self._is_over:
            self._is_scheduled = True
            self._schedule(self.commit)

    def _may_run_ahead(self, effect: Effect) -> bool:
        return (
            type(effect) is StartFire
            and effect.is_early
            and not self._starts_held
            and self._firm[0] == 0
            and self._firm[1] == 0
        )

    def _hold(self, where: list[Effect], effect: Effect) -> None:
        where.append(effect)
        kind = type(effect)
        if kind is StartFire or kind is CancelFire:
            self._starts_held += 1
        if kind is not Fired:
            self._ask()

    def _written(self, error: Exception | None) -> None:
        if self._is_over:
            # Abandoned while it was being written: the next life reads what is durable, and its effects are not ours.
            return
        if isinstance(error, Fenced):
            self._is_over = True
            self.on_fenced()
        elif isinstance(error, LedgerError):
            self.error = error
            self._write_again()
        elif error is not None:
            self._pump.crash(error)
        else:
            self._is_durable()
        if self._flight is None or self._is_over:
            self._idle.set()

    def _write_again(self) -> None:
        # The same transaction once more: when only its answer was lost, the journal knows it by its number.
        batch = self._flight
        assert batch is not None
        is_news = self._backoff is None
        if self._backoff is None:
            self._backoff, self.failing_since = Backoff(), self._pump.state.now
        self._later(self._backoff.failed(), lambda: None if self._is_over else self._write(batch, self._written))
        if is_news:
            self._pump.feed(JournalEvent(False))

    def _is_durable(self) -> None:
        if self._flight is not None and self._flight.rows:
            self.on_rows()
        # Landed before anything is performed: performing feeds the machine, which may ask for the next commit at once.
        released, self._released, self._flight = self._released, [], None
        self._firm[1] = 0
        self._starts_held -= sum(isinstance(each, (StartFire, CancelFire)) for each in released)
        was_failing, self._backoff, self.error = self._backoff is not None, None, None
        if self._pending or self._declaration:
            self._ask()
        elif self._rows:
            self._later(ROWS_WAIT_S, self.commit)
        self._pump.carry_out(released)
        if was_failing:
            self._press(-self._waiting_bytes)
            self._pump.feed(JournalEvent(True))

    def _press(self, number: int) -> None:
        self._waiting_bytes += number
        if (self._waiting_bytes > MOST_UNWRITTEN) != self._is_pressed:
            self._is_pressed = not self._is_pressed
            self.on_pressure(self._is_pressed)


def inline_writer(journal: Journal) -> Write:
    """Write on the caller's thread: at the level `process` a commit takes less than handing it to another thread."""

    def write(batch: Batch, written: Written) -> None:
        error: Exception | None = None
        try:
            journal.write(batch)
        except Exception as failed:  # noqa: BLE001 - of the ledger: written again; any other ends this life
            error = failed
        written(error)

    return write


def thread_writer(journal: Journal, loop: asyncio.AbstractEventLoop, thread: ThreadPoolExecutor) -> Write:
    """Write in a thread (of one): a commit that waits for the disk or the network must not hold up the loop."""

    def write(batch: Batch, written: Written) -> None:
        def attempt() -> None:
            error: Exception | None = None
            try:
                journal.write(batch)
            except Exception as failed:  # noqa: BLE001 - of the ledger: written again; any other ends this life
                error = failed
            loop.call_soon_threadsafe(written, error)

        thread.submit(attempt)

    return write
