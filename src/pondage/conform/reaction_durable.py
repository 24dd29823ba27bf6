"""The durable host of reaction scenarios: the live host's pump and journal, a lease and a real file, a fake clock.

Only time and the world (graphs, accumulators, Ponds) are played. A life is a process row with a claimed lease; a crash
loses what the journal has not, the reaper frees the lease, and the next life claims it under a new epoch.
"""

from __future__ import annotations

from collections.abc import Callable

from pondage.conform.durable import LedgerPlace
from pondage.define.reactor.reaction import AccumulatorDeclaration, ReactorDeclaration
from pondage.engine.live.journal import JournalOutput, Life, inline_writer, open_life
from pondage.engine.live.output import DirectOutput, Output
from pondage.engine.live.pump import Pump
from pondage.kernel.reaction import Effect, Event, ReactorShape, State, new_state, next_deadline
from pondage.kernel.reaction.events import Begin, Tick
from pondage.kernel.reaction.look import look
from pondage.kernel.reaction.redeclare import changed_kinds
from pondage.ledger.commit.journal import FileJournal, journal_path
from pondage.ledger.database.ids import SeededIds
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.tables import actors, reactors
from pondage.ledger.tables.reactors import Lease
from pondage.ledger.upkeep import reap

Perform = Callable[[Effect], None]
Later = Callable[[int, Callable[[int], None]], None]


class JournalReactorHost(LedgerPlace[Ledger]):
    """One scenario's reactor on a ledger and a journal of its own, in a temporary directory."""

    def __init__(self, shape: ReactorShape, perform: Perform, later: Later, commit_takes: int) -> None:
        super().__init__(lambda driver: Ledger(driver, ids=SeededIds(1)))
        self._shapes = [shape]
        self._perform = perform
        self._later = later
        self._commit_takes = commit_takes
        self._life: Life | None = None
        self._pump: Pump | None = None
        self._output: Output | None = None
        self._journal: FileJournal | None = None
        self._process: int | None = None
        self._actor = self._deploy()

    @property
    def shape(self) -> ReactorShape:
        """Answer the declaration in force."""
        return self._shapes[-1]

    def begin(self, now: int) -> None:
        """Begin a life: a process, a lease, what the journal holds."""
        self._clock.time = now
        self._journal = self.open_journal(self._claim())
        output: Output
        if self.shape.is_durable:
            life = self._open(self._journal)
            output = JournalOutput(
                write=inline_writer(self._journal), schedule=self._commit_later, later=self._wait, seq=life.seq
            )
            state = new_state(self.shape, life.facts)
        else:
            output, state = DirectOutput(), new_state(self.shape)
        self._output = output
        self._pump = Pump(state, output, self._clock.now, self._perform)
        self.feed(Begin(), now)

    def feed(self, event: Event | list[object], now: int) -> None:
        """Step the machine with one event, and commit at once when commits take no time."""
        if self._pump is None:
            return
        self._clock.time = now
        self._pump.feed(event)
        if self._commit_takes == 0 and isinstance(self._output, JournalOutput):
            self._output.commit()

    def tick(self, now: int) -> None:
        """Feed a tick."""
        self.feed(Tick(), now)

    def next_timer(self) -> int | None:
        """Answer the machine's next deadline."""
        return None if self._pump is None else next_deadline(self._pump.state)

    def crash(self) -> None:
        """Die: what is not committed is lost; the reaper frees the lease."""
        if isinstance(self._output, JournalOutput):
            self._output.abandon()
        self._pump = self._output = None
        if self._journal is not None:
            self._journal.close()
            self._journal = None
        with self._ledger.reading() as tx:
            dead = next(row for row in processes.alive(tx) if row.id == self._process)
        reap.reap_process(self._ledger, dead, reason="crash of the scenario")

    def redeclare(self, shape: ReactorShape) -> None:
        """Give the next life another declaration; one that changes a source's kind is not taken."""
        if not changed_kinds(self.shape, shape):
            self._shapes.append(shape)

    def offset(self, source: str) -> int | None:
        """Answer how far a source was read."""
        return None if self._pump is None else self._pump.state.facts.sources[source].offset

    def look(self) -> dict[str, object]:
        """Answer the state, or what the next life would begin with."""
        return look(self._state())

    def close(self) -> None:
        """Close the ledger and the journal and remove their files."""
        if self._journal is not None:
            self._journal.close()
        super().close()

    def open_journal(self, lease: Lease) -> FileJournal:
        """Open the journal; a place for tests to let it fail."""
        return FileJournal(journal_path(self._folder / "ledger.db", lease.actor), lease, level="process")

    def _state(self) -> State:
        if self._pump is not None:
            return self._pump.state
        if not self.shape.is_durable:
            return new_state(self.shape)
        journal = self.open_journal(self._claim())
        try:
            return new_state(self.shape, self._open(journal).facts)
        finally:
            journal.close()

    def _open(self, journal: FileJournal) -> Life:
        return open_life(
            journal,
            self.shape,
            declaration=str(len(self._shapes) - 1),
            read_shape=lambda number: self._shapes[int(number)],
        )

    def _commit_later(self, commit: Callable[[], None]) -> None:
        if self._commit_takes:
            self._later(self._clock.time + self._commit_takes, lambda _: commit())

    def _wait(self, seconds: float, call: Callable[[], None]) -> None:
        """Wait for nothing: what is only for the ledger goes with the next record."""

    def _deploy(self) -> int:
        declaration = ReactorDeclaration(
            name="scenario", accumulators=tuple(AccumulatorDeclaration(name=name) for name in self.shape.sources)
        )
        with self._ledger.transaction() as tx:
            environment = actors.made_environment(tx, "conformance")
            return reactors.put(tx, environment=environment, project="conformance", declaration=declaration)

    def _claim(self) -> Lease:
        ids = self._ledger.ids
        with self._ledger.transaction() as tx:
            self._process = processes.register(
                tx, public_id=ids.new("p"), machine="virtual", pid=1, pid_started=1, role="live"
            )
            lease = reactors.claim(tx, actor=self._actor, process=self._process, token=ids.new("t"))
        assert lease is not None
        return lease
