"""The accumulators of a reactor: incarnations, hooks, streams and polls. What an ended one says is dropped (H4)."""

import asyncio
import base64
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from functools import partial

import msgspec

from pondage.define.reactor.accumulator import AnyAccumulator, Arrived, Events, LanedSource
from pondage.define.reactor.boundary import kept_text, require_kept
from pondage.engine.live.calls import Call
from pondage.kernel.reaction.effects import Connect, Poll, StartSource, StopSource, Throttle
from pondage.kernel.reaction.events import Accumulator, Event, Polled, Push, Skip, UndecodableEvent

Feed = Callable[[Event], None]
Answered = Callable[[dict[str, object]], None]
Expect = Callable[[Answered], str]
"""Give a new id under which an answer is expected."""
FIRST_ANSWER_S, LONGEST_ANSWER_S = 5.0, 600.0
"""How long the first attempt to connect may go unanswered, and how long the longest: each time twice as long."""
END_S = 60.0
"""So long a source may take to give back what it holds: longer than any waits for the last answer of its server."""
NOTHING = object()
"""What an event gave when it gave no boundary."""


class Sources:
    """Starts, connects, polls and stops accumulators, each in tasks of its own."""

    def __init__(
        self,
        accumulators: Mapping[str, AnyAccumulator],
        feed: Feed,
        offer: Feed,
        expect: Expect,
        checkpoint: Callable[[str], int | None],
        call: Call,
    ) -> None:
        """`checkpoint` says how far a source was taken in: what its `init` hook is given."""
        self._call = call
        self._accumulators = dict(accumulators)
        self._checkpoint = checkpoint
        self._feed = feed
        self._offer = offer
        self._expect = expect
        self._tasks: dict[str, set[asyncio.Task[None]]] = {name: set() for name in accumulators}
        self._ending: set[asyncio.Task[None]] = set()
        self._going: dict[str, asyncio.Event] = {name: asyncio.Event() for name in accumulators}
        self._unanswered = dict.fromkeys(accumulators, 0)

    def rebind(self, accumulators: Mapping[str, AnyAccumulator]) -> None:
        """Go on with the same sources of another deploy: what reads goes on, what comes is of the new types."""
        self._accumulators = dict(accumulators)

    def start(self, effect: StartSource) -> None:
        """Begin an incarnation. Without an `init` hook it has started at once."""
        name = effect.source
        self._end(name)
        self._going[name].set()
        if self._accumulators[name].hooks.init is None:
            self._feed(Accumulator(name, "started"))
        else:
            self._spawn(name, self._init(name))

    def stop(self, effect: StopSource) -> None:
        """End an incarnation."""
        self._end(effect.source)

    def connect(self, effect: Connect) -> None:
        """Connect: a stream reads on after its offset, a polling source just waits for its grid."""
        name = effect.source
        if self._accumulators[name].declaration.is_spark:
            return  # A worker reads it: the ledger tells when it does.
        if self._accumulators[name].source is None:
            self._feed(Accumulator(name, "connected"))
        else:
            self._spawn(name, self._read(name, effect))

    def poll(self, effect: Poll) -> None:
        """Poll once."""
        self._spawn(effect.source, self._poll(effect.source))

    def throttle(self, effect: Throttle) -> None:
        """Let a stream wait, or go on."""
        going = self._going[effect.source]
        if effect.on:
            going.clear()
        else:
            going.set()

    async def close(self) -> None:
        """End every incarnation and wait for its tasks, also for those that were told to end before."""
        for name in self._accumulators:
            self._end(name)
        if self._ending:
            await asyncio.wait(self._ending, timeout=END_S)

    def _end(self, name: str) -> None:
        # A task of an ended incarnation is cancelled before it can feed anything: nothing of it arrives late.
        tasks, self._tasks[name] = self._tasks[name], set()
        for task in tasks:
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
            task.cancel()

    def _spawn(self, name: str, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(self._guarded(name, work))
        self._tasks[name].add(task)
        task.add_done_callback(self._tasks[name].discard)

    async def _guarded(self, name: str, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 - an accumulator that raises has crashed, and is restarted
            self._feed(Accumulator(name, "crashed", kept_text(f"{type(error).__name__}: {error}")))

    async def _init(self, name: str) -> None:
        init = self._accumulators[name].hooks.init
        assert init is not None
        with self._call:
            result = init(self._checkpoint(name))
            if inspect.isawaitable(result):
                await result
        self._feed(Accumulator(name, "started"))

    async def _read(self, name: str, connect: Connect) -> None:
        source = self._accumulators[name].source
        assert source is not None
        try:
            if isinstance(source, LanedSource):
                events = aiter(source.read_lanes(connect.lanes))
            else:
                events = aiter(source.read(connect.offset))
        except OSError as error:
            self._feed(Accumulator(name, "lost", str(error)))
            return
        try:
            await self._take(name, events)
        finally:
            # A reader may hold a connection: it is given back now, not when somebody collects garbage.
            if isinstance(events, AsyncGenerator):
                await events.aclose()

    async def _take(self, name: str, events: Events) -> None:
        is_connected = not getattr(self._accumulators[name].source, "says_connected", False)
        if is_connected:
            self._feed(Accumulator(name, "connected"))
        while True:
            await self._going[name].wait()
            try:
                event = await (anext(events) if is_connected else self._first(name, events))
            except StopAsyncIteration:
                return
            except OSError as error:
                self._feed(Accumulator(name, "lost", str(error)))
                return
            if not is_connected:
                is_connected = True
                self._feed(Accumulator(name, "connected"))
            if event is not None:
                arrived = event if isinstance(event, Arrived) else Arrived(event[1], event[0])
                require_kept([arrived.offset, arrived.lane])
                cid = None if arrived.settle is None else self._expect(partial(_settle, arrived.settle))
                accumulator = self._accumulators[name]
                with self._call:
                    made = await event_of(accumulator, arrived, cid)
                self._offer(made if self._accumulators[name] is accumulator else self._of_now(made))

    async def _first(self, name: str, events: Events) -> tuple[int, object] | Arrived | None:
        """Wait for the first answer of a connection; raises OSError when none comes, so that it is tried again.

        Each attempt may take twice as long as the one before: what only answers slowly is waited for in the end.
        """
        patience_s = min(FIRST_ANSWER_S * 2 ** self._unanswered[name], LONGEST_ANSWER_S)
        limit = asyncio.timeout(patience_s)
        try:
            async with limit:
                first = await anext(events)
        except TimeoutError:
            if not limit.expired():
                raise
            self._unanswered[name] = min(self._unanswered[name] + 1, 32)
            raise OSError(f"no answer within {patience_s:g} s") from None
        self._unanswered[name] = 0
        return first

    async def _poll(self, name: str) -> None:
        accumulator = self._accumulators[name]
        poll = accumulator.hooks.poll
        try:
            with self._call:
                value = None if poll is None else poll()
                if inspect.isawaitable(value):
                    value = await value
            value = None if value is None else accumulator.check(value)
            require_kept(value)
        except Exception as error:  # noqa: BLE001 - a poll that raises disconnects its source until a good one
            self._feed(Polled(name, None, kept_text(f"{type(error).__name__}: {error}")))
            return
        self._feed(Polled(name, value if self._accumulators[name] is accumulator else self._typed(name, value)))

    def _of_now(self, event: Event) -> Event:
        """Give an event whose value was made while other graphs were bound the type that they expect."""
        if not isinstance(event, Push):
            return event
        return msgspec.structs.replace(event, value=self._typed(event.source, event.value))

    def _typed(self, name: str, value: object) -> object:
        return None if value is None else self._accumulators[name].check(msgspec.to_builtins(value))


async def boundary_of(accumulator: AnyAccumulator, raw: object) -> object:
    """Give the checked boundary of a raw event, or NOTHING; raises InvalidBoundary, also for what cannot be kept."""
    process = accumulator.hooks.process
    value = raw if process is None else process(raw)
    if inspect.isawaitable(value):
        value = await value
    if process is not None and value is None:
        return NOTHING
    checked = accumulator.check(value)
    require_kept(checked)
    return checked


async def event_of(accumulator: AnyAccumulator, arrived: Arrived, cid: str | None = None) -> Event:
    """Give the event that a raw event of a stream is: a boundary, an offset that moves, or a dead letter."""
    raw, offset, lane, name = arrived.event, arrived.offset, arrived.lane, accumulator.name
    try:
        if accumulator.hooks.process is None and isinstance(raw, bytes):
            value: object = accumulator.decode(raw)
            require_kept(value)
        else:
            value = await boundary_of(accumulator, raw)
    except (ValueError, RecursionError) as error:  # what a decoder raises, InvalidBoundary too
        return UndecodableEvent(name, offset, kept_text(str(error)), cid, lane, _kept(raw))
    if value is NOTHING:
        return Skip(name, offset, cid, lane)
    return Push(name, value, cid, offset, None, 0, lane)


def _settle(settle: Callable[[str | None], None], payload: dict[str, object]) -> None:
    """Tell a source that an event was taken in, or why not; one that cannot be decoded was: it is a dead letter."""
    is_taken = payload.get("accepted") or payload.get("error") == "invalid"
    settle(None if is_taken else str(payload.get("error")))


def _kept(raw: object) -> str:
    """Give what could not be decoded as a text that a journal keeps."""
    if not isinstance(raw, bytes):
        try:
            return msgspec.json.encode(raw, enc_hook=repr).decode()
        except (ValueError, OverflowError):  # what JSON has no words for is kept as Python says it
            return kept_text(repr(raw))
        except RecursionError:  # Python has none either
            return f"{type(raw).__name__}, nested too deeply"
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return f"base64:{base64.b64encode(raw).decode()}"
