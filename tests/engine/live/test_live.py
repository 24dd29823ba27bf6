"""Reactors in this process, in memory: no server, no ledger, no sleep."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import msgspec
import pytest

from pondage import Accumulator, Fire, Graph, OnFailure, Publish, Reactor, Route, SnapshotRef, Source
from pondage.engine.live.door import Ack
from pondage.engine.live.embedded import LiveReactor
from pondage.errors import DefinitionError, NotFound, PondageError
from pondage.kernel.reaction.events import Tick
from tests.patience import PATIENCE_S


@dataclass
class Book:
    bid: float


class Price(msgspec.Struct, frozen=True):
    px: float


def live_test(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    def run() -> None:
        asyncio.run(asyncio.wait_for(test(), PATIENCE_S))  # type: ignore[arg-type]

    run.__name__ = test.__name__
    return run


def values(live: LiveReactor) -> list[object]:
    return [result.value for result in live.results]


async def fires(live: LiveReactor, number: int) -> dict[str, object]:
    return await live.until(lambda state: state["ok"] + state["bad"] >= number)  # type: ignore[operator]


@live_test
async def test_an_inline_graph_answers_each_push() -> None:
    quote = Reactor("quote", sources=[Accumulator("book", Book), Accumulator("prices", Price)])

    @quote.graph(inline=True)
    def total(book: Book | None, prices: Price | None, fire: Fire) -> tuple[float, int]:
        return (book.bid if book else 0) + (prices.px if prices else 0), fire.id

    async with quote.run() as live:
        assert await live.push("book", {"bid": 1.5}) == Ack(accepted=True, seq=1)
        assert await live.push("prices", Price(2.0)) == Ack(accepted=True, seq=1)
        live.offer("book", Book(10.0))
        await live.idle()
        assert values(live) == [(1.5, 1), (3.5, 2), (12.0, 3)]
        assert live.state()["state"] == "Live"
    assert live.state()["state"] == "Stopped"
    assert (await live.push("book", Book(1.0))).error == "stopped"


@live_test
async def test_a_value_of_another_type_is_refused_with_its_path() -> None:
    quote = Reactor("quote", sources=[Accumulator("book", Book)])

    async with quote.run() as live:
        refused = await live.push("book", {"bid": "high"})
        assert (refused.accepted, refused.error, refused.path) == (False, "invalid", "$.bid")
        with pytest.raises(NotFound, match="no source bok"):
            await live.push("bok", Book(1.0))


@dataclass
class Item:
    id: int
    name: str = ""
    weight: float = 0.0


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"id": 10**30}, "$.id"),
        ({"id": -(2**63) - 1}, "$.id"),
        (Item(1, name="half a pair \ud800"), "$.name"),
        (Item(1, weight=float("nan")), "$.weight"),
        (Item(1, weight=float("-inf")), "$.weight"),
    ],
)
def test_a_value_that_cannot_be_kept_is_refused_with_its_path_and_stops_nobody(value: object, path: str) -> None:
    @live_test
    async def test() -> None:
        items = Accumulator("items", Item)
        hooked = Accumulator("hooked", Item)

        @hooked.process
        def made(raw: object) -> object:
            return value if raw == "bad" else Item(7)

        quote = Reactor("quote", sources=[items, hooked])

        @quote.graph(inline=True)
        def note(items: Item | None, hooked: Item | None) -> object:
            return items

        async with quote.run() as live:
            for source, given in (("items", value), ("hooked", "bad")):
                refused = await live.push(source, given)
                assert (refused.accepted, refused.error, refused.path) == (False, "invalid", path)
            assert (await live.push("hooked", "good")).accepted
            assert (await live.push("items", Item(2**63 - 1, name="null 1234567890123456789"))).accepted
            await live.idle()
            assert live.state()["state"] == "Live"
            assert len(values(live)) == 2

    test()


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (9_223_372_036_854_775_807, "not between 1970 and now plus an hour"),
        (-1, "not between 1970"),
        (1_767_225_600, "looks like seconds"),
        (1_767_225_600_000, "looks like milliseconds"),
        (1_767_225_600_000_000_000, "looks like nanoseconds"),
    ],
)
def test_a_freshness_out_of_reason_is_refused_with_words(f: int, said: str) -> None:
    @live_test
    async def test() -> None:
        quote = Reactor("quote", sources=[Accumulator("items", Item)])

        @quote.graph(inline=True)
        def note(items: Item | None) -> None:
            pass

        async with quote.run() as live:
            with pytest.raises(PondageError, match=said) as refused:
                await live.push("items", Item(1), f=f)
            assert refused.value.code == "BAD_FRESHNESS"
            assert (await live.push("items", Item(1), f=1_767_225_600_000_000)).accepted
            assert live.state()["sources"]["items"]["seen"] == 1  # type: ignore[index]

    test()


@live_test
async def test_a_push_that_the_hook_raises_on_is_refused_with_what_it_raised_and_crashes_nothing() -> None:
    prices = Accumulator("prices", Price)

    @prices.process
    async def parse(raw: dict[str, float]) -> Price | None:
        if raw["px"] < 0:
            raise ValueError("below zero")
        return None if raw["px"] == 0 else Price(raw["px"])

    quote = Reactor("quote", sources=[prices])

    @quote.graph(inline=True)
    def price(prices: Price) -> float:
        return prices.px

    async with quote.run() as live:
        for value, said in (({"py": 1}, "KeyError: 'px'"), ({"px": -1}, "ValueError: below zero")):
            refused = await live.push("prices", value)
            assert (refused.accepted, refused.error, refused.path) == (False, "invalid", said)
        assert await live.push("prices", {"px": 0}) == Ack(accepted=True)
        assert await live.push("prices", {"px": 2.5}) == Ack(accepted=True, seq=1)
        state = live.state()
        assert (state["state"], state["sources"]["prices"]["rejected"]) == ("Live", 2)  # type: ignore[index]
    assert values(live) == [2.5]


@live_test
async def test_async_and_threaded_graphs_run_for_the_same_fire() -> None:
    quote = Reactor("quote", sources=[Accumulator("book", Book)], strategy="sequential")
    seen: list[str] = []

    @quote.graph
    async def waits(book: Book) -> str:
        await asyncio.sleep(0)
        return f"async {book.bid}"

    @quote.graph
    def blocks(book: Book) -> str:
        seen.append(threading.current_thread().name)
        return f"thread {book.bid}"

    async with quote.run() as live:
        await live.push("book", Book(1.0))
        await live.push("book", Book(2.0))
        await fires(live, 2)
        by_fire = {(result.fire, result.graph): result.value for result in live.results}
    assert by_fire == {
        (1, "waits"): "async 1.0",
        (1, "blocks"): "thread 1.0",
        (2, "waits"): "async 2.0",
        (2, "blocks"): "thread 2.0",
    }
    assert all(name.startswith("graph") for name in seen)


@live_test
async def test_a_graph_that_raises_is_a_failed_fire_and_can_be_driven_again() -> None:
    quote = Reactor("quote", sources=[Accumulator("book", Book)], on_failure=OnFailure.dead_letter())
    broken = [True]

    @quote.graph(inline=True)
    def price(book: Book) -> float:
        if broken[0]:
            raise ValueError("no market")
        return book.bid

    async with quote.run() as live:
        await live.push("book", Book(1.0))
        assert live.state()["dead"] == [1]
        assert await live.command("redrive", 1) == {"fire": 2, "outcome": "failed", "error": "ValueError: no market"}
        broken[0] = False
        assert await live.command("redrive", 1) == {"fire": 2, "outcome": "ok"}
        assert live.state()["dead"] == []


@live_test
async def test_a_retry_waits_and_keeps_the_fire_id() -> None:
    quote = Reactor("quote", sources=[Accumulator("book", Book)], on_failure=OnFailure.retry(3, base="1ms"))
    attempts: list[tuple[int, int, str]] = []

    @quote.graph(inline=True)
    def price(book: Book, fire: Fire) -> float:
        attempts.append((fire.id, fire.attempt, fire.reason))
        if fire.attempt < 3:
            raise ValueError("not yet")
        return book.bid

    async with quote.run() as live:
        await live.push("book", Book(1.0))
        await live.until(lambda state: state["ok"] == 1)
    assert attempts == [(1, 1, "when_any"), (1, 2, "retry"), (1, 3, "retry")]


@live_test
async def test_commands_pause_resume_and_fire_with() -> None:
    quote = Reactor("quote", sources=[Accumulator("book", Book), Accumulator("prices", Price)], criteria="all")

    @quote.graph(inline=True)
    def price(book: Book | None, prices: Price | None) -> tuple[Book | None, Price | None]:
        return book, prices

    async with quote.run() as live:
        assert await live.command("pause") == {"hold": "paused", "running": None}
        await live.push("book", Book(1.0))
        await live.push("prices", Price(1.0))
        assert values(live) == []
        assert await live.command("resume") == {"hold": None, "fire": 1}
        assert await live.fire_with(book={"bid": 9.0}) == {"fire": 2, "outcome": "ok"}
        assert await live.fire() == {"fire": 3, "outcome": "ok"}
        assert values(live) == [(Book(1.0), Price(1.0)), (Book(9.0), None), (Book(9.0), None)]
        assert await live.command("explode") == {"error": "unknown_command"}


class Log:
    """A replayable source that breaks once."""

    def __init__(self, *events: object) -> None:
        self.events = events
        self.reads: list[int | None] = []

    async def read(self, after: int | None) -> AsyncIterator[tuple[int, object]]:
        self.reads.append(after)
        for offset, raw in enumerate(self.events, start=1):
            if after is None or offset > after:
                if raw == "break" and len(self.reads) == 1:
                    raise RuntimeError("the reader broke")
                yield offset, raw


@live_test
async def test_a_stream_moves_its_offset_skips_and_keeps_what_cannot_be_decoded() -> None:
    log = Log(b'{"px": 1}', b"skip", b'{"px": "x"}', b'{"px": 4}')
    prices = Accumulator.stream("prices", Price, source=log)
    starts: list[int | None] = []

    @prices.init
    async def started(checkpoint: int | None) -> None:
        starts.append(checkpoint)

    @prices.process
    def parse(raw: bytes) -> object | None:
        return None if raw == b"skip" else msgspec.json.decode(raw)

    quote = Reactor("quote", sources=[prices], strategy="sequential")

    @quote.graph(inline=True)
    def price(prices: Price) -> float:
        return prices.px

    async with quote.run() as live:
        state = await live.until(lambda state: state["ok"] == 2)
        assert values(live) == [1.0, 4.0]
        assert state["dead"] == ["prices@3"]
        assert (await live.command("redrive", "prices@3"))["error"] == "undecodable"
        assert live.state()["sources"]["prices"]["offset"] == 4  # type: ignore[index]
    assert (starts, log.reads) == ([None], [None])


class Silent:
    """A source whose first connection never answers."""

    says_connected = True

    def __init__(self) -> None:
        self.reads: list[int | None] = []
        self.given_back = 0

    async def read(self, after: int | None) -> AsyncIterator[tuple[int, object]]:
        self.reads.append(after)
        try:
            if len(self.reads) == 1:
                await asyncio.Event().wait()
            yield 1, b'{"px": 1}'
            await asyncio.Event().wait()
        finally:
            self.given_back += 1


@live_test
async def test_a_connection_that_does_not_answer_is_given_up_and_tried_again() -> None:
    silent = Silent()
    healths: list[str] = []
    quote = Reactor("quote", sources=[Accumulator.stream("prices", Price, source=silent)], strategy="sequential")

    @quote.graph(inline=True)
    def price(prices: Price) -> float:
        return prices.px

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("pondage.engine.live.sources.FIRST_ANSWER_S", 0.05)
        async with quote.run() as live:
            live.host.watchers.append(lambda effect: healths.append(str(getattr(effect, "health", ""))))
            await fires(live, 1)
            assert silent.given_back == len(silent.reads) - 1, "what was given up holds no connection"
    assert values(live) == [1.0]
    assert len(silent.reads) >= 2
    assert [health for health in healths if health][:2] == ["Disconnected", "Live"]


class Held:
    """A stream that has something to give back at its end, which takes a while."""

    def __init__(self) -> None:
        self.is_given_back = False

    async def read(self, after: int | None) -> AsyncIterator[tuple[int, object]]:
        try:
            yield 1, b'{"px": 1}'
            await asyncio.Event().wait()
        finally:
            for _ in range(100):
                await asyncio.sleep(0)
            self.is_given_back = True


@live_test
async def test_a_reactor_that_has_stopped_has_given_back_what_its_sources_held() -> None:
    held = Held()
    quote = Reactor("quote", sources=[Accumulator.stream("prices", Price, source=held)], strategy="sequential")

    @quote.graph(inline=True)
    def price(prices: Price) -> float:
        return prices.px

    async with quote.run() as live:
        await fires(live, 1)
    assert held.is_given_back


@live_test
async def test_an_accumulator_that_breaks_is_restarted_alone_and_reads_on() -> None:
    log = Log(b'{"px": 1}', "break", b'{"px": 3}')
    prices = Accumulator.stream("prices", Price, source=log)
    starts: list[int | None] = []

    @prices.init
    def started(checkpoint: int | None) -> None:
        starts.append(checkpoint)

    @prices.process
    def parse(raw: object) -> object | None:
        return None if raw == "break" else msgspec.json.decode(raw)  # type: ignore[arg-type]

    quote = Reactor("quote", sources=[prices], strategy="sequential")

    @quote.graph(inline=True)
    def price(prices: Price) -> float:
        return prices.px

    now = [0]
    async with LiveReactor(quote, clock=lambda: now[0]) as live:
        broken = await live.until(lambda state: state["state"] == "Degraded")
        assert broken["sources"]["prices"]["health"] == "Crashed"  # type: ignore[index]
        now[0] = 1_000_000
        live.host.feed(Tick())
        await live.until(lambda state: state["ok"] == 2)
        assert live.state()["sources"]["prices"]["attempts"] == 1  # type: ignore[index]
    assert (starts, log.reads) == ([None, 1], [None, 1])


@live_test
async def test_polls_bring_boundaries_and_a_poll_that_raises_disconnects() -> None:
    config = Accumulator.polling("config", Price, every="1ms")
    answers: list[object] = [{"px": 1.0}, None, OSError("down"), Price(2.0)]
    healths: list[str] = []

    @config.poll
    async def read() -> object | None:
        answer = answers.pop(0) if answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer

    quote = Reactor("quote", sources=[config])

    @quote.graph(inline=True)
    def price(config: Price) -> float:
        return config.px

    async with quote.run() as live:
        live.host.watchers.append(lambda effect: healths.append(str(getattr(effect, "health", ""))))
        await live.until(lambda state: state["ok"] == 2)
    assert values(live) == [1.0, 2.0]
    assert [health for health in healths if health] == ["Disconnected", "Live"]


@live_test
async def test_a_poll_that_hangs_is_not_asked_again_degrades_and_holds_nobody_up() -> None:
    config = Accumulator.polling("config", Price, every="1ms", stale_after="20ms")
    polls: list[int] = []

    @config.poll
    async def read() -> Price | None:
        polls.append(1)
        await asyncio.Event().wait()
        return None

    quote = Reactor("quote", sources=[config, Accumulator("book", Book)])

    @quote.graph(inline=True)
    def bid(book: Book | None) -> float | None:
        return None if book is None else book.bid

    async with quote.run() as live:
        await live.until(lambda state: state["state"] == "Degraded")
        await live.push("book", Book(2.0))
        assert values(live) == [2.0]
        assert polls == [1]


@live_test
async def test_a_poll_that_brings_rubbish_disconnects_until_a_good_one() -> None:
    config = Accumulator.polling("config", Price, every="1ms")
    answers: list[object] = [{"px": "dear"}, {"px": 3.0}]
    healths: list[str] = []

    @config.poll
    def read() -> object | None:
        return answers.pop(0) if answers else None

    quote = Reactor("quote", sources=[config])

    @quote.graph(inline=True)
    def price(config: Price) -> float:
        return config.px

    async with quote.run() as live:
        live.host.watchers.append(lambda effect: healths.append(str(getattr(effect, "health", ""))))
        await live.until(lambda state: state["ok"] == 1)
    assert values(live) == [3.0]
    assert [health for health in healths if health] == ["Disconnected", "Live"]


@live_test
async def test_batches_states_and_ponds() -> None:
    trades = Accumulator.batch("trades", int, size=3, reduce=sum)
    recent = Accumulator.state("recent", int, window=2)
    orders = Accumulator.pond("orders", Source("orders"))
    quote = Reactor("quote", sources=[trades, recent, orders])

    @quote.graph(inline=True)
    def seen(trades: int | None, recent: list[int] | None, orders: SnapshotRef | None) -> object:
        return trades, recent, None if orders is None else orders.id

    async with quote.run() as live:
        for number in (1, 2, 3, 4):
            await live.push("trades", number)
        live.flush("trades")
        await live.push("recent", 7)
        await live.push("recent", 8)
        await live.push("recent", 9)
        live.complete("orders", SnapshotRef(100, 0, "run-1"))
        assert (await live.push("orders", SnapshotRef(101, 0, "x"))).error == "pond_source"
    assert values(live) == [
        (6, None, None),
        (4, None, None),
        (4, [7], None),
        (4, [7, 8], None),
        (4, [8, 9], None),
        (4, [8, 9], "run-1"),
    ]


@live_test
async def test_a_full_queue_holds_its_producer_until_there_is_room() -> None:
    quote = Reactor("quote", sources=[Accumulator("book", Book, capacity=1)], strategy="sequential")
    go = asyncio.Event()

    @quote.graph
    async def price(book: Book) -> float:
        await go.wait()
        return book.bid

    async with quote.run() as live:
        pushes = [asyncio.create_task(live.push("book", Book(float(number)))) for number in range(4)]
        await live.until(lambda state: state["sources"]["book"]["parked"] == 2)  # type: ignore[index]
        assert [push.done() for push in pushes[2:]] == [False, False]
        go.set()
        await asyncio.gather(*pushes)
        await fires(live, 4)
    assert values(live) == [0.0, 1.0, 2.0, 3.0]


@live_test
async def test_a_graph_with_routes_and_async_nodes_runs_live() -> None:
    quote = Reactor("quote", sources=[Accumulator("book", Book)], strategy="sequential")

    def split(book: Book, fire: Fire) -> Route:
        return Route("hi" if book.bid > 5 else "lo" if book.bid > 0 else "nowhere", book.bid)

    async def high(x: float) -> float:
        return x * 10

    def low(x: float) -> float:
        return x

    def join(hi: float | None, lo: float | None) -> float | None:
        return hi if hi is not None else lo

    Graph(
        "risk",
        on=quote,
        topology={
            "split": {"inputs": ["book"], "routes": {"hi": "high", "lo": "low"}},
            "high": {"next": "join"},
            "low": {"next": "join"},
            "join": {},
        },
        functions=[split, high, low, join],
    )
    async with quote.run() as live:
        for bid in (9.0, 2.0, -1.0):
            await live.push("book", Book(bid))
        state = await fires(live, 3)
    assert values(live) == [{"join": 90.0}, {"join": 2.0}]
    assert state["dead"] == [3]


def test_a_wrong_drain_is_refused_with_the_line_of_the_caller() -> None:
    quote = Reactor("quote", sources=[Accumulator("book", Book)])
    with pytest.raises(DefinitionError) as caught:
        quote.run(drain="soon")
    assert (caught.value.place or "").startswith(f"{__file__}:")


@live_test
async def test_a_timeout_cancels_and_shutdown_drains() -> None:
    quote = Reactor("quote", sources=[Accumulator("book", Book)], timeout="5ms", strategy="sequential")
    cancelled: list[float] = []

    @quote.graph
    async def price(book: Book) -> float:
        if book.bid < 0:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(book.bid)
                raise
        return book.bid

    async with quote.run() as live:
        await live.push("book", Book(-1.0))
        await live.push("book", Book(2.0))
    assert live.state()["dead"] == [1]
    assert (values(live), cancelled) == ([2.0], [-1.0])


@live_test
async def test_a_result_that_is_not_of_the_published_schema_fails_the_fire() -> None:
    quote = Reactor("quote", sources=[Accumulator("book", Book)], publish=Publish("quotes", schema=Price))

    @quote.graph(inline=True)
    def price(book: Book) -> object:
        return {"px": book.bid} if book.bid > 0 else {"px": "none"}

    async with quote.run() as live:
        await live.push("book", Book(1.0))
        await live.push("book", Book(-1.0))
        assert values(live) == [Price(1.0)]
        assert live.state()["last_fire"][2] == "dropped"  # type: ignore[index]


@live_test
async def test_what_needs_a_ledger_is_refused_without_one() -> None:
    quote = Reactor("quote", sources=[Accumulator("book", Book)])
    quote.job("jobs/rebuild.yaml")
    with pytest.raises(PondageError, match="without a ledger") as failure:
        async with quote.run():
            pass
    assert failure.value.code == "NO_LEDGER"


@live_test
async def test_a_block_that_raises_ends_the_reactor_without_waiting() -> None:
    quote = Reactor("quote", sources=[Accumulator("book", Book)])

    @quote.graph
    async def price(book: Book) -> None:
        await asyncio.Event().wait()

    async def fail() -> None:
        async with quote.run() as live:
            await live.push("book", Book(1.0))
            raise KeyError("stop")

    with pytest.raises(KeyError):
        await fail()


@live_test
async def test_what_is_offered_together_is_evaluated_together_and_the_first_at_once() -> None:
    numbers = Accumulator("numbers", int)
    last = Reactor("last", sources=[numbers], durable=False)
    each = Reactor("each", sources=[Accumulator("numbers", int)], strategy="sequential", durable=False)
    for reactor in (last, each):
        reactor.graph(name="note", inline=True)(lambda numbers: numbers)
    for reactor, is_skipping in ((last, True), (each, False)):
        async with reactor.run() as live:
            for number in range(1000):
                live.offer("numbers", number)
            assert values(live)[0] == 0
            await live.idle()
            seen = values(live)
            assert (seen[0], seen[-1], len(seen) < 100) == (0, 999, is_skipping)
            assert is_skipping or seen == list(range(1000))
