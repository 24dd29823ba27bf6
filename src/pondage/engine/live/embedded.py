"""`async with reactor.run() as live`: a reactor in this process, in memory, for tests and scripts."""

from collections import deque
from types import TracebackType

import msgspec

from pondage.define.reactor.graph import Fire
from pondage.define.reactor.reactor import Reactor
from pondage.engine.live.door import Door
from pondage.engine.live.host import ReactorHost, wall_clock
from pondage.engine.live.pump import Clock
from pondage.errors import PondageError
from pondage.kernel.reaction.declared import shape_of

RESULTS_KEPT = 1024


class FireResult(msgspec.Struct, frozen=True):
    """What a graph gave in a fire."""

    fire: int
    graph: str
    value: object


class LiveReactor(Door):
    """A reactor that runs. Pushes and commands are methods; `results` holds the last that its graphs gave."""

    def __init__(self, reactor: Reactor, *, drain: int = 10_000_000, clock: Clock = wall_clock) -> None:
        super().__init__(reactor.name, {source.name: source for source in reactor.sources})
        self.reactor = reactor
        self.results: deque[FireResult] = deque(maxlen=RESULTS_KEPT)
        self._drain = drain
        self._clock = clock
        self._host: ReactorHost | None = None

    async def __aenter__(self) -> "LiveReactor":
        declaration = self.reactor.declaration
        needs = ["a Job"] if declaration.jobs else [f"the graph {each} on Spark" for each in declaration.dispatched]
        needs += [f"the stream {each.name} on Spark" for each in declaration.accumulators if each.is_spark]
        if needs:
            raise PondageError(
                f"reactor {declaration.name} has {needs[0]}, and without a ledger there is nobody to run it",
                hint="deploy the reactor, or leave it out here",
                code="NO_LEDGER",
            )
        reduces = {name: each.hooks.flush for name, each in self._accumulators.items() if each.hooks.flush is not None}
        self._host = ReactorHost(
            shape_of(declaration, reduces=reduces, is_durable=False),
            graphs=self.reactor.graphs,
            accumulators=self._accumulators,
            clock=self._clock,
            on_result=self._keep if self.reactor.publish is None else self._keep_checked,
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

    def _keep(self, fire: Fire, graph: str, value: object) -> None:
        self.results.append(FireResult(fire.id, graph, value))

    def _keep_checked(self, fire: Fire, graph: str, value: object) -> None:
        publish = self.reactor.publish
        if publish is not None and publish.schema is not None:
            value = publish.schema.check(value)
        self._keep(fire, graph, value)
