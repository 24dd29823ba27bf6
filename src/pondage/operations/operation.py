"""What an operation is: a name, a level, what is asked and what is answered, and the one function that does it.

The command line calls it on the ledger or through a server, and the server mounts it as a route.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Generic, Literal, ParamSpec, TypeVar, cast, get_args, get_type_hints

import msgspec

from pondage.errors import PondageError
from pondage.ledger.act.shown_tables import Reader
from pondage.ledger.database.driver import LedgerUnavailable
from pondage.ledger.tables import actors, history
from pondage.project.questions import QuestionsTable

if TYPE_CHECKING:
    from pondage.ledger.database.driver import Transaction
    from pondage.ledger.ledger import Ledger
    from pondage.ledger.tables.history import Caller
    from pondage.ledger.tables.reads import Door
    from pondage.operations.reading import Engine
    from pondage.project.project import Project

Given = ParamSpec("Given")
Asked = TypeVar("Asked", bound=msgspec.Struct)
Answer = TypeVar("Answer", covariant=True)
Method = Literal["GET", "POST", "DELETE"]
Kind = Literal["look", "ask", "push", "command"]
"""What an operation does: it looks, asks workers something, hands a value over, or changes something."""
Moment = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""Microseconds, or a place in the ledger: as large as a column of it can be."""
Count = Annotated[int, msgspec.Meta(ge=1, le=1000)]
LONGEST = 200
_PLACE = re.compile(r"{(\w+)}")
Note = Annotated[str, msgspec.Meta(max_length=500, pattern=r"^[^\x00-\x1f\x7f]*$")]


class Level(IntEnum):
    """The least that an operation asks of a token, each including those below it. OPEN asks for none."""

    OPEN = 0
    READ = 1
    DEMAND = 2
    OPERATE = 3
    ADMIN = 4

    @classmethod
    def named(cls, name: str) -> Level:
        """Answer the level that a token's row names."""
        return cls[name.upper()]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked: places of the path and the rest, under the names that a caller gives them."""


class NotedRequest(Request, frozen=True, kw_only=True):
    """A request to change something, and why, for the audit."""

    note: Note = ""


class LimitRequest(Request, frozen=True, kw_only=True):
    """How many, the newest."""

    limit: Count = 20


@dataclass(frozen=True, kw_only=True)
class Context:
    """What an operation works with: an opened ledger, what the call is about, and who asks."""

    ledger: Ledger
    environment: str
    warehouse: Path
    by: Caller
    project: Project | None = None
    level: Level = Level.ADMIN
    token: str = ""
    """The name of the token, where one was needed."""
    engine: Engine | None = None
    """Who answers questions without a worker; None: this process."""

    def reader(self, door: Door) -> Reader:
        """Answer who reads, as the read log knows him."""
        return Reader(self.token or self.by.who, door)

    @property
    def question_s(self) -> float:
        """Answer how long a question of whoever asks may run."""
        settings = QuestionsTable() if self.project is None else self.project.questions
        return settings.limit_s(self.level.name.lower())

    def audit(self, tx: Transaction, verb: str, target: str, *, detail: str = "") -> int:
        """Write down who does this, in the transaction that does it; answer the environment, made when it is new."""
        environment = actors.made_environment(tx, self.environment)
        history.audit(tx, self.by, environment=environment, verb=verb, target=target, detail=detail)
        return environment

    @property
    def own_project(self) -> Project:
        """Answer the project of the ledger; raises `PondageError` where there is a ledger without one."""
        if self.project is None:
            raise PondageError("this server serves a ledger without a project", code="NO_PROJECT")
        return self.project


@dataclass(frozen=True, kw_only=True, eq=False)
class Operation(Generic[Given, Answer]):
    """One line of the table. `request` makes what is asked, and its fields are named like the places of the path.

    What is `kept` is the caller's own business: it is not sent, and a server goes by its default.
    """

    name: str
    method: Method
    path: str
    level: Level
    request: Callable[Given, msgspec.Struct]
    act: Callable[[Context, msgspec.Struct], Answer]
    status: int = 200
    kept: tuple[str, ...] = ()
    kind: Kind = "command"
    refusals: Mapping[str, int] = field(default_factory=dict)
    """What an answer may name as its `error`, each with the status that a server gives it; "" stands for any other."""

    def status_of(self, answer: object) -> int:
        """Answer the status of an answer: its own, unless the answer is a refusal."""
        if not self.refusals or not isinstance(answer, dict) or answer.get("error") is None:
            return self.status
        return self.refusals.get(str(answer["error"]), self.refusals[""])

    def do(self, context: Context, asked: msgspec.Struct) -> Answer:
        """Do it. Who asks goes along with the note: what is changed writes both, by `history.audit`, as it changes.

        A command that is refused leaves a row that says so, and raises.
        """
        context = replace(context, by=msgspec.structs.replace(context.by, note=getattr(asked, "note", "")))
        try:
            return self.act(context, asked)
        except PondageError as error:
            if self.kind == "command":
                note_refusal(context, self.verb, self.target_of(msgspec.structs.asdict(asked)), error)
            raise

    @property
    def verb(self) -> str:
        """Answer what the audit calls it when it was refused."""
        return self.name.replace("_", " ")

    def target_of(self, given: Mapping[str, object]) -> str:
        """Answer what it is about: the first place of its path, else what has a name."""
        for name in (*_PLACE.findall(self.path), "project", "name"):
            if given.get(name):
                return str(given[name])[:LONGEST]
        return ""

    @property
    def asked(self) -> type[msgspec.Struct]:
        """Answer the struct of what is asked."""
        assert isinstance(self.request, type)
        return self.request

    @property
    def response(self) -> object:
        """Answer the type of what comes back."""
        return get_type_hints(self.act)["return"]

    @property
    def summary(self) -> str:
        """Answer what it does, in one sentence."""
        return _sentence(self.act)


def note_refusal(context: Context, verb: str, target: str, error: PondageError) -> None:
    """Write down once who was refused what, and why; nothing in an environment that does not exist."""
    if error.is_audited or isinstance(error, LedgerUnavailable):
        return
    error.is_audited = True
    with suppress(LedgerUnavailable), context.ledger.transaction() as tx:
        environment = actors.environment(tx, context.environment)
        if environment is not None:
            history.audit(
                tx, context.by, environment=environment, verb=verb, target=plain(target), detail=plain(error.message),
                refused=error.code,
            )  # fmt: skip


def plain(text: str) -> str:
    """Answer a text of somebody as one line of the audit."""
    return "".join(each if each.isprintable() else " " for each in text[:LONGEST])


def operation(
    route: str,
    level: Level,
    request: Callable[Given, Asked],
    *,
    status: int = 200,
    kept: tuple[str, ...] = (),
    kind: Kind | None = None,
    refusals: Mapping[str, int] | None = None,
) -> Callable[[Callable[[Context, Asked], Answer]], Operation[Given, Answer]]:
    """Declare an operation by its route (`GET /v1/why/{name}`), and its function gives it its name and sentence.

    Whatever is not a GET is a command, unless its `kind` says otherwise.
    """
    method, _, path = route.partition(" ")

    def declared(act: Callable[[Context, Asked], Answer]) -> Operation[Given, Answer]:
        return Operation(
            name=act.__name__,
            method=cast(Method, method),
            path=path,
            level=level,
            request=request,
            act=cast("Callable[[Context, msgspec.Struct], Answer]", act),
            status=status,
            kept=kept,
            kind=kind or ("look" if method == "GET" else "command"),
            refusals=refusals or {},
        )

    return declared


@dataclass(frozen=True, kw_only=True, eq=False)
class Stream(Generic[Given, Answer]):
    """Something to follow: messages from the ledger's machine, or from a WebSocket of a server."""

    path: str
    level: Level
    request: Callable[Given, msgspec.Struct]
    act: Callable[[Context, msgspec.Struct], Iterator[Answer]]
    kept: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """Answer what is said, in one sentence."""
        return _sentence(self.act)

    @property
    def message(self) -> object:
        """Answer the type of each message."""
        return get_args(get_type_hints(self.act)["return"])[0]


def stream(
    path: str, level: Level, request: Callable[Given, Asked], *, kept: tuple[str, ...] = ()
) -> Callable[[Callable[[Context, Asked], Iterator[Answer]]], Stream[Given, Answer]]:
    """Declare what is followed by its WebSocket."""

    def declared(act: Callable[[Context, Asked], Iterator[Answer]]) -> Stream[Given, Answer]:
        follow = cast("Callable[[Context, msgspec.Struct], Iterator[Answer]]", act)
        return Stream(path=path, level=level, request=request, act=follow, kept=kept)

    return declared


def _sentence(act: Callable[..., object]) -> str:
    return (inspect.getdoc(act) or "").partition("\n\n")[0]
