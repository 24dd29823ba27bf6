"""A reactor that this host owns: its lease, its journal, its lives; and what it tells the ledger."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import msgspec

from pondage.define.reactor.boundary import InvalidBoundary
from pondage.define.reactor.graph import Fire
from pondage.define.reactor.reaction import ReactorDeclaration
from pondage.define.reactor.reactor import Reactor
from pondage.engine.live.calls import Call, unheard
from pondage.engine.live.door import Door
from pondage.engine.live.handing import Handing
from pondage.engine.live.host import ReactorHost
from pondage.engine.live.journal import SAID, JournalOutput, Life, inline_writer, ledger_row, open_life, thread_writer
from pondage.engine.live.output import DirectOutput, Output
from pondage.engine.live.publishing import Publisher
from pondage.engine.live.telling import CARRY_AGAIN_S, Telling
from pondage.engine.live.typed import checked_reduces, typed_facts
from pondage.errors import LedgerError
from pondage.kernel.reaction import Effect, Facts, ReactorShape, read_event
from pondage.kernel.reaction.declared import shape_of
from pondage.kernel.reaction.effects import Fired
from pondage.kernel.reaction.events import Blocked, PondRun, Push, ReactorCrashed, Unblocked, UndecodableEvent
from pondage.kernel.reaction.facts import new_facts
from pondage.ledger.commit.journal import Fenced, FileJournal, Journal, LedgerJournal, journal_path
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.ledger.ledger import Ledger
from pondage.ledger.step.reactor_ponds import Followed
from pondage.ledger.tables.reactors import Lease, LedgerRow, ReactorRow, ReactorSignal

LAZY_S = 0.001
"""How long the end of a fire may wait to be written together with what arrives next."""
LAZY_SYNCED_S = 0.01
"""The same where a commit takes milliseconds: one for an end alone would keep the next event waiting."""
OF_JOB = "job@"
"""The dead letter of a good fire for which no job could be decided is named by this and the fire."""
FOR_GOOD = ("invalid", "full", "unknown_source")
"""Why a boundary that a worker made is refused and need not be handed over again."""

Result = TypeVar("Result")

_log = logging.getLogger(__name__)


class OwnedReactor(Door):
    """One reactor from the claim of its lease to the end of its drain. All methods run on the loop."""

    def __init__(
        self,
        ledger: Ledger,
        row: ReactorRow,
        lease: Lease,
        reactor: Reactor,
        *,
        warehouse: str = "",
        call: Call | None = None,
    ) -> None:
        super().__init__(row.name, {source.name: source for source in reactor.sources})
        self._call = call or unheard()
        self.row = row
        self.lease = lease
        self.is_lost = False
        self._ledger = ledger
        self._reactor = reactor
        self._warehouse = warehouse
        self._handing = Handing(row)
        self._telling = Telling(ledger, row, lease, self._handing)
        self._telling.publisher = self._publisher = self._new_publisher()
        self._ponds = [each.name for each in row.declaration.accumulators if each.kind == "pond"]
        self._blocked: dict[str, bool] = {}
        self._said_of = (SAID if self._publisher is None else SAID | {Fired}) | self._handing.said
        self._host: ReactorHost | None = None
        # One thread: what is asked of the journal is done in the order in which it was asked.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"journal of {row.name}")
        self._journal: Journal | None = None
        self._output: Output | None = None
        self._taken: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def host(self) -> ReactorHost:
        """Answer the host of the present life."""
        assert self._host is not None, "the reactor was not started"
        return self._host

    @property
    def is_durable(self) -> bool:
        """Answer whether it has a journal."""
        return self.row.declaration.durable is not False

    async def start(self) -> None:
        """Begin the first life here: open the journal, carry over what waits, restore, evaluate at once.

        Raises LedgerError when the journal cannot be opened, PondageError when it is not of this declaration.
        """
        if self.is_durable:
            self._journal = await self._aside(self._open)
            if isinstance(self._journal, FileJournal):
                self._telling.journal = self._journal
                await self._telling.carry_said()
        else:
            await self._telling.forget_results()
        await self._live()
        self._telling.begin()

    def tell(self, signals: list[ReactorSignal]) -> None:
        """Hand over what the ledger has to say; each is consumed by the commit that holds what came of it."""
        for signal in signals:
            # Its row stays until the commit that says so is durable, and is read again until then.
            if signal.id in self._taken:
                continue
            self._taken.add(signal.id)
            event = read_event(msgspec.json.decode(signal.payload))
            if isinstance(event, Push):
                self._hand_over(signal.id, event)
                continue
            if event is None:
                _log.error("reactor %s does not understand the signal %s", self.name, signal.payload)
            else:
                self.host.feed(event)
            self.host.say(LedgerRow("consumed", str(signal.id)))
        # Whatever is not there any more was consumed for good: no need to remember it.
        self._taken.intersection_update(signal.id for signal in signals)

    @property
    def offsets(self) -> dict[str, int | None]:
        """Answer how far each Pond source was taken in."""
        facts = self.host.state.facts.sources
        return {name: facts[name].offset for name in self._ponds}

    def follow(self, found: list[Followed]) -> None:
        """Take in what the Ponds have that this reactor reads; what it knows already changes nothing."""
        for each in found:
            if each.is_blocked is not self._blocked.get(each.source, False):
                self._blocked[each.source] = each.is_blocked
                self.host.feed(Blocked(each.source) if each.is_blocked else Unblocked(each.source))
            for run in each.runs:
                self.host.feed(PondRun(each.source, run.freshness, run, run.delay))

    def dead(self) -> list[dict[str, object]]:
        """Answer the dead letters, also good fires whose jobs could not be decided."""
        jobs: list[dict[str, object]] = [
            {"id": f"{OF_JOB}{each.fire}", "error": each.error, "at": None, "raw": None, "inputs": each.inputs}
            for each in self._telling.dead_fires
        ]
        return [*super().dead(), *jobs]

    def state(self) -> dict[str, object]:
        """Answer the reactor's state, and why its journal cannot be written when it cannot."""
        output, stuck = self._output, None
        if isinstance(output, JournalOutput) and output.error is not None:
            stuck = {"item": "journal", "error": output.error.message, "since": output.failing_since}
        return {**super().state(), "stuck": stuck}

    async def command(self, name: str, argument: object = None, *, cid: str | None = None) -> dict[str, object]:
        """Give a command and wait for its answer; a dead letter of a job is redriven here, it needs no fire."""
        fires = {f"{OF_JOB}{each.fire}": each.fire for each in self._telling.dead_fires}
        if name != "redrive" or not isinstance(argument, str) or argument not in fires:
            return await super().command(name, argument, cid=cid)
        fire = fires[argument]
        return {"fire": fire, "outcome": "ok" if await self._telling.redrive_jobs(fire) else "failed"}

    def rebind(self, row: ReactorRow, reactor: Reactor) -> None:
        """Bind the graphs of another deploy to the reactor as it runs: from the next fire on, with all of its state."""
        self.row, self._reactor = row, reactor
        self._accumulators = {source.name: source for source in reactor.sources}
        self._telling.publisher = self._publisher = self._new_publisher()
        self._handing.rebind(row)
        self.host.rebind(
            self._shape(), graphs=reactor.graphs, accumulators=self._accumulators, on_result=self._on_result()
        )
        if isinstance(self._output, JournalOutput):
            self._output.declare(msgspec.json.encode(row.declaration).decode())

    async def drain(self, drain_us: int) -> None:
        """Stop in order: fire on for at most so long, write and carry over everything."""
        if not self.is_lost:
            await self.host.shut_down(drain_us)
        await self._close()

    async def lose(self, reason: str) -> None:
        """Stop at once and write nothing: somebody else owns the reactor, or may at any moment."""
        if self.is_lost:
            return
        self.is_lost = True
        _log.warning("reactor %s is no longer ours: %s", self.name, reason)
        # Before the first await: a commit that lands from now on may not release its effects here.
        if isinstance(self._output, JournalOutput):
            self._output.abandon()
        await self.host.drop("moved")
        await self._close()

    async def _live(self, *, after_crash: str | None = None) -> None:
        declaration, loop = self.row.declaration, asyncio.get_running_loop()
        shape = self._shape()
        facts: Facts | None = None
        output: Output = DirectOutput(self._telling.say)
        if self._journal is not None:
            journal, text = self._journal, msgspec.json.encode(declaration).decode()
            life = await self._aside(lambda: self._open_life(journal, shape, text))
            facts = typed_facts(life.facts, self._accumulators)
            output = self._journaled(journal, life.seq, loop)
        elif self._host is not None:
            facts = new_facts(shape)
            facts.attempts = self._host.state.facts.attempts
        self._output = output
        self._host = host = ReactorHost(
            shape,
            graphs=self._reactor.graphs,
            accumulators=self._accumulators,
            facts=facts,
            output=output,
            on_result=self._on_result(),
            call=self._call,
        )
        if isinstance(output, JournalOutput):
            output.on_pressure = host.throttle_all
        else:
            host.watchers.append(self._told)
        # A new life knows of no block: what still holds is told with the next look.
        self._blocked = {}
        if self._handing.said or self.lease.epoch > 1:
            host.say(self._handing.begin(facts))
        host.on_settled = self._changed.set
        host.begin(self._on_crash)
        if after_crash is not None:
            host.feed(ReactorCrashed(after_crash))

    def _journaled(self, journal: Journal, seq: int, loop: asyncio.AbstractEventLoop) -> JournalOutput:
        is_inline = isinstance(journal, FileJournal) and self.row.declaration.durable != "power"
        write = inline_writer(journal) if is_inline else thread_writer(journal, loop, self._thread)
        output = JournalOutput(
            write=write,
            schedule=lambda call: _ignored(loop.call_soon(call)),
            later=lambda seconds, call: _ignored(loop.call_later(seconds, call)),
            seq=seq,
            lazy_s=LAZY_S if is_inline else LAZY_SYNCED_S,
            said=self._said_of,
            rows_of=self._rows_of,
        )
        output.on_fenced = lambda: self._spawn(self.lose("its journal has another owner"))
        output.on_rows = self._telling.look
        return output

    def _on_crash(self, error: Exception) -> None:
        _log.error("reactor %s crashed and begins again from its journal", self.name, exc_info=error)
        # What was decided and not written never was: its effects must not come out when the next life has begun.
        if isinstance(self._output, JournalOutput):
            self._output.abandon()
        self._spawn(self._begin_again(f"{type(error).__name__}: {error}"))

    async def _begin_again(self, error: str) -> None:
        await self.host.drop("unavailable")
        while not (self.is_lost or self._telling.is_closing):
            try:
                await self._telling.carry_said()
                # What was handed over and is not in the journal is still in the ledger.
                self._taken.clear()
                await self._live(after_crash=error)
            except Fenced:
                await self.lose("its journal has another owner")
            except LedgerError as failed:
                _log.warning("reactor %s cannot begin again yet: %s", self.name, failed)
                await asyncio.sleep(CARRY_AGAIN_S)
            else:
                return

    def _open_life(self, journal: Journal, shape: ReactorShape, declaration: str) -> Life:
        return open_life(journal, shape, declaration=declaration, read_shape=_shape_of_text, name=self.name)

    def _open(self) -> Journal:
        driver = self._ledger.driver
        if not isinstance(driver, SqliteDriver):
            return LedgerJournal(self._ledger, self.lease)
        level = "power" if self.row.declaration.durable == "power" else "process"
        return FileJournal(journal_path(driver.path, self.lease.actor), self.lease, level=level)

    def _shape(self) -> ReactorShape:
        reduces = checked_reduces(self._accumulators, self._call)
        return shape_of(self.row.declaration, reduces=reduces, is_durable=self.is_durable)

    def _new_publisher(self) -> Publisher | None:
        given = self._reactor.publish
        if self.row.declaration.publish is None or given is None:
            return None
        return Publisher(self._ledger, self.row, self.lease, given, warehouse=self._warehouse)

    def _on_result(self) -> Callable[[Fire, str, object], None] | None:
        publisher = self._publisher
        if publisher is None:
            return None
        return lambda fire, graph, value: self.host.say(publisher.result_row(fire, graph, value))

    def _told(self, effect: Effect) -> None:
        for row in self._rows_of(effect) if type(effect) in self._said_of else ():
            self._telling.say(row)

    def _rows_of(self, effect: Effect) -> list[LedgerRow]:
        told = None if type(effect) is Fired and self._publisher is None else ledger_row(effect)
        return [row for row in (told, self._handing.row_of(effect)) if row is not None]

    def _hand_over(self, signal: int, event: Push) -> None:
        """Take in a boundary that a worker made; its signal goes when it is durable here, or refused for good."""
        accumulator = self._accumulators.get(event.source)
        try:
            value = event.value if accumulator is None else accumulator.check(event.value)
        except InvalidBoundary as error:
            raw = msgspec.json.encode(event.value).decode()
            cid = self.host.expect(partial(self._handed_over, signal))
            self.host.feed(UndecodableEvent(event.source, event.offset, f"{error.path}", cid, event.lane, raw))
            return
        cid = self.host.expect(partial(self._handed_over, signal))
        self.host.feed(msgspec.structs.replace(event, value=value, cid=cid))

    def _handed_over(self, signal: int, payload: dict[str, object]) -> None:
        if payload.get("accepted") or payload.get("error") in FOR_GOOD:
            self.host.say(LedgerRow("consumed", str(signal)))
        else:
            self._taken.discard(signal)  # Not now: the next look hands it over again.

    async def _close(self) -> None:
        await self._telling.close(is_lost=self.is_lost)
        if self._journal is not None:
            await self._aside(self._journal.close)
        self._thread.shutdown(wait=False)

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        # The loop itself keeps no task alive.
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _aside(self, call: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)


def _shape_of_text(text: str) -> ReactorShape:
    return shape_of(msgspec.json.decode(text, type=ReactorDeclaration))


def _ignored(handle: object) -> None:
    del handle
