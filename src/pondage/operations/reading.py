"""Reading whole tables without a worker: by questions to the embedded engine, as rows, or as files that are held."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import msgspec

from pondage.define.values.size import mebibytes
from pondage.embedded.question import MEBIBYTE, Limits, Parameter, Question, TableFiles
from pondage.errors import NotFound
from pondage.ledger.act import questions as asking
from pondage.ledger.act import readers, shown_tables
from pondage.ledger.act.as_of import AsOf
from pondage.ledger.act.shown_tables import ShownTable
from pondage.ledger.data import snapshots
from pondage.ledger.tables import read_leases
from pondage.ledger.tables.environments import environment_id
from pondage.ledger.tables.reads import Door
from pondage.operations.operation import Context, Level, Moment, NotedRequest, Request, operation
from pondage.operations.past import as_of
from pondage.project.questions import QuestionsTable
from pondage.work.answers import QueryView
from pondage.work.snapshot import BAD_TABLE

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST_READ_S = 24 * 3_600.0
LONGEST_HOLD_S = 30 * 86_400


class Answering(Protocol):
    """The rows of an answer, as they come."""

    is_cut: bool

    @property
    def schema(self) -> pa.Schema:
        """Answer the columns."""

    @property
    def tables(self) -> frozenset[str]:
        """Answer the names of the tables that the question reads."""

    @property
    def parameters(self) -> int:
        """Answer how many values it wants."""

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...


class Engine(Protocol):
    """Who answers questions: this process, or one apart."""

    def answered(
        self, question: Question, *, is_cancelled: Callable[[], bool] | None = None
    ) -> AbstractContextManager[Answering]:
        """Answer a question while a block runs, or until it `is_cancelled`."""


class _Here:
    """This process answers by itself."""

    def answered(
        self, question: Question, *, is_cancelled: Callable[[], bool] | None = None
    ) -> AbstractContextManager[Answering]:
        """Answer a question while a block runs. Whoever asks his own process ends it by leaving."""
        del is_cancelled
        from pondage.embedded.engine import answered

        return answered(question)


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a question may read: the tables under their names, each with the files of its snapshot."""

    shown: tuple[ShownTable, ...]
    files: tuple[TableFiles, ...]


def seen(context: Context, words: frozenset[str] | None, then: AsOf | None, *, has_bad: bool = False) -> Seen:
    """Answer the tables that these words may mean; None stands for all there are."""
    ledger = context.ledger
    with ledger.reading() as tx:
        identity = environment_id(tx, context.environment)
        shown = shown_tables.shown(tx, ledger, identity, words, then, has_bad=has_bad)
        loaded = snapshots.load(tx, [each.snapshot for each in shown])
    files = []
    for each in shown:
        content = loaded[each.snapshot].content
        content = content.rejected_table if each.is_bad else content
        files.append(TableFiles(name=each.name, schema=content.schema, files=content.paths))
    return Seen(shown=tuple(shown), files=tuple(files))


@contextmanager
def embedded(
    context: Context,
    sql: str,
    *,
    door: Door,
    then: AsOf | None = None,
    limits: Limits | None = None,
    parameters: Sequence[Parameter] = (),
    is_described: bool = False,
    is_cancelled: Callable[[], bool] | None = None,
) -> Iterator[Answering]:
    """Ask the embedded engine while the block runs: what is read is leased, and noted once the question is accepted."""
    found = seen(context, asking.words_of(sql), then, has_bad=BAD_TABLE in sql.lower())
    question = Question(
        sql=sql,
        tables=found.files,
        limits=limits or limits_of(context),
        catalog=context.environment,
        parameters=tuple(parameters),
        is_described=is_described,
    )
    engine: Engine = context.engine or _Here()
    with (
        context.ledger.leases.reading(each.snapshot for each in found.shown),
        engine.answered(question, is_cancelled=is_cancelled) as answer,
    ):
        if not is_described:
            _note(context, [each for each in found.shown if each.name in answer.tables], door, then)
        yield answer


def _note(context: Context, tables: Sequence[ShownTable], door: Door, then: AsOf | None) -> None:
    ledger, runs = context.ledger, {each.pond: each.run for each in tables}
    with ledger.reading() as tx:
        identity = environment_id(tx, context.environment)
        shown_tables.note(tx, ledger, identity, tables, context.reader(door))
        is_asking = then is None and readers.is_asking(tx, ledger, identity, runs)
    if is_asking:
        # What is read now is what is there: the next reader finds what this one asks for.
        with ledger.transaction() as tx:
            readers.ask(tx, ledger, identity, runs)


def limits_of(context: Context, *, rows: int | None = None) -> Limits:
    """Answer what a question of whoever asks may cost: `[questions]` of the project."""
    settings = QuestionsTable() if context.project is None else context.project.questions
    return Limits(
        scratch=str(_scratch(context)),
        seconds=context.question_s,
        memory=mebibytes(settings.memory) * MEBIBYTE,
        spill=2 * mebibytes(settings.memory) * MEBIBYTE,
        threads=settings.cores or 2,
        rows=rows,
        size=mebibytes(settings.answer) * MEBIBYTE,
    )


def _scratch(context: Context) -> Path:
    """Answer where what does not fit into memory goes: below the state of the project."""
    return (context.warehouse if context.project is None else context.project.state) / "questions"


def selected(context: Context, sql: str, *, limit: int, door: Door, then: AsOf | None = None) -> QueryView:
    """Answer the first rows of a question, as a worker's answer has them."""
    from pondage.connect.arrow_rows import plain_rows

    with embedded(context, sql, door=door, then=then, limits=limits_of(context, rows=limit)) as answer:
        rows = [row for batch in answer for row in plain_rows(batch)]
        return QueryView(
            columns=tuple(answer.schema.names),
            types=tuple(str(field.type) for field in answer.schema),
            rows=tuple(rows),
            truncated=answer.is_cut,
        )


class RowsRequest(Request, frozen=True, kw_only=True):
    """A Pond (`sales`, `sales@1`) or a Ripple of it (`sales.clean`); `as_of` reads the past: a moment, or a Run."""

    table: str
    as_of: Moment | str | None = None


class HoldRequest(NotedRequest, frozen=True, kw_only=True):
    """The same, and for how many seconds its files are to stay, whatever happens."""

    table: str
    as_of: Moment | str | None = None
    seconds: Annotated[int, msgspec.Meta(ge=1, le=LONGEST_HOLD_S)] = 3_600


class HeldFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a table, which stay until then, and its schema as Spark's JSON."""

    table: str
    run: str
    schema: str
    files: tuple[str, ...]
    held_until: int


@operation("GET /v1/tables/{table}/rows", Level.READ, RowsRequest)
def table_rows(context: Context, asked: RowsRequest) -> Iterator[bytes]:
    """All rows of a table, as a stream of Arrow."""
    from pondage.embedded.streams import stream_of

    then = None if asked.as_of is None else as_of(context.ledger, context.environment, asked.as_of)
    table = _table(context, asked.table, then)
    quoted = table.name.replace('"', '""')
    limits = msgspec.structs.replace(limits_of(context), seconds=LONGEST_READ_S, size=None)
    sql = f'SELECT * FROM "{quoted}"'  # noqa: S608 - the name is that of a table that was found
    return stream_of(embedded(context, sql, door="read", then=then, limits=limits))


@operation("POST /v1/tables/{table}/files", Level.READ, HoldRequest, kind="ask")
def table_files(context: Context, asked: HoldRequest) -> HeldFiles:
    """The files of a table, which are kept for some time."""
    then = None if asked.as_of is None else as_of(context.ledger, context.environment, asked.as_of)
    table = _table(context, asked.table, then)
    with context.ledger.transaction() as tx:
        content = snapshots.load(tx, [table.snapshot])[table.snapshot].content
        content = content.rejected_table if table.is_bad else content
        read_leases.hold(tx, context.reader("read").name, [table.snapshot], for_us=asked.seconds * 1_000_000)
        run = tx.one("SELECT public_id FROM runs WHERE id = :id", str, id=table.run)
        until = tx.now + asked.seconds * 1_000_000
    _note(context, [table], "read", then)
    return HeldFiles(table=table.name, run=run, schema=content.schema, files=content.paths, held_until=until)


def _table(context: Context, name: str, then: AsOf | None) -> ShownTable:
    """Answer the table of a name; raises `NotFound` with what to type."""
    ledger = context.ledger
    with ledger.reading() as tx:
        identity = environment_id(tx, context.environment)
        words = asking.words_of(name)
        found = shown_tables.shown(tx, ledger, identity, words, then, has_bad=BAD_TABLE in name)
    for each in found:
        if each.name == name.lower():
            return each
    if found:
        names = ", ".join(sorted(each.name for each in found))
        raise NotFound(f"there is no table {name!r}", hint=f"it has {names}", code="NO_SUCH_TABLE")
    raise NotFound(
        f"there is no table {name!r}, or nothing was published yet", hint="pondage status --once", code="NO_SUCH_TABLE"
    )
