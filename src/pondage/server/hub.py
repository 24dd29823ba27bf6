"""One reader of the ledger for each environment that somebody watches, whoever watches it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import anyio
import anyio.from_thread
import msgspec
from anyio.to_thread import run_sync

from pondage.errors import PondageError
from pondage.ledger.database.driver import Changes as Hint
from pondage.ledger.ledger import Ledger
from pondage.views.installation import feed as views

LOG = logging.getLogger("pondage.server")
AT_MOST_EVERY_S = 0.1
LOOK_EVERY_S = 1.0
BEHIND = 256


class Watcher:
    """One who watches: messages that wait, and whether there were too many of them."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[tuple[int, bytes] | None] = asyncio.Queue(BEHIND)

    def give(self, message: tuple[int, bytes] | None) -> None:
        """Hand a message over; whoever is too far behind is sent away, and comes back by its place."""
        if self.messages.full():
            while not self.messages.empty():
                self.messages.get_nowait()
            message = None
        self.messages.put_nowait(message)


class Feed:
    """Reads what changes in one environment, once for all who watch it, as long as anybody does."""

    def __init__(self, ledger: Ledger, environment: str) -> None:
        self._ledger = ledger
        self._environment = environment
        self._watchers: set[Watcher] = set()
        self._task: asyncio.Task[None] | None = None
        self._watch: Hint | None = None
        self._started = asyncio.Event()

    @property
    def count(self) -> int:
        """Answer how many watch."""
        return len(self._watchers)

    @contextmanager
    def watched(self) -> Iterator[Watcher]:
        """Get every message from now on."""
        watcher = Watcher()
        self._watchers.add(watcher)
        if self._task is None:
            self._started = asyncio.Event()
            self._task = asyncio.create_task(self._run())
        try:
            yield watcher
        finally:
            self._watchers.discard(watcher)
            if not self._watchers and self._task is not None:
                self._task.cancel()
                self._task = None
                if self._watch is not None:
                    self._watch.wake()

    async def ready(self) -> None:
        """Wait until the reader knows its own place: what a watcher reads after that, nobody can miss."""
        await self._started.wait()

    def first(self, after: int | None, *, has_graph: bool = False) -> list[msgspec.Struct]:
        """Answer what a new watcher gets first: a snapshot, with the graph if it wants that, or what it has missed."""
        with self._ledger.reading() as tx:
            if after is not None:
                found = views.changes(tx, self._ledger, self._environment, after=after, seen=views.Seen())
                if found is not None:
                    return [found[0]]
            snapshot = views.snapshot(tx, self._ledger, self._environment, has_graph=has_graph)
        return [snapshot] if after is None else [views.Reset(after=after), snapshot]

    async def _run(self) -> None:
        limiter = anyio.CapacityLimiter(1)
        watch = self._watch = await run_sync(self._ledger.driver.changes)
        seq, seen = -1, views.Seen()
        try:
            while True:
                try:
                    seq, seen = await run_sync(self._look, seq, seen, limiter=limiter)
                    self._started.set()
                except PondageError as error:
                    LOG.warning("the feed of %s cannot look: %s", self._environment, error)
                await asyncio.sleep(AT_MOST_EVERY_S)
                with suppress(PondageError):
                    await run_sync(watch.wait, LOOK_EVERY_S, limiter=limiter)
        except Exception:
            LOG.exception("the feed of %s is broken", self._environment)
            self._task = None
            self._tell(None)
            self._started.set()
        finally:
            with anyio.CancelScope(shield=True):
                await run_sync(watch.close, limiter=limiter)

    def _look(self, seq: int, seen: views.Seen) -> tuple[int, views.Seen]:
        with self._ledger.reading() as tx:
            found = None
            if seq >= 0:
                found = views.changes(tx, self._ledger, self._environment, after=seq, seen=seen)
            if found is None:
                snapshot = views.snapshot(tx, self._ledger, self._environment)
                if seq >= 0:
                    self._tell_soon(snapshot.seq, snapshot)
                return snapshot.seq, views.Seen()
        said, seen = found
        if not said.is_empty:
            self._tell_soon(said.seq, said)
        return said.seq, seen

    def _tell_soon(self, seq: int, message: msgspec.Struct) -> None:
        anyio.from_thread.run_sync(self._tell, (seq, msgspec.json.encode(message)))

    def _tell(self, message: tuple[int, bytes] | None) -> None:
        for watcher in self._watchers:
            watcher.give(message)


class Feeds:
    """The feeds of a server, each made when somebody watches its environment."""

    def __init__(self) -> None:
        self._feeds: dict[str, Feed] = {}

    def of(self, ledger: Ledger, environment: str) -> Feed:
        """Answer the feed of an environment."""
        return self._feeds.setdefault(environment, Feed(ledger, environment))

    @property
    def count(self) -> int:
        """Answer how many watch anything."""
        return sum(feed.count for feed in self._feeds.values())
