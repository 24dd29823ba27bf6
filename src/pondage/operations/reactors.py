"""Reactors: what the ledger knows of them, and what the live hosts that own them answer."""

from __future__ import annotations

import secrets
from asyncio import StreamReader, StreamWriter
from collections.abc import Iterator
from typing import Annotated

import msgspec

from pondage.engine.live import reach
from pondage.engine.live.client import LiveClient, client_of
from pondage.errors import PondageError
from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables import history, letters
from pondage.ledger.tables.history import Caller
from pondage.ledger.tables.reactors import ReactorRow
from pondage.ledger.upkeep import reactor_repair
from pondage.operations.operation import Context, Level, LimitRequest, Moment, NotedRequest, Request, operation, stream
from pondage.views.reactors import reactors as views
from pondage.views.reactors.reactors import HistoryLine, ReactorView, RepairView, reactor_row, state_of

COMMANDS = ("force_fire", "fire_with", "pause", "resume", "sleep", "kill", "revive", "redrive")
PATIENCE_S = 3.0
"""How long a server looks for the live host of a reactor; whoever is at the ledger may wait longer."""
_SOON = ("unavailable", "not_here", "moved", "stopping", "stopped", "INTERNAL")
REFUSALS = {"full": 429, "failed": 409, **dict.fromkeys(_SOON, 503), "": 422}
"""The status of a push that is refused: it comes too fast, the reactor has failed, try again, or the value is wrong."""
ShortId = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class ReactorRequest(Request, frozen=True, kw_only=True):
    """A reactor, and how long to look for its live host."""

    reactor: str
    patience_s: float = PATIENCE_S


class HistoryRequest(LimitRequest, frozen=True, kw_only=True):
    """A reactor, and how many lines."""

    reactor: str


class PushRequest(ReactorRequest, frozen=True, kw_only=True):
    """A value for an accumulator; `f` is its freshness when it is not now."""

    source: str
    value: object
    f: Moment | None = None


class CommandRequest(NotedRequest, frozen=True, kw_only=True):
    """A command; repeated under the same `cid` it is done once and answered again."""

    reactor: str
    command: str
    arg: object = None
    cid: ShortId | None = None
    patience_s: float = PATIENCE_S


class SkipRequest(NotedRequest, frozen=True, kw_only=True):
    """One item of a reactor's journal (`journal@17`) or one of its publications (`publication@5`)."""

    reactor: str
    item: ShortId


class ResetRequest(NotedRequest, frozen=True, kw_only=True):
    """From what a reactor begins again: `empty`, or as it was after an item of its journal (`journal@17`)."""

    reactor: str
    to: ShortId


@operation("GET /v1/reactors", Level.READ, Request)
def reactor_list(context: Context, _: Request) -> list[ReactorView]:
    """Every deployed reactor, its state, and whether a live host owns it."""
    with context.ledger.reading() as tx:
        return views.reactor_list(tx, context.environment)


@operation("GET /v1/reactors/{reactor}/history", Level.READ, HistoryRequest)
def reactor_history(context: Context, asked: HistoryRequest) -> list[HistoryLine]:
    """What happened to a reactor."""
    with context.ledger.reading() as tx:
        return views.reactor_history(tx, reactor_row(tx, context.environment, asked.reactor), limit=asked.limit)


@operation("GET /v1/reactors/{reactor}/state", Level.READ, ReactorRequest, kept=("patience_s",))
def reactor_state(context: Context, asked: ReactorRequest) -> dict[str, object]:
    """What a reactor knows, as its owner says it."""
    row, owner = _owner(context, asked.reactor, asked.patience_s)
    state = state_of(owner.look("state"))
    if state.get("stuck") is None:
        state["stuck"] = None if row.stuck is None else {**views.stuck_of(row), "since": row.stuck_at}
    return state


@operation("GET /v1/reactors/{reactor}/dead", Level.READ, ReactorRequest, kept=("patience_s",))
def reactor_dead(context: Context, asked: ReactorRequest) -> list[dict[str, object]]:
    """Dead letters of a reactor: those that its owner has, and those that the ledger keeps, also without an owner."""
    row, owner = _owner(context, asked.reactor, asked.patience_s)
    with context.ledger.reading() as tx:
        kept = [
            {"id": each.id, "error": each.error, "at": each.at, "raw": each.body, "inputs": {}}
            for each in letters.every(tx, row.actor)
        ]
    if kept and row.owner is None:
        return kept
    found = owner.look("dead")
    assert isinstance(found, list)
    return [*found, *kept]


@operation(
    "POST /v1/reactors/{reactor}/sources/{source}",
    Level.DEMAND,
    PushRequest,
    kept=("patience_s",),
    refusals=REFUSALS,
    kind="push",
)
def reactor_push(context: Context, asked: PushRequest) -> dict[str, object]:
    """Push a value to an accumulator; answered when it is durable."""
    frame: dict[str, object] = {} if asked.f is None else {"f": asked.f}
    _, owner = _owner(context, asked.reactor, asked.patience_s)
    return owner.ask(op="push", source=asked.source, value=asked.value, **frame)


@operation("POST /v1/reactors/{reactor}/commands", Level.OPERATE, CommandRequest, kept=("patience_s",))
def reactor_command(context: Context, asked: CommandRequest) -> dict[str, object]:
    """Fire, pause, resume, put to sleep, kill, revive or redrive a reactor."""
    if asked.command not in COMMANDS:
        raise PondageError(
            f"there is no command {asked.command!r}", hint=f"one of {', '.join(COMMANDS)}", code="NO_COMMAND"
        )
    row, owner = _owner(context, asked.reactor, asked.patience_s)
    with context.ledger.transaction() as tx:
        told(tx, context.by, row, asked.command)
        if asked.command == "redrive" and isinstance(asked.arg, str):
            letter = letters.find(tx, row.actor, asked.arg)
            if letter is not None:
                is_done = letters.redrive(tx, row.actor, letter)
                return {"outcome": "ok", "letter": letter.id} if is_done else {"error": "undecodable"}
    cid = asked.cid or f"api-{secrets.token_hex(8)}"
    answer = owner.ask(op="command", command=asked.command, arg=asked.arg, cid=cid)
    reply = answer.get("reply", answer)
    assert isinstance(reply, dict)
    return reply


@operation("POST /v1/reactors/{reactor}/skip", Level.OPERATE, SkipRequest)
def reactor_skip(context: Context, asked: SkipRequest) -> RepairView:
    """Put one item of a reactor's journal, or one publication, aside as a dead letter, so that it goes on."""
    row = _audited(context, asked.reactor, "skip", asked.item)
    letter = reactor_repair.skip(context.ledger, row, asked.item)
    return RepairView(reactor=row.name, letters=(letter,))


@operation("POST /v1/reactors/{reactor}/reset", Level.OPERATE, ResetRequest)
def reactor_reset(context: Context, asked: ResetRequest) -> RepairView:
    """Let a reactor begin again: empty, or as it was. What goes is kept as dead letters; offsets and numbers stay."""
    row = _audited(context, asked.reactor, "reset", asked.to)
    return RepairView(reactor=row.name, letters=tuple(reactor_repair.reset(context.ledger, row, asked.to)))


@stream("/v1/ws/reactors/{reactor}", Level.READ, ReactorRequest, kept=("patience_s",))
def reactor_watch(context: Context, asked: ReactorRequest) -> Iterator[dict[str, object]]:
    """Health and fires of a reactor; commands, which need the level operate."""
    yield from _owner(context, asked.reactor, asked.patience_s)[1].watch()


def told(tx: Transaction, by: Caller, row: ReactorRow, command: str, detail: str = "") -> None:
    """Write down that somebody commands a reactor, before its live host hears it: what is heard is done."""
    history.audit(tx, by, environment=row.environment, verb=f"reactor {command}", target=row.name, detail=detail)


async def connected(row: ReactorRow, *, limit: int) -> tuple[StreamReader, StreamWriter]:
    """Connect to the live host that owns a reactor, wherever it is; raises OSError."""
    return await reach.connected(row.address, row.secret, limit=limit)


PONG = reach.PONG
"""What a live host answers to `op = "ping"` while it owns the reactor; otherwise it hangs up."""


def _audited(context: Context, name: str, verb: str, detail: str) -> ReactorRow:
    with context.ledger.transaction() as tx:
        row = reactor_row(tx, context.environment, name)
        told(tx, context.by, row, verb, detail)
    return row


def _owner(context: Context, name: str, patience_s: float) -> tuple[ReactorRow, LiveClient]:
    """Answer a reactor and the way to its owner; raises `NotFound`."""
    with context.ledger.reading() as tx:
        row = reactor_row(tx, context.environment, name)
    return row, client_of(context.ledger, row.environment, name, patience_s=patience_s)
