"""Arrow Flight SQL: questions, prepared statements and the catalogue, over the embedded engine."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.flight as flight

from pondage.embedded.fence import SCHEMA
from pondage.embedded.question import Parameter
from pondage.errors import PondageError
from pondage.operations import reading
from pondage.operations.operation import Context
from pondage.operations.reading import Answering
from pondage.server.call import Service
from pondage.server.sql import metadata, wire
from pondage.server.sql.callers import KEY, CallerOf, Callers, NoHandshake
from pondage.server.sql.metadata import Room
from pondage.server.sql.prepared import Prepared, Statements
from pondage.server.sql.wire import Fields, NotUnderstood

_CATALOGS = re.compile(rf'(?:"([a-z][a-z0-9_]*)"|\b([a-z][a-z0-9_]*))\s*\.\s*"?{SCHEMA}"?\s*\.', re.IGNORECASE)
_FIXED = {
    "CommandGetCatalogs": metadata.CATALOGS, "CommandGetDbSchemas": metadata.SCHEMAS,
    "CommandGetTableTypes": metadata.KINDS, "CommandGetPrimaryKeys": metadata.PRIMARY_KEYS,
    "CommandGetExportedKeys": metadata.FOREIGN_KEYS, "CommandGetImportedKeys": metadata.FOREIGN_KEYS,
    "CommandGetCrossReference": metadata.FOREIGN_KEYS, "CommandGetXdbcTypeInfo": metadata.TYPES,
    "CommandGetSqlInfo": metadata.INFO,
}  # fmt: skip
_ACTIONS = {
    "CreatePreparedStatement": "Prepare a question.",
    "ClosePreparedStatement": "Forget a prepared question.",
    "CancelFlightInfo": "End a question.",
    "CloseSession": "Say good-bye.",
}
_CANCELLED, _CLOSED = 1, 1


class Asked(msgspec.Struct, frozen=True):
    """What a ticket stands for. Whoever brings it asks it himself: it gives no right."""

    sql: str
    environment: str
    key: str


class Door(flight.FlightServerBase):  # type: ignore[misc]
    """Serves the Ponds of a ledger to clients of Flight SQL. Every call is looked at by its token (level `read`)."""

    def __init__(self, service: Service, location: str, *, certificate: tuple[bytes, bytes] | None = None) -> None:
        assert service.engine is not None, "questions of strangers are answered in processes apart"
        self._service = service
        self._statements = Statements()
        self._cancelled: set[str] = set()
        super().__init__(
            location,
            auth_handler=NoHandshake(),
            middleware={KEY: Callers(service)},
            tls_certificates=None if certificate is None else [certificate],
        )

    # What a client wants is told by a descriptor; the answer says where to fetch it, and with which ticket.

    def get_flight_info(
        self, context: flight.ServerCallContext, descriptor: flight.FlightDescriptor
    ) -> flight.FlightInfo:
        """Say which columns an answer has, and with what ticket its rows are fetched."""
        with _said():
            name, fields = wire.unpacked(descriptor.command)
            ticket = descriptor.command
            if name == "CommandStatementQuery":
                asked = self._asked(context, wire.text(fields, 1) or "")
                ticket = wire.packed("TicketStatementQuery", {1: msgspec.json.encode(asked)})
                schema, _ = self._described(context, asked.sql, asked.environment)
            else:
                schema = self._schema(context, name, fields)
            endpoint = flight.FlightEndpoint(flight.Ticket(ticket), [])
            return flight.FlightInfo(schema, descriptor, [endpoint], -1, -1)

    def get_schema(self, context: flight.ServerCallContext, descriptor: flight.FlightDescriptor) -> flight.SchemaResult:
        """Say which columns an answer has."""
        with _said():
            name, fields = wire.unpacked(descriptor.command)
            if name == "CommandStatementQuery":
                asked = self._asked(context, wire.text(fields, 1) or "")
                schema, _ = self._described(context, asked.sql, asked.environment)
                return flight.SchemaResult(schema)
            return flight.SchemaResult(self._schema(context, name, fields))

    def _schema(self, context: flight.ServerCallContext, name: str, fields: Fields) -> pa.Schema:
        if name in _FIXED:
            return _FIXED[name]
        if name == "CommandGetTables":
            return metadata.WITH_COLUMNS if wire.flag(fields, 5) else metadata.TABLES
        if name == "CommandPreparedStatementQuery":
            return self._prepared(context, fields).schema
        raise _refused(name)

    def do_get(self, context: flight.ServerCallContext, ticket: flight.Ticket) -> flight.FlightDataStream:
        """Give the rows of an answer, as they come. Whoever goes ends the question."""
        with _said():
            name, fields = wire.unpacked(ticket.ticket)
            if name == "TicketStatementQuery":
                asked = msgspec.json.decode(wire.octets(fields, 1), type=Asked)
                # A ticket is a question like any other: the environment is looked at again.
                if asked.environment not in _caller(context).environments():
                    raise _no_environment(asked.environment)
                return self._rows(context, asked.sql, asked.environment, (), key=asked.key)
            if name == "CommandPreparedStatementQuery":
                found = self._prepared(context, fields)
                return self._rows(context, found.sql, found.environment, found.bound, key="")
            return flight.RecordBatchStream(self._about(context, name, fields))

    def _about(self, context: flight.ServerCallContext, name: str, fields: Fields) -> pa.Table:
        caller = _caller(context)
        rooms = [Room(name=each, tables=partial(_tables, caller.context(each))) for each in caller.environments()]
        match name:
            case "CommandGetCatalogs":
                return metadata.catalogs(rooms)
            case "CommandGetDbSchemas":
                return metadata.schemas(rooms, fields)
            case "CommandGetTables":
                return metadata.tables(rooms, fields)
            case "CommandGetTableTypes":
                return metadata.kinds()
            case "CommandGetXdbcTypeInfo":
                return metadata.types(fields)
            case "CommandGetSqlInfo":
                return metadata.info(fields)
            case _ if name in _FIXED:
                # Tables have no keys that the engine knows.
                return _FIXED[name].empty_table()
        raise _refused(name)

    # Questions.

    def _asked(self, context: flight.ServerCallContext, sql: str) -> Asked:
        return Asked(sql, self._environment(context, sql), secrets.token_hex(8))

    def _environment(self, context: flight.ServerCallContext, sql: str) -> str:
        """Answer the environment that a text names, or that of the call; raises when it names several."""
        caller = _caller(context)
        visible = caller.environments()
        named = {(quoted or plain).lower() for quoted, plain in _CATALOGS.findall(sql)}
        known = sorted(named & set(visible))
        if len(known) > 1:
            raise PondageError(
                f"it names the environments {' and '.join(known)}", hint="ask about one at a time", code="BAD_SQL"
            )
        return known[0] if known else caller.environment

    def _described(self, context: flight.ServerCallContext, sql: str, environment: str) -> tuple[pa.Schema, int]:
        asked = reading.embedded(
            _caller(context).context(environment), sql, door="sql", is_described=True, is_cancelled=context.is_cancelled
        )
        with asked as answer:
            return answer.schema, answer.parameters

    def _rows(
        self, context: flight.ServerCallContext, sql: str, environment: str, bound: tuple[Parameter, ...], *, key: str
    ) -> flight.GeneratorStream:
        given = _caller(context).context(environment)
        limits = msgspec.structs.replace(reading.limits_of(given), when_full="refuse")
        stack = ExitStack()
        answer = stack.enter_context(
            reading.embedded(
                given,
                sql,
                door="sql",
                limits=limits,
                parameters=bound,
                is_cancelled=lambda: context.is_cancelled() or key in self._cancelled,
            )
        )
        return flight.GeneratorStream(answer.schema, self._batches(stack, answer, key))

    def _batches(self, stack: ExitStack, answer: Answering, key: str) -> Iterator[pa.RecordBatch]:
        with stack, _said():
            try:
                yield from answer
            finally:
                self._cancelled.discard(key)

    # Prepared statements, and what else is done to a question.

    def list_actions(self, context: flight.ServerCallContext) -> list[flight.ActionType]:  # noqa: ARG002
        """Answer what can be done."""
        return [flight.ActionType(name, what) for name, what in _ACTIONS.items()]

    def do_action(self, context: flight.ServerCallContext, action: flight.Action) -> Iterator[flight.Result]:
        """Prepare, forget or end a question."""
        with _said():
            body = action.body.to_pybytes()
            match action.type:
                case "CreatePreparedStatement":
                    yield flight.Result(self._prepare(context, body))
                case "ClosePreparedStatement":
                    _, fields = wire.unpacked(body)
                    self._statements.close(wire.octets(fields, 1), _caller(context).token.id)
                case "CancelFlightInfo":
                    yield flight.Result(wire.encoded({1: self._cancel(body)}))
                case "CloseSession":
                    yield flight.Result(wire.encoded({1: _CLOSED}))
                case _:
                    raise _refused(action.type)

    def _prepare(self, context: flight.ServerCallContext, body: bytes) -> bytes:
        _, fields = wire.unpacked(body)
        asked = self._asked(context, wire.text(fields, 1) or "")
        schema, count = self._described(context, asked.sql, asked.environment)
        prepared = Prepared(
            sql=asked.sql,
            environment=asked.environment,
            token=_caller(context).token.id,
            schema=schema,
            parameters=count,
        )
        # A value that is bound as a text is taken for what it is compared with.
        values = pa.schema([pa.field(f"${number + 1}", pa.string()) for number in range(count)])
        return wire.packed(
            "ActionCreatePreparedStatementResult",
            {
                1: self._statements.add(prepared),
                2: schema.serialize().to_pybytes(),
                3: values.serialize().to_pybytes(),
            },
        )

    def _cancel(self, body: bytes) -> int:
        info = wire.decoded(wire.octets(wire.decoded(body), 1))
        for endpoint in info.get(3, []):
            assert isinstance(endpoint, bytes)
            ticket = wire.octets(wire.decoded(wire.octets(wire.decoded(endpoint), 1)), 1)
            name, fields = wire.unpacked(ticket)
            if name == "TicketStatementQuery":
                self._cancelled.add(msgspec.json.decode(wire.octets(fields, 1), type=Asked).key)
        return _CANCELLED

    def _prepared(self, context: flight.ServerCallContext, fields: Fields) -> Prepared:
        found = self._statements.find(wire.octets(fields, 1), _caller(context).token.id)
        if found is None:
            raise PondageError("there is no such prepared statement", hint="prepare it again", code="NO_STATEMENT")
        return found

    def do_put(
        self,
        context: flight.ServerCallContext,
        descriptor: flight.FlightDescriptor,
        reader: flight.MetadataRecordBatchReader,
        writer: flight.FlightMetadataWriter,
    ) -> None:
        """Bind the values of a prepared question; nothing else is taken in."""
        with _said():
            name, fields = wire.unpacked(descriptor.command)
            if name != "CommandPreparedStatementQuery":
                raise _refused(name)
            found = self._prepared(context, fields)
            given = reader.read_all()
            if given.num_rows > 1:
                raise PondageError("a question has one set of values", hint="ask once for each", code="BAD_REQUEST")
            rows: list[list[Any]] = [column.to_pylist() for column in given.columns]
            found.bound = tuple(_parameter(column[0]) for column in rows if column)
            writer.write(pa.py_buffer(wire.encoded({1: wire.octets(fields, 1)})))


def _caller(context: flight.ServerCallContext) -> CallerOf:
    caller = context.get_middleware(KEY)
    assert isinstance(caller, CallerOf)
    return caller


def _tables(context: Context) -> list[Any]:
    return list(reading.seen(context, None, None).files)


def _parameter(value: object) -> Parameter:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, date | datetime | time | Decimal):
        return str(value)
    raise PondageError(
        f"a value of type {type(value).__name__} cannot be bound", hint="bind it as text", code="BAD_REQUEST"
    )


def _no_environment(name: str) -> PondageError:
    return PondageError(f"there is no environment {name[:63]!r}", hint="pondage env list", code="NO_ENVIRONMENT")


def _refused(name: str) -> PondageError:
    return PondageError(
        f"{name[:63] or 'that'} is not served: tables are read here, and never changed",
        hint="write one SELECT",
        code="QUERY_REFUSED",
    )


@contextmanager
def _said() -> Iterator[None]:
    """Raise errors as clients of Flight know them, with the code and what to do in the text."""
    kinds: dict[str, Callable[[str], Exception]] = {
        "TIMEOUT": flight.FlightTimedOutError,
        "TOO_MANY_QUESTIONS": flight.FlightUnavailableError,
        "CANCELLED": flight.FlightCancelledError,
    }
    try:
        yield
    except PondageError as error:
        hint = f"; {error.hint}" if error.hint else ""
        raise kinds.get(error.code, flight.FlightServerError)(f"{error.message}{hint} ({error.code})") from None
    except (NotUnderstood, msgspec.MsgspecError, AssertionError) as error:
        raise flight.FlightServerError(f"the request is not understood: {error} (BAD_REQUEST)") from None
