"""Statements sent in one go: their values, their errors, and what stays prepared."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg.rows import dict_row

from pondage.ledger.database import wire as wires
from pondage.ledger.database.dialect import translated
from pondage.ledger.database.wire import Wire
from tests.services.postgres import PostgresServer


@pytest.fixture
def wire(postgres: PostgresServer) -> Iterator[Wire]:
    with psycopg.connect(postgres.url, autocommit=True, prepare_threshold=None, row_factory=dict_row) as connection:
        yield Wire(connection)


ADD = translated("SELECT CAST(:a AS bigint) + 1 AS sum")


def test_values_of_every_kind_come_back_as_they_were_given(wire: Wire) -> None:
    asked = translated("SELECT CAST(:i AS bigint) AS i, CAST(:t AS text) AS t, :f AS f, :b AS b, CAST(:n AS text) AS n")
    values = {"i": 2**60, "t": "größer '%s' $1", "f": 0.1, "b": b"\x00\xff", "n": None}
    for _ in range(wires.PREPARE_AT + 2):
        assert wire.ask([(asked, values)])[-1].rows == [values]


def test_a_truth_value_is_the_number_that_sqlite_takes_it_for(wire: Wire) -> None:
    assert [wire.ask([(ADD, {"a": truth})])[-1].rows for truth in (True, False)] == [[{"sum": 2}], [{"sum": 1}]]


def test_the_last_of_several_is_answered(wire: Wire) -> None:
    table = translated("CREATE TEMP TABLE IF NOT EXISTS t (a bigint)"), {}
    insert = translated("INSERT INTO t VALUES (:a), (:a)")
    assert wire.ask([table, (insert, {"a": 1}), (insert, {"a": 2})])[-1].changed == 2
    assert wire.ask([(translated("SELECT a FROM t ORDER BY a"), {})])[-1].rows == [
        {"a": 1},
        {"a": 1},
        {"a": 2},
        {"a": 2},
    ]
    assert wire.ask([(translated("SELECT a FROM t WHERE a = 9"), {})])[-1].rows == []


def test_the_first_error_of_several_is_raised_and_what_was_behind_it_can_be_asked_again(wire: Wire) -> None:
    wrong = translated("SELECT 1 / CAST(:zero AS bigint)"), {"zero": 0}
    for _ in range(wires.PREPARE_AT + 2):
        with pytest.raises(psycopg.errors.DivisionByZero, match="division by zero"):
            wire.ask([(ADD, {"a": 1}), wrong, (ADD, {"a": None})])
    assert wire.ask([(ADD, {"a": 1})])[-1].rows == [{"sum": 2}]
    assert wire.ask([(ADD, {"a": None})])[-1].rows == [{"sum": None}]


def test_no_more_than_a_number_of_statements_stay_prepared(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wires, "MOST_PREPARED", 5)
    for number in range(20):
        asked = translated(f"SELECT {number} AS n"), {}
        for _ in range(wires.PREPARE_AT):
            assert wire.ask([asked])[-1].rows == [{"n": number}]
    counted = translated("SELECT count(*) AS n FROM pg_prepared_statements")
    found = wire.ask([(counted, {})])[-1].rows[0]["n"]
    assert isinstance(found, int)
    assert 0 < found <= 6


def test_a_connection_that_was_cut_says_so(wire: Wire) -> None:
    with pytest.raises(psycopg.OperationalError):
        wire.ask([(translated("SELECT pg_terminate_backend(pg_backend_pid())"), {})])
    with pytest.raises(psycopg.OperationalError):
        wire.ask([(ADD, {"a": 1})])
