"""The durable host of scenarios, with a journal that dies, refuses or loses its answer at a chosen commit."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from pondage.conform.reaction_durable import JournalReactorHost
from pondage.conform.reaction_host import Later, Perform
from pondage.conform.reaction_scenario import ReactionScenario
from pondage.conform.reaction_world import ReactionWorld
from pondage.engine.live.journal import JournalOutput
from pondage.kernel.reaction import AnyRecord, Event, Facts, ReactorShape, decode_records, encode_facts, recover
from pondage.ledger.commit.journal import Batch, FileJournal, journal_path
from pondage.ledger.database.driver import LedgerUnavailable
from pondage.ledger.tables.reactors import Lease

FAULTS = ("dies before", "dies after", "loses the answer", "refuses")


class Death(Exception):
    """The process died."""


class FaultyJournal(FileJournal):
    """A journal with a fault at one commit, and checks at all of them."""

    host: FaultyHost

    def write(self, batch: Batch) -> None:
        host = self.host
        host.commits += 1
        is_struck = host.commits == host.struck
        if is_struck and host.fault in ("dies before", "refuses"):
            raise Death if host.fault == "dies before" else LedgerUnavailable("no")
        before = self.read().seq
        super().write(batch)
        if batch.seq > before:
            host.journal += decode_records(batch.records)
        if is_struck:
            raise Death if host.fault == "dies after" else LedgerUnavailable("the answer was lost")
        host.check_fold(self)


class FaultyHost(JournalReactorHost):
    """Begins again a moment after its death; `journal` is every record that was ever durable."""

    def __init__(self, shape: ReactorShape, perform: Perform, later: Later, commit_takes: int) -> None:
        self.commits = 0
        self.struck: int | None = None
        self.fault = ""
        self.journal: list[AnyRecord] = []
        self.file: FaultyJournal | None = None
        self.on_death: Callable[[], None] = lambda: None
        super().__init__(shape, perform, later, commit_takes)

    def begin(self, now: int) -> None:
        self._guarded(lambda: super(FaultyHost, self).begin(now))

    def feed(self, event: Event | list[object], now: int) -> None:
        self._guarded(lambda: super(FaultyHost, self).feed(event, now))

    def open_journal(self, lease: Lease) -> FileJournal:
        path = journal_path(self._folder / "ledger.db", lease.actor)
        journal = FaultyJournal(path, lease, level="process")
        journal.host = self
        self.file = journal
        return journal

    def check_fold(self, journal: FileJournal) -> None:
        """A commit is written between two steps: what is durable then is what the machine knows."""
        output = self._output
        if self._pump is not None and isinstance(output, JournalOutput) and not output._pending:
            assert encode_facts(fold(self.shape, journal)) == encode_facts(self._pump.state.facts)

    def _commit_later(self, commit: Callable[[], None]) -> None:
        super()._commit_later(lambda: self._guarded(commit))

    def _wait(self, seconds: float, call: Callable[[], None]) -> None:
        self._later(self._clock.time + int(seconds * self.shape.second), lambda _: self._guarded(call))

    def _guarded(self, call: Callable[[], None]) -> None:
        try:
            call()
        except (Death, LedgerUnavailable):  # opening a life that fails is tried again, as after a death
            self.on_death()


def fold(shape: ReactorShape, journal: FileJournal) -> Facts:
    """Fold what a file holds."""
    return recover(shape, itertools.chain.from_iterable(map(decode_records, journal.read().blobs)))


class FaultyWorld(ReactionWorld):
    """A world whose process meets one fault of its journal."""

    def __init__(self, scenario: ReactionScenario, fault: str = "", struck: int | None = None) -> None:
        self.given = scenario.events
        super().__init__(scenario, FaultyHost)
        assert isinstance(self.host, FaultyHost)
        self.faulty = self.host
        self.host.fault, self.host.struck, self.host.on_death = fault, struck, self._die

    def _die(self) -> None:
        self._fall()
        self._deaths.insert(0, (self._now + 1, 1, None))
