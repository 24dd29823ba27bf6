"""The way into a reactor that runs: pushes, commands and its state, checked against what was declared."""

import asyncio
import logging
from collections.abc import Callable, Mapping

import msgspec

from pondage.define.reactor.accumulator import AnyAccumulator
from pondage.define.reactor.boundary import InvalidBoundary, SnapshotRef, kept_text, require_kept
from pondage.engine.live.host import ReactorHost, wall_clock
from pondage.engine.live.sources import NOTHING, boundary_of
from pondage.errors import NotFound, PondageError
from pondage.kernel.reaction.events import Ask, Event, Flush, PondRun, Push, UndecodableEvent
from pondage.kernel.reaction.look import look

_log = logging.getLogger(__name__)


class Ack(msgspec.Struct, frozen=True):
    """The answer to a push: accepted under `seq`, known already (`dup`), or refused with an `error`."""

    accepted: bool
    seq: int | None = None
    dup: bool = False
    error: str | None = None
    path: str | None = None
    retry_after: int | None = None


class BadValue(PondageError):
    """A value that was given is not of its source's type."""

    code = "INVALID_BOUNDARY"


class BadFreshness(PondageError):
    """A push says a freshness that no boundary can have."""

    code = "BAD_FRESHNESS"


AHEAD_US = 3_600_000_000
"""So far may the clock of a sender be ahead."""
_UNITS = (("seconds", 1_000_000, 1), ("milliseconds", 1_000, 1), ("nanoseconds", 1, 1_000))
_2000_US = 946_684_800_000_000


def checked_freshness(f: int | None, now: int) -> None:
    """Raise BadFreshness unless `f`, in microseconds, lies between 1970 and an hour from now, in the unit it should be.

    A freshness of another age would be believed for ever: it never falls.
    """
    if f is None:
        return
    for unit, times, parts in _UNITS:
        if _2000_US <= f * times // parts <= now + AHEAD_US:
            raise BadFreshness(
                f"f = {f} looks like {unit} since 1970", hint="f is microseconds since 1970, in UTC, or left out: now"
            )
    if not 0 <= f <= now + AHEAD_US:
        raise BadFreshness(
            f"f = {f} is not between 1970 and now plus an hour",
            hint="f is microseconds since 1970, in UTC, or left out: now",
        )


class Door:
    """Pushes and commands as methods. An answer comes when what it says is durable."""

    def __init__(self, name: str, accumulators: Mapping[str, AnyAccumulator]) -> None:
        self.name = name
        self._accumulators = dict(accumulators)
        self._changed = asyncio.Event()

    @property
    def host(self) -> ReactorHost:
        """Answer the host behind the door."""
        raise NotImplementedError

    async def push(self, source: str, value: object, *, offset: int | None = None, f: int | None = None) -> Ack:
        """Push a value and wait until it is accepted or refused; a value of another type is refused with its path.

        One that the `process` hook raises on is refused with what it raised: whoever sends it cannot crash the source.
        """
        accumulator = self._accumulator(source)
        checked_freshness(f, wall_clock())
        try:
            with self.host.call:
                checked = await boundary_of(accumulator, value)
        except Exception as error:  # noqa: BLE001 - the author's hook: told to the sender, and to the author's log
            refusal = self._refusal(source, error)
            return await self._acknowledged(lambda cid: UndecodableEvent(source, None, refusal, cid))
        if checked is NOTHING:
            return Ack(accepted=True)
        if self._accumulators[source] is not accumulator:  # other graphs were bound while its hook waited
            checked = self._accumulators[source].check(msgspec.to_builtins(checked))
        return await self._acknowledged(lambda cid: Push(source, checked, cid, offset, f))

    def offer(self, source: str, value: object) -> None:
        """Push a boundary that is of its type already, without waiting for an answer: the shortest way in.

        Those that are offered without giving the loop a chance in between arrive together.
        """
        self.host.offer(Push(source, value))

    def complete(self, source: str, run: SnapshotRef) -> None:
        """Tell a Pond source of a completed Run, as the ledger would."""
        self._accumulator(source)
        self.host.feed(PondRun(source, run.freshness, run, run.delay))

    def flush(self, source: str) -> None:
        """Let a batch emit what it holds."""
        self._accumulator(source)
        self.host.feed(Flush(source))

    async def command(self, name: str, argument: object = None, *, cid: str | None = None) -> dict[str, object]:
        """Give a command (`force_fire`, `pause`, `resume`, `redrive`, ...) and wait for its answer.

        With a `cid` of the caller's own it is done once however often it is given: the answer is the same.
        """
        return await self.host.ask(lambda given: Ask(given, name, argument), cid=cid)

    async def fire(self) -> dict[str, object]:
        """Fire now, whatever the criteria say."""
        return await self.command("force_fire")

    async def fire_with(self, **cache: object) -> dict[str, object]:
        """Fire with exactly these values; they are checked and stay in the cache."""
        return await self.command("fire_with", self.checked(cache))

    def checked(self, cache: Mapping[str, object]) -> dict[str, object]:
        """Give the values of a FireWith their types; a value of another type raises BadValue, with its path."""
        typed: dict[str, object] = {}
        for name, value in cache.items():
            if name not in self._accumulators:
                typed[name] = value  # The machine refuses it by name.
                continue
            try:
                typed[name] = self._accumulators[name].check(value)
                require_kept(typed[name])
            except InvalidBoundary as error:
                raise BadValue(f"{name} of {self.name}: {error}") from error
        return typed

    def state(self) -> dict[str, object]:
        """Answer the reactor's state, as GetState does, and how long its fires took."""
        self.host.flush()
        return {**look(self.host.state), "latency": self.host.latencies.look()}

    def dead(self) -> list[dict[str, object]]:
        """Answer the dead letters, with their inputs."""
        return [
            {
                "id": letter.id,
                "error": letter.error,
                "at": letter.at,
                "raw": letter.raw,
                "inputs": {name: entry.value for name, entry in letter.inputs.items()},
            }
            for letter in self.host.state.facts.dead.values()
        ]

    async def until(self, condition: Callable[[dict[str, object]], bool]) -> dict[str, object]:
        """Wait until the state fulfils a condition, and answer it. Woken by what happens, never by a clock."""
        while not condition(state := self.state()):
            self._changed.clear()
            await self._changed.wait()
        return state

    async def idle(self) -> dict[str, object]:
        """Wait until no fire runs."""
        return await self.until(lambda state: state["running"] is None)

    def _refusal(self, source: str, error: Exception) -> str:
        if isinstance(error, InvalidBoundary):
            return kept_text(str(error.path))
        if not isinstance(error, ValueError):
            _log.warning("the hook of source %s of reactor %s failed on a push", source, self.name, exc_info=error)
        return kept_text(f"{type(error).__name__}: {error}")

    def _accumulator(self, source: str) -> AnyAccumulator:
        found = self._accumulators.get(source)
        if found is None:
            known = ", ".join(self._accumulators)
            raise NotFound(f"reactor {self.name} has no source {source}", hint=f"it has: {known}")
        return found

    async def _acknowledged(self, make_event: Callable[[str], Event]) -> Ack:
        return msgspec.convert(await self.host.ask(make_event), Ack)
