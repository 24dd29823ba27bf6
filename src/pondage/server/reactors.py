"""Routes of reactors: what the ledger knows of them, and what their live hosts answer."""

from __future__ import annotations

import secrets
from typing import Annotated

import msgspec

from pondage.ledger.tables import history
from pondage.server.levels import Level
from pondage.server.problems import Refused
from pondage.server.reading import LimitQuery
from pondage.server.relay import owner
from pondage.server.table import Call, Moment, Route
from pondage.views.reactors.reactors import HistoryLine, ReactorView, reactor_history, reactor_list, reactor_row

COMMANDS = ("force_fire", "fire_with", "pause", "resume", "revive", "redrive")
Note = Annotated[str, msgspec.Meta(max_length=500, pattern=r"^[^\x00-\x1f\x7f]*$")]
ShortId = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class Push(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value for an accumulator; `f` is its freshness when it is not now."""

    value: object
    f: Moment | None = None


class Command(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command; repeated under the same `cid` it is done once and answered again."""

    command: str
    arg: object = None
    cid: ShortId | None = None
    note: Note = ""


def _list(call: Call) -> list[ReactorView]:
    with call.ledger.reading() as tx:
        return reactor_list(tx, call.environment)


def _history(call: Call) -> list[HistoryLine]:
    with call.ledger.reading() as tx:
        row = reactor_row(tx, call.environment, call.path["reactor"])
        return reactor_history(tx, row, limit=call.asked(LimitQuery).limit)


def _state(call: Call) -> object:
    return owner(call, call.path["reactor"])[1].ask(op="state")["state"]


def _dead(call: Call) -> object:
    return owner(call, call.path["reactor"])[1].ask(op="dead")["dead"]


def _push(call: Call) -> dict[str, object]:
    sent = call.sent(Push)
    _, live = owner(call, call.path["reactor"])
    frame: dict[str, object] = {} if sent.f is None else {"f": sent.f}
    return live.ask(op="push", source=call.path["source"], value=sent.value, **frame)


def _command(call: Call) -> object:
    sent = call.sent(Command)
    if sent.command not in COMMANDS:
        raise Refused(400, "NO_COMMAND", f"there is no command {sent.command!r}", hint=f"one of {', '.join(COMMANDS)}")
    row, live = owner(call, call.path["reactor"])
    with call.ledger.transaction() as tx:
        by = call.by(sent.note)
        history.audit(tx, by, environment=row.environment, verb=f"reactor {sent.command}", target=row.name)
    cid = sent.cid or f"api-{secrets.token_hex(8)}"
    answer = live.ask(op="command", command=sent.command, arg=sent.arg, cid=cid)
    return answer.get("reply", answer)


ROUTES = (
    Route(
        method="GET",
        path="/v1/reactors",
        level=Level.READ,
        handler=_list,
        response=list[ReactorView],
        summary="Every deployed reactor, its state, and whether a live host owns it.",
    ),
    Route(
        method="GET",
        path="/v1/reactors/{reactor}/state",
        level=Level.READ,
        handler=_state,
        response=dict[str, object],
        summary="What a reactor knows, as its owner says it.",
        is_relayed=True,
    ),
    Route(
        method="GET",
        path="/v1/reactors/{reactor}/dead",
        level=Level.READ,
        handler=_dead,
        response=list[dict[str, object]],
        summary="Dead letters of a reactor.",
        is_relayed=True,
    ),
    Route(
        method="GET",
        path="/v1/reactors/{reactor}/history",
        level=Level.READ,
        handler=_history,
        response=list[HistoryLine],
        query=LimitQuery,
        summary="What happened to a reactor.",
    ),
    Route(
        method="POST",
        path="/v1/reactors/{reactor}/sources/{source}",
        level=Level.DEMAND,
        handler=_push,
        request=Push,
        response=dict[str, object],
        summary="Push a value to an accumulator; answered when it is durable.",
        limit_bytes=1024 * 1024,
        is_relayed=True,
    ),
    Route(
        method="POST",
        path="/v1/reactors/{reactor}/commands",
        level=Level.OPERATE,
        handler=_command,
        request=Command,
        response=dict[str, object],
        summary="Fire, pause, resume, revive or redrive a reactor.",
        limit_bytes=1024 * 1024,
        is_relayed=True,
    ),
)
