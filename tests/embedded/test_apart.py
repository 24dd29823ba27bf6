"""Processes apart: they answer as this process does, are ended without harm, and a bounded number answers at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pondage.embedded.apart import Apart
from pondage.embedded.question import MEBIBYTE
from pondage.errors import PondageError
from tests.embedded import hostile
from tests.embedded.tables import question, rows_table, written


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("apart")
    written(place / "secret.parquet", "SELECT 'secret' AS word")
    rows_table(place)
    return place


@pytest.fixture(scope="module")
def apart() -> Iterator[Apart]:
    made = Apart(at_once=2, patience_s=0.01)
    yield made
    made.close()


def rows(apart: Apart, root: Path, sql: str, **given: object) -> list[dict[str, object]]:
    with apart.answered(question(root, sql, **given)) as answer:
        return [row for batch in answer for row in batch.to_pylist()]


def is_answered(apart: Apart, root: Path) -> bool:
    return rows(apart, root, "SELECT count(*) AS c, max(name) AS m FROM sales") == [{"c": 10, "m": "row 9"}]


def test_a_process_is_asked_again(apart: Apart, root: Path) -> None:
    pids = set()
    for _ in range(3):
        with apart.answered(question(root, "SELECT n FROM sales")) as answer:
            assert sum(batch.num_rows for batch in answer) == 10
            pids.add(answer._child.pid)
    assert len(pids) == 1


@pytest.mark.parametrize("sql", list(hostile.refused("/x"))[::7])
def test_hostile_questions_are_refused_there_too(apart: Apart, root: Path, sql: str) -> None:
    with pytest.raises(PondageError) as refused:
        rows(apart, root, sql)
    assert refused.value.code in {"QUERY_REFUSED", "BAD_SQL", "NO_SUCH_TABLE"}
    assert is_answered(apart, root)


@pytest.mark.parametrize("sql", hostile.EXHAUSTING[::3])
def test_what_is_endless_is_ended_there_too(apart: Apart, root: Path, sql: str) -> None:
    with pytest.raises(PondageError) as ended:
        rows(apart, root, sql, seconds=0.5, memory=64 * MEBIBYTE)
    assert ended.value.code in {"TIMEOUT", "QUERY_TOO_LARGE", "BAD_VALUE", "BAD_SQL"}
    assert is_answered(apart, root)


def test_a_process_that_dies_takes_only_its_question_along(apart: Apart, root: Path) -> None:
    with apart.answered(question(root, "SELECT * FROM range(100000000)", rows=None)) as answer:
        os.kill(answer._child.pid, signal.SIGKILL)
        with pytest.raises(PondageError) as lost:
            list(answer)
    assert lost.value.code == "QUERY_LOST"
    assert is_answered(apart, root)


def test_whoever_stops_reading_ends_the_question(apart: Apart, root: Path) -> None:
    with apart.answered(question(root, "SELECT * FROM range(10000000000)", rows=None)) as answer:
        next(iter(answer))
        child = answer._child
    assert not child.is_alive
    assert is_answered(apart, root)


def test_no_more_are_answered_than_there_is_room_for(apart: Apart, root: Path) -> None:
    long = question(root, "SELECT * FROM range(10000000000)", rows=None)
    with apart.answered(long), apart.answered(long):
        with pytest.raises(PondageError) as refused:
            rows(apart, root, "SELECT 1")
        assert refused.value.code == "TOO_MANY_QUESTIONS"
    assert is_answered(apart, root)


def test_an_answer_that_was_cut_says_so(apart: Apart, root: Path) -> None:
    with apart.answered(question(root, "SELECT * FROM sales", rows=3)) as answer:
        assert sum(batch.num_rows for batch in answer) == 3
        assert answer.is_cut
    with apart.answered(question(root, "SELECT * FROM sales", rows=None, size=10, when_full="refuse")) as answer:
        with pytest.raises(PondageError) as refused:
            list(answer)
        assert refused.value.code == "ANSWER_TOO_LARGE"


def test_it_has_none_of_the_variables_of_the_server(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PONDAGE_TOKEN", "secret")
    one = Apart(at_once=1)
    try:
        with one.answered(question(root, "SELECT 1")) as answer:
            list(answer)
            found = Path(f"/proc/{answer._child.pid}/environ").read_bytes()
        assert b"secret" not in found
    finally:
        one.close()
