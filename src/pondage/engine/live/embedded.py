"""`async with reactor.run() as live`: a reactor in this process, in memory, for tests and scripts."""

import asyncio
from collections import deque
from collections.abc import Callable
from types import TracebackType

import msgspec

from pondage.define.accumulator import AnyAccumulator
from pondage.define.boundary import InvalidBoundary, SnapshotRef
from pondage.define.graph import Fire
from pondage.define.reactor import Reactor
from pondage.engine.live.host import ReactorHost, wall_clock
from pondage.engine.live.pump import Clock
from pondage.engine.live.sources import NOTHING, boundary_of
from pondage.errors import NotFound, PondageError
from pondage.kernel.reaction.declared import shape_of
from pondage.kernel.reaction.events import Ask, Event, Flush, PondRun, Push, UndecodableEvent
from pondage.kernel.reaction.look import look

RESULTS_KEPT = 1024


class Ack(msgspec.Struct, frozen=True):
    """The answer to a push: accepted under `seq`, known already (`dup`), or refused with an `error`."""

    accepted: bool
    seq: int | None = None
    dup: bool = False
    error: str | None = None
    path: str | None = None
    retry_after: int | None = None


class FireResult(msgspec.Struct, frozen=True):
    """What a graph gave in a fire."""

    fire: int
    graph: str
    value: object


class LiveReactor:
    """A reactor that runs. Pushes and commands are methods; `results` holds the last that its graphs gave."""

    def __init__(self, reactor: Reactor, *, drain: int = 10_000_000, clock: Clock = wall_clock) -> None:
        self.reactor = reactor
        self.results: deque[FireResult] = deque(maxlen=RESULTS_KEPT)
        self._drain = drain
        self._clock = clock
        self._accumulators = {source.name: source for source in reactor.sources}
        self._host: ReactorHost | None = None
        self._changed = asyncio.Event()

    async def __aenter__(self) -> "LiveReactor":
        declaration = self.reactor.declaration
        if declaration.jobs:
            raise PondageError(
                f"reactor {declaration.name} starts a Job, and without a ledger there is nobody to run it",
                hint="deploy the reactor, or leave the Job out here",
                code="NO_LEDGER",
            )
        reduces = {name: each.hooks.flush for name, each in self._accumulators.items() if each.hooks.flush is not None}
        self._host = ReactorHost(
            shape_of(declaration, reduces=reduces, is_durable=False),
            graphs=self.reactor.graphs,
            accumulators=self._accumulators,
            clock=self._clock,
            on_result=self._keep,
        )
        self._host.on_settled = self._changed.set
        self._host.begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.host.shut_down(self._drain if kind is None else 0)

    @property
    def host(self) -> ReactorHost:
        """Answer the host; raises PondageError outside of the `async with`."""
        if self._host is None:
            raise PondageError("the reactor does not run", hint="async with reactor.run() as live: ...")
        return self._host

    async def push(self, source: str, value: object, *, offset: int | None = None, f: int | None = None) -> Ack:
        """Push a value and wait until it is accepted or refused; a value of another type is refused with its path."""
        accumulator = self._accumulator(source)
        try:
            checked = await boundary_of(accumulator, value)
        except InvalidBoundary as error:
            refusal = f"{error.path}"
            return await self._acknowledged(lambda cid: UndecodableEvent(source, None, refusal, cid))
        if checked is NOTHING:
            return Ack(accepted=True)
        return await self._acknowledged(lambda cid: Push(source, checked, cid, offset, f))

    def offer(self, source: str, value: object) -> None:
        """Push a boundary that is of its type already, without waiting for an answer: the shortest way in."""
        self.host.feed(Push(source, value))

    def complete(self, source: str, run: SnapshotRef) -> None:
        """Tell a Pond source of a completed Run, as the ledger would."""
        self._accumulator(source)
        self.host.feed(PondRun(source, run.freshness, run, run.delay))

    def flush(self, source: str) -> None:
        """Let a batch emit what it holds."""
        self._accumulator(source)
        self.host.feed(Flush(source))

    async def command(self, name: str, argument: object = None) -> dict[str, object]:
        """Give a command (`force_fire`, `pause`, `resume`, `redrive`, ...) and wait for its answer."""
        return await self.host.ask(lambda cid: Ask(cid, name, argument))

    async def fire(self) -> dict[str, object]:
        """Fire now, whatever the criteria say."""
        return await self.command("force_fire")

    async def fire_with(self, **cache: object) -> dict[str, object]:
        """Fire with exactly these values; they are checked and stay in the cache."""
        return await self.command(
            "fire_with", {name: self._accumulator(name).check(value) for name, value in cache.items()}
        )

    def state(self) -> dict[str, object]:
        """Answer the reactor's state, as GetState does."""
        return look(self.host.state)

    async def until(self, condition: Callable[[dict[str, object]], bool]) -> dict[str, object]:
        """Wait until the state fulfils a condition, and answer it. Woken by what happens, never by a clock."""
        while not condition(state := self.state()):
            self._changed.clear()
            await self._changed.wait()
        return state

    async def idle(self) -> dict[str, object]:
        """Wait until no fire runs."""
        return await self.until(lambda state: state["running"] is None)

    def _accumulator(self, source: str) -> AnyAccumulator:
        found = self._accumulators.get(source)
        if found is None:
            known = ", ".join(self._accumulators)
            raise NotFound(f"reactor {self.reactor.name} has no source {source}", hint=f"it has: {known}")
        return found

    async def _acknowledged(self, make_event: Callable[[str], Event]) -> Ack:
        return msgspec.convert(await self.host.ask(make_event), Ack)

    def _keep(self, fire: Fire, graph: str, value: object) -> None:
        publish = self.reactor.publish
        if publish is not None and publish.schema is not None:
            value = publish.schema.check(value)
        self.results.append(FireResult(fire.id, graph, value))
