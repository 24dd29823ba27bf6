"""Directories and SQLite tables as sources of reactors, on real files."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import threading
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from pondage.connect.streams import directory, rows
from pondage.errors import DefinitionError
from pondage.streams import ArrivedFile, Directory, Rows
from tests.connect import streaming
from tests.connect.streaming import Feeder
from tests.patience import PATIENCE_S


class Folder:
    """A directory that files are moved into."""

    def __init__(self, folder: Path) -> None:
        self.place, self.aside = folder / "inbox", folder / "aside"
        self.place.mkdir()
        self.aside.mkdir()
        self.source = Directory(self.place, pattern="*.txt", every="10ms", settle="20ms")
        self._numbers = itertools.count()

    def put(self, texts: Iterable[str]) -> None:
        for text in texts:
            name = f"{next(self._numbers):06}.txt"
            (self.aside / name).write_text(text)
            (self.aside / name).rename(self.place / name)

    def text(self, raw: object) -> str:
        assert isinstance(raw, ArrivedFile)
        return Path(raw.path).read_text()

    def die(self) -> None:
        self.place.rename(self.place.with_name("gone"))

    def come_back(self) -> None:
        self.place.with_name("gone").rename(self.place)


class Database:
    """A table of a SQLite file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "data.db"
        self._run("CREATE TABLE items (id INTEGER PRIMARY KEY, body TEXT)")
        self.source = Rows(f"sqlite://{self.path}", table="items", every="10ms")

    def _run(self, statement: str, values: Iterable[tuple[str]] = ((),)) -> None:  # type: ignore[assignment]
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.executemany(statement, values) if "?" in statement else connection.execute(statement)

    def put(self, texts: Iterable[str]) -> None:
        self._run("INSERT INTO items (body) VALUES (?)", [(text,) for text in texts])

    def text(self, raw: object) -> str:
        assert isinstance(raw, dict)
        return str(raw["body"])

    def die(self) -> None:
        self.path.rename(self.path.with_suffix(".gone"))

    def come_back(self) -> None:
        self.path.with_suffix(".gone").rename(self.path)


@pytest.fixture(params=[Folder, Database], ids=["directory", "sqlite"])
def feeder(request: pytest.FixtureRequest, tmp_path: Path) -> Feeder:
    made: Feeder = request.param(tmp_path)
    return made


def test_events_come_in_order_and_rubbish_is_a_dead_letter(feeder: Feeder) -> None:
    streaming.run(streaming.reads_in_order_and_keeps_rubbish_as_dead_letters(feeder))


def test_a_flood_waits_for_the_reactor_and_nothing_is_lost_or_repeated(feeder: Feeder) -> None:
    streaming.run(streaming.takes_a_flood_without_losing_or_repeating(feeder))


def test_a_source_that_dies_is_disconnected_and_read_on_when_it_is_back(feeder: Feeder) -> None:
    streaming.run(streaming.is_disconnected_by_a_death_and_reads_on_afterwards(feeder))


def test_a_source_that_hangs_is_lost_after_a_while(feeder: Feeder, monkeypatch: pytest.MonkeyPatch) -> None:
    held = threading.Event()
    monkeypatch.setattr(directory, "ANSWER_S", 0.05)
    monkeypatch.setattr(rows, "ANSWER_S", 0.05)
    hangs = lambda *_, **__: held.wait(PATIENCE_S)  # noqa: E731
    monkeypatch.setattr(directory, "os", SimpleNamespace(scandir=hangs))
    monkeypatch.setattr(rows, "sqlite3", SimpleNamespace(connect=hangs, Error=sqlite3.Error))
    try:
        streaming.run(_hanging(feeder, held))
    finally:
        held.set()


async def _hanging(feeder: Feeder, held: threading.Event) -> None:
    try:
        await streaming.is_lost_when_it_hangs(feeder)
    finally:
        held.set()


def test_after_a_crash_reading_goes_on_behind_the_journaled_offset(feeder: Feeder, tmp_path: Path) -> None:
    streaming.run(streaming.goes_on_behind_the_journaled_offset_after_a_crash(feeder, tmp_path))


def looked(source: Directory, after: int | None) -> list[tuple[int, ArrivedFile]]:
    """Answer what one look behind an offset gives to a reader."""

    async def look() -> list[tuple[int, ArrivedFile]]:
        reading = source.read(after)
        assert await anext(reading) is None, "a look begins with a sign of life"
        found = []
        while (one := await anext(reading)) is not None:
            found.append(one)
        await reading.aclose()
        return found

    return asyncio.run(look())


@pytest.mark.parametrize("is_deleted", [True, False], ids=["deleted", "kept"])
def test_files_with_one_offset_are_each_taken_once_whatever_becomes_of_those_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_deleted: bool
) -> None:
    folder = Folder(tmp_path)
    folder.put("abc")
    _set_clock(monkeypatch, 60)
    monkeypatch.setattr(directory, "_offset", lambda *_: 1000)
    names: list[str] = []
    after = None
    while found := looked(folder.source, after):
        after, file = found[0]
        names.append(file.name)
        if is_deleted:
            Path(file.path).unlink()
    assert names == ["000000.txt", "000001.txt", "000002.txt"]


def test_a_clock_that_was_set_back_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder(tmp_path)
    folder.put("a")
    _set_clock(monkeypatch, 60)
    ((offset, _),) = looked(folder.source, None)
    assert looked(folder.source, offset) == []
    _set_clock(monkeypatch, -60)
    with pytest.raises(OSError, match="the clock was set back"):
        looked(folder.source, offset)


def test_a_reader_that_is_told_to_end_while_an_answer_comes_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # `asyncio.wait_for` of Python 3.11 gives the answer then, and forgets that its task was cancelled.
    async def told_to_end() -> None:
        listed: asyncio.Future[list[object]] = asyncio.get_running_loop().create_future()

        async def listing(*_: object) -> list[object]:
            return await listed

        monkeypatch.setattr(asyncio, "to_thread", listing)
        reading = asyncio.create_task(anext(Folder(tmp_path).source.read(None)))
        for _ in range(5):
            await asyncio.sleep(0)
        listed.set_result([])
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading

    asyncio.run(told_to_end())


def _set_clock(monkeypatch: pytest.MonkeyPatch, ahead_s: int) -> None:
    now_ns = time.time_ns() + ahead_s * 1_000_000_000
    monkeypatch.setattr(directory, "time", SimpleNamespace(time_ns=lambda: now_ns))


def test_a_table_is_a_plain_name() -> None:
    with pytest.raises(DefinitionError, match="no plain name"):
        Rows("sqlite:///x.db", table="items; DROP TABLE items")
