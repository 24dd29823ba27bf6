"""Backfills as actors: each holds a list of chunks and sends one at a time to its Pond, which says how it ended."""

from __future__ import annotations

import msgspec

from pondage.kernel.demand.effects import Reason
from pondage.kernel.demand.events import Backfill, Withdraw
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.step.actor import ActorKind, Happening, put_event
from pondage.ledger.tables import backfills
from pondage.ledger.tables.actors import ActorRow, SignalRow
from pondage.ledger.tables.backfills import (
    BackfillEvent,
    BackfillRow,
    CancelBackfill,
    ChunkOver,
    PauseBackfill,
    PondDeployed,
    ResumeBackfill,
    decode_event,
)

_DEPLOYING, _DEPLOYED = "deploying", "deployed"
_GIVEN_BACK = {Reason.KILLED.value: "killed", Reason.DEPLOYED.value: _DEPLOYING}
"""Why a Pond gives a chunk back that is to be computed later: when it is deployed, or when somebody says so."""


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """What one advancement of a backfill did, for the audit trail."""

    rounds: tuple[tuple[BackfillEvent, ...], ...]
    touched: tuple[str, ...]
    effects: tuple[Backfill | Withdraw, ...]


class BackfillActor(ActorKind):
    """A backfill. All that it remembers are its rows."""

    name = "backfill"

    def settle(
        self, tx: Transaction, ledger: Ledger, actor: ActorRow, signals: list[SignalRow], event: Happening | None
    ) -> tuple[Settled, list[int]]:
        """Take in how chunks ended and what people want, then send the next chunk if it is time for one."""
        del ledger
        assert event is None, "a backfill is told nothing but by signals"
        events = tuple(decode_event(signal.payload) for signal in signals)
        step = _Step(tx, backfills.of_actor(tx, actor.id))
        for each in events:
            step.take(each)
        step.send_next()
        effects = tuple(step.sent)
        told = [step.row.pond_actor] if effects else []
        return Settled(rounds=(events,), touched=(step.row.public_id,), effects=effects), told


class _Step:
    """One step of one backfill; `row` is how it is by now."""

    def __init__(self, tx: Transaction, row: BackfillRow) -> None:
        self._tx = tx
        self.row = row
        self.sent: list[Backfill | Withdraw] = []

    def take(self, event: BackfillEvent) -> None:
        match event:
            case ChunkOver():
                self._over(event)
            case PauseBackfill() if self.row.state == "running":
                self._become("paused", event.reason)
                self._withdraw(stop=False)
            case ResumeBackfill() if self.row.state == "paused":
                backfills.put_code(self._tx, self.row.id, event.code)
                self.row = msgspec.structs.replace(self.row, code=event.code)
                self._become("running")
            case PondDeployed():
                self._deployed(event)
            case CancelBackfill() if self.row.is_open:
                self._cancel(event.reason)
                self._withdraw(stop=True)
            case _:
                pass

    def send_next(self) -> None:
        """Send a chunk when none is out; the Pond of a backfill that has none left has nothing more to say to it."""
        if self.row.state != "running" or backfills.first_in(self._tx, self.row.id, "sent") is not None:
            return
        if self.row.is_removed:
            self._cancel("removed")
            return
        following = backfills.first_in(self._tx, self.row.id, "waiting")
        if following is None:
            has_failed = backfills.first_in(self._tx, self.row.id, "failed") is not None
            self._become("failed" if has_failed else "completed")
            return
        backfills.put_chunk(self._tx, following.id, was="waiting", state="sent")
        self._send(Backfill(pond=self.row.pond, chunk=str(following.id)))

    def _deployed(self, event: PondDeployed) -> None:
        """Wait when the code is another; Ponds whose code is as it was are deployed with every other one, too."""
        is_waiting = self.row.state == "paused" and self.row.reason == _DEPLOYING
        if event.code == self.row.code:
            if is_waiting:
                self._become("running")
        elif self.row.state == "running" or is_waiting:
            self._become("paused", _DEPLOYED)
            self._withdraw(stop=False)

    def _over(self, event: ChunkOver) -> None:
        chunk = backfills.chunk(self._tx, event.chunk)
        if chunk.state != "sent":
            return
        match event.reason:
            case Reason.COMPLETED.value:
                backfills.put_chunk(self._tx, chunk.id, was="sent", state="completed")
            case Reason.FAILED.value | Reason.RUN.value:
                error = event.error or "there was nothing that could be computed again"
                backfills.put_chunk(self._tx, chunk.id, was="sent", state="failed", error=error)
                if self.row.stops and self.row.state == "running":
                    self._become("paused", "failed")
            case Reason.REMOVED.value:
                backfills.put_chunk(self._tx, chunk.id, was="sent", state="cancelled")
                if self.row.is_open:
                    self._cancel("removed")
            case _:
                is_wanted = self.row.is_open
                backfills.put_chunk(self._tx, chunk.id, was="sent", state="waiting" if is_wanted else "cancelled")
                if self.row.state == "running" and event.reason in _GIVEN_BACK:
                    self._become("paused", _GIVEN_BACK[event.reason])

    def _cancel(self, reason: str) -> None:
        self._become("cancelled", reason)
        backfills.cancel_waiting(self._tx, self.row.id)

    def _withdraw(self, *, stop: bool) -> None:
        """Ask for the chunk that is out: its Pond answers, unless it has already."""
        out = backfills.first_in(self._tx, self.row.id, "sent")
        if out is not None:
            self._send(Withdraw(pond=self.row.pond, chunk=str(out.id), stop=stop))

    def _send(self, event: Backfill | Withdraw) -> None:
        put_event(self._tx, actor=self.row.pond_actor, event=event)
        self.sent.append(event)

    def _become(self, state: backfills.BackfillState, reason: str = "") -> None:
        backfills.put_state(self._tx, self.row.id, state, reason)
        self.row = msgspec.structs.replace(self.row, state=state, reason=reason)
