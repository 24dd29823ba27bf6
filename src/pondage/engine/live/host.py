"""One reactor on an event loop: an inbox, the machine, its only timer, its graphs and its accumulators.

Everything here runs on the loop's thread; graphs in threads report back to it. The output decides when an effect is
performed, so that a journal can stand between the machine and the world.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping

from pondage.define.reactor.accumulator import AnyAccumulator
from pondage.define.reactor.graph import GraphRunner
from pondage.engine.live.calls import Call, unheard
from pondage.engine.live.graphs import Graphs, Result
from pondage.engine.live.latencies import Latencies
from pondage.engine.live.output import DirectOutput, Output
from pondage.engine.live.pump import Clock, Pump
from pondage.engine.live.sources import Answered, Sources
from pondage.engine.live.typed import retype
from pondage.kernel.reaction import Condition, Effect, Event, ReactorShape, State, new_state, next_deadline
from pondage.kernel.reaction import effects as e
from pondage.kernel.reaction.events import Begin, Bind, Shutdown, Tick, Unbind
from pondage.kernel.reaction.facts import Facts
from pondage.ledger.tables.reactors import LedgerRow

Watch = Callable[[Effect], None]


def wall_clock() -> int:
    """Give the time in microseconds."""
    return time.time_ns() // 1000


def _soon(call: Callable[[], None]) -> object:
    return asyncio.get_running_loop().call_soon(call)


class ReactorHost:
    """Feeds events to the machine one at a time and performs its effects. Events that effects cause wait their turn."""

    def __init__(
        self,
        shape: ReactorShape,
        *,
        graphs: Mapping[str, GraphRunner],
        accumulators: Mapping[str, AnyAccumulator],
        facts: Facts | None = None,
        output: Output | None = None,
        clock: Clock = wall_clock,
        on_result: Result | None = None,
        call: Call | None = None,
    ) -> None:
        self.call = call or unheard()
        self.state: State = new_state(shape, facts)
        self.stopped = asyncio.Event()
        self.is_throttled = False
        self.watchers: list[Watch] = []
        self.on_settled: Callable[[], None] | None = None
        self._output = output or DirectOutput()
        self._clock = clock
        self._pump = Pump(self.state, self._output, clock, self._perform, _soon)
        self._pump.on_settled = self._settled
        self.feed = self._pump.feed
        self.offer = self._pump.offer
        self.flush = self._pump.flush
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at: int | None = None
        self._replies: dict[str, asyncio.Future[dict[str, object]]] = {}
        self._expected: dict[str, Answered] = {}
        self._number = 0
        self._dropped: str | None = None
        self._life = secrets.token_hex(4)
        self._graphs = Graphs(graphs, self._pump.report, on_result, self.call)
        self._sources = Sources(accumulators, self.feed, self.offer, self.expect, self._checkpoint, self.call)
        self._actions: dict[type, Callable[..., None]] = {
            e.StartFire: self._graphs.start,
            e.CancelFire: self._graphs.cancel,
            e.Reply: self._reply,
            e.StartSource: self._sources.start,
            e.StopSource: self._sources.stop,
            e.Connect: self._sources.connect,
            e.Poll: self._sources.poll,
            e.Throttle: self._sources.throttle,
            e.Stopped: self._stop,
        }
        self._action_of = self._actions.get

    @property
    def latencies(self) -> Latencies:
        """Answer how long the graphs of fires took."""
        return self._graphs.latencies

    def begin(self, on_crash: Callable[[Exception], None] | None = None) -> None:
        """Begin this life. `on_crash` is told when the reactor's own code raises; without it the error is raised."""
        self._pump.on_crash = on_crash
        self.feed(Begin())

    async def ask(self, make_event: Callable[[str], Event], *, cid: str | None = None) -> dict[str, object]:
        """Take in an event that is answered, and wait for the answer."""
        if self._dropped is not None:
            return {"accepted": False, "error": self._dropped}
        if cid is None:
            cid = self._new_cid()
        elif cid in self._replies:
            return await asyncio.shield(self._replies[cid])
        future: asyncio.Future[dict[str, object]] = asyncio.get_running_loop().create_future()
        self._replies[cid] = future
        try:
            self.offer(make_event(cid))
            return await future
        finally:
            self._replies.pop(cid, None)

    def expect(self, answered: Answered) -> str:
        """Give an id for an event; `answered` is called with the answer once that is durable, in this life or never."""
        cid = self._new_cid()
        self._expected[cid] = answered
        return cid

    def say(self, row: LedgerRow) -> None:
        """Tell the ledger something, together with what was decided so far."""
        self._output.say(row)

    def rebind(
        self,
        shape: ReactorShape,
        *,
        graphs: Mapping[str, GraphRunner],
        accumulators: Mapping[str, AnyAccumulator],
        on_result: Result | None,
    ) -> None:
        """Bind the graphs of another deploy, from the next fire on. Sources, queues, offsets and commands stay."""
        if self._dropped is not None:
            return
        self.flush()  # what was offered is of the types before
        fire, bound = self.state.facts.fire, list(self.state.facts.graphs)
        self.state.rebind(shape)
        retype(self.state, accumulators)
        self._graphs.rebind(graphs, on_result, None if fire is None else (fire.id, fire.attempt))
        self._sources.rebind(accumulators)
        for graph in (each for each in shape.graphs if each not in bound):
            self.feed(Bind(graph))
        for graph in (each for each in bound if each not in shape.graphs):
            self.feed(Unbind(graph))

    def throttle_all(self, on: bool) -> None:
        """Let every source wait, or go on: the journal cannot keep up with what they bring."""
        self.is_throttled = on
        for name in self.state.sources:
            self._sources.throttle(e.Throttle(name, on))

    async def shut_down(self, drain: int) -> None:
        """Stop: fire on for at most `drain`, write what is pending, then end every task."""
        self.feed(Shutdown(drain))
        if self.state.condition is Condition.FAILED:
            self.stopped.set()  # Nothing of it runs, and the next life must know that it has failed.
        await self.stopped.wait()
        await self._output.close()
        await self._end("stopped")

    async def drop(self, error: str) -> None:
        """End at once and write nothing more: somebody else owns the reactor now."""
        self._dropped = error
        await self._end(error)
        self.stopped.set()

    async def _end(self, error: str) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._sources.close()
        await self._graphs.close()
        for future in self._replies.values():
            if not future.done():
                future.set_result({"accepted": False, "error": error})

    def _settled(self) -> None:
        if self.state.next_at != self._timer_at:
            self._arm()
        if self.on_settled is not None:
            self.on_settled()

    def _perform(self, effect: Effect) -> None:
        if (action := self._action_of(type(effect))) is not None:
            action(effect)
        if self.watchers:
            for watch in self.watchers:
                watch(effect)

    def _reply(self, effect: e.Reply) -> None:
        future = self._replies.get(effect.cid)
        if future is not None and not future.done():
            future.set_result(effect.payload)
        elif (answered := self._expected.pop(effect.cid, None)) is not None:
            answered(effect.payload)

    def _checkpoint(self, source: str) -> int | None:
        return self.state.facts.sources[source].offset

    def _new_cid(self) -> str:
        self._number += 1
        return f"{self._life}-{self._number}"

    def _stop(self, _: e.Stopped) -> None:
        self.stopped.set()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_at = at = next_deadline(self.state)
        if at is not None:
            wait = max(0, at - self._clock()) / 1e6
            self._timer = asyncio.get_running_loop().call_later(wait, self._ring)

    def _ring(self) -> None:
        self._timer, self._timer_at = None, None
        self.feed(Tick())
