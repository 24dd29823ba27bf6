"""A bad result is the failure of that fire, push, poll or batch: journal and publication go on with the next."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest

from pondage import Accumulator, Reactor
from pondage.define.reactor.accumulator import Arrived
from pondage.define.reactor.boundary import BoundaryType, InvalidBoundary
from pondage.define.reactor.reactor import Publish
from pondage.engine.live import journal as journal_module
from pondage.engine.live.owned import OwnedReactor
from pondage.engine.live.publishing import Publisher
from pondage.engine.live.socket import line_of
from pondage.engine.live.table import Table
from pondage.errors import LedgerError, PondageError
from pondage.kernel.reaction import living
from pondage.kernel.reaction.events import Flush, Polled
from pondage.ledger.commit.journal import Batch, FileJournal
from pondage.ledger.tables import letters, reactors
from pondage.operations.ponds import why
from pondage.operations.reactors import reactor_dead, reactor_state
from pondage.views.reactors.reactors import why_reactor
from tests.engine.live.test_owned import Desk
from tests.operations.calling import Here
from tests.patience import PATIENCE_S


def nested(depth: int) -> object:
    value: object = 1
    for number in range(depth):
        value = [value] if number % 2 else {"a": value}
    return value


BAD = [
    10**30,
    -(2**63) - 1,
    2**63,
    "half a pair \ud800",
    math.nan,
    math.inf,
    {"\ud800": 1},
    [[10**20]],
    nested(201),
    nested(985),
    nested(5_000),
]
"""What JSON or 64 bits do not hold."""


def played(desk: Desk, play: object) -> None:
    """Run something with the reactor of a desk, and end it in order."""

    async def run() -> None:
        owned = await desk.own()
        await play(owned)  # type: ignore[operator]
        await owned.drain(1_000_000)

    try:
        asyncio.run(asyncio.wait_for(run(), PATIENCE_S))
    finally:
        desk.ledger.close()


def declared(desk: Desk, *sources: object, **options: object) -> list[object]:
    """Deploy another reactor with these sources; answer what its graph sees of the first, as fires come."""
    seen: list[object] = []
    reactor = Reactor("quote", sources=list(sources), durable="process", strategy="sequential", **options)  # type: ignore[arg-type]

    @reactor.graph(inline=True)
    def note(first: object = None) -> None:
        seen.append(first)

    desk.declare(reactor)
    return seen


def first(kind: object = object) -> Accumulator:  # type: ignore[type-arg]
    return Accumulator("first", kind)  # type: ignore[arg-type]


def told(value: object) -> str:
    try:
        return repr(value)[:30]
    except RecursionError:
        return "nested deeper than Python looks"


@pytest.mark.parametrize("value", BAD, ids=told)
def test_a_push_that_cannot_be_kept_or_shown_is_refused_and_what_is_just_kept_is_shown(
    tmp_path: Path, value: object
) -> None:
    """A list 985 deep was taken in, and nobody could be told the state of its reactor any more, in no later life."""
    desk = Desk(tmp_path, "process")
    seen = declared(desk, first())
    deepest = nested(200)

    async def play(owned: OwnedReactor) -> None:
        refused = await owned.push("first", value)
        assert (refused.accepted, refused.error) == (False, "invalid")
        assert (await owned.push("first", deepest)).accepted
        await owned.idle()
        shown = msgspec.json.decode(line_of({"id": 1, "state": owned.state()}))
        assert shown["state"]["sources"]["first"]["value"] == deepest
        assert line_of({"id": 2, "dead": owned.dead()})

    played(desk, play)
    assert seen == [deepest]


@pytest.mark.parametrize("value", BAD, ids=told)
def test_a_fire_with_values_that_cannot_be_kept_is_refused_at_the_door(tmp_path: Path, value: object) -> None:
    desk = Desk(tmp_path, "process")
    seen = declared(desk, first())

    async def play(owned: OwnedReactor) -> None:
        with pytest.raises(Exception, match="first of quote") as refused:
            await owned.fire_with(first=value)
        assert getattr(refused.value, "code", None) == "INVALID_BOUNDARY"
        assert (await owned.push("first", 1)).accepted
        await owned.idle()
        assert owned.state()["state"] == "Live"

    played(desk, play)
    assert seen == [1]


@pytest.mark.parametrize("value", BAD, ids=told)
def test_a_poll_that_brings_what_cannot_be_kept_has_failed_and_the_next_one_is_taken(
    tmp_path: Path, value: object
) -> None:
    desk = Desk(tmp_path, "process")
    source = Accumulator.polling("first", object, every="1h")
    brought = [value, 7]

    @source.poll
    def bring() -> object:
        return brought.pop(0)

    seen = declared(desk, source)

    async def play(owned: OwnedReactor) -> None:
        await owned.until(lambda state: state["state"] == "Live")
        polled: list[object] = []
        owned.host._sources._feed = polled.append
        for _ in range(2):
            await owned.host._sources._poll("first")
        bad, good = polled
        assert isinstance(bad, Polled)
        assert bad.error is not None
        assert bad.error.encode()
        assert good == Polled("first", 7)
        for event in polled:
            owned.host.feed(event)  # type: ignore[arg-type]
        await owned.until(lambda state: state["ok"] == 1)

    played(desk, play)
    assert seen == [7]


@pytest.mark.parametrize("value", BAD, ids=told)
def test_a_batch_whose_reduction_cannot_be_kept_is_a_dead_letter_with_its_items_and_the_next_goes_on(
    tmp_path: Path, value: object
) -> None:
    desk = Desk(tmp_path, "process")
    source = Accumulator.batch("first", int, size=2)

    @source.flush
    def reduced(items: list[int]) -> object:
        return value if 13 in items else sum(items)

    seen = declared(desk, source)

    async def play(owned: OwnedReactor) -> None:
        for number in (13, 14, 1, 2):
            assert (await owned.push("first", number)).accepted
        await owned.until(lambda state: state["ok"] == 1)
        owned.host.feed(Flush("first"))
        (letter,) = owned.dead()
        assert (letter["id"], letter["raw"]) == ("first@batch-1", "[13,14]")
        assert owned.state()["sources"]["first"]["health"] == "SocketOnly"  # type: ignore[index]
        assert msgspec.json.encode(owned.state())
        assert (await owned.command("redrive", "first@batch-1"))["error"] == "undecodable"

    played(desk, play)
    assert seen == [3]
    letters_again: list[object] = []

    async def next_life() -> None:
        desk.ledger = type(desk.ledger).open(f"sqlite:///{tmp_path}/ledger.db")
        owned = await desk.own()
        letters_again.extend(owned.dead())
        await owned.drain(0)
        desk.ledger.close()

    asyncio.run(asyncio.wait_for(next_life(), PATIENCE_S))
    assert [each["id"] for each in letters_again] == ["first@batch-1"]  # type: ignore[index]


class Stream:
    """A source of the author's own: what a test gives it, and then nothing."""

    def __init__(self, *arrived: object) -> None:
        self._arrived = arrived

    async def read(self, after: int | None) -> AsyncIterator[object]:
        for each in self._arrived:
            if after is None or not isinstance(each, Arrived) or each.offset > after:
                yield each
        await asyncio.Event().wait()


@pytest.mark.parametrize("value", BAD, ids=told)
def test_an_event_of_a_stream_that_cannot_be_kept_is_a_dead_letter_and_reading_goes_on(
    tmp_path: Path, value: object
) -> None:
    desk = Desk(tmp_path, "process")
    source = Accumulator.stream("first", object, source=Stream(Arrived(value, 1), Arrived(5, 2)))  # type: ignore[arg-type]
    seen = declared(desk, source)

    async def play(owned: OwnedReactor) -> None:
        await owned.until(lambda state: state["ok"] == 1)
        (letter,) = owned.dead()
        assert letter["id"] == "first@1"
        assert msgspec.json.encode(letter)

    played(desk, play)
    assert seen == [5]


def test_an_offset_that_no_journal_keeps_crashes_its_source_and_not_the_reactor(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "process")
    source = Accumulator.stream("first", object, source=Stream(Arrived(1, 2**70)))  # type: ignore[arg-type]
    seen = declared(desk, source, Accumulator("second", int))

    async def play(owned: OwnedReactor) -> None:
        state = await owned.until(lambda state: state["sources"]["first"]["health"] == "Crashed")  # type: ignore[index]
        assert state["sources"]["first"]["attempts"] == 1  # type: ignore[index]
        assert (await owned.push("second", 1)).accepted
        await owned.idle()

    played(desk, play)
    assert seen == [None]


def test_an_error_whose_text_cannot_be_kept_is_kept_escaped_with_its_dead_letter(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "process")
    reactor = Reactor("quote", sources=[first()], durable="process", strategy="sequential")

    @reactor.graph(inline=True)
    def note(first: object = None) -> None:
        if first == "bad":
            raise ValueError("it was \ud800")

    desk.declare(reactor)

    async def play(owned: OwnedReactor) -> None:
        for value in ("bad", "good"):
            assert (await owned.push("first", value)).accepted
        await owned.until(lambda state: state["ok"] == 1)
        (letter,) = owned.dead()
        assert letter["error"] == "ValueError: it was \\ud800"

    played(desk, play)


@pytest.mark.parametrize("durable", ["process", "power"])
def test_a_record_that_no_journal_takes_ends_that_life_and_not_the_reactor(
    tmp_path: Path, durable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was encoded again and again for ever, pushes were acknowledged by nobody, and the state said Live."""
    monkeypatch.setattr(living, "restart_wait", lambda second, attempt: 1)
    desk = Desk(tmp_path, durable)

    async def play(owned: OwnedReactor) -> None:
        original = journal_module.encode_records
        before = owned.host
        monkeypatch.setattr(journal_module, "encode_records", _unwritable)
        refused = await owned.push("prices", {"px": 1})
        assert (refused.accepted, refused.error) == (False, "unavailable")
        monkeypatch.setattr(journal_module, "encode_records", original)
        await _again(owned, before)
        assert (await owned.push("prices", {"px": 2})).accepted
        await owned.idle()

    played(desk, play)
    assert [px for px, _ in desk.seen] == [2]


async def _again(owned: OwnedReactor, before: object) -> None:
    """Wait for the next life."""
    while owned.host is before:
        await asyncio.sleep(0.001)
    await owned.until(lambda state: state["state"] == "Live")


def _unwritable(records: object) -> bytes:
    raise OverflowError("Integer value out of range")


@pytest.mark.parametrize("durable", ["process", "power"])
def test_a_journal_that_fails_in_an_unknown_way_ends_that_life_and_not_the_reactor(
    tmp_path: Path, durable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(living, "restart_wait", lambda second, attempt: 1)
    desk = Desk(tmp_path, durable)
    original, failures = FileJournal.write, [RuntimeError("a bug of ours")]

    def write(self: FileJournal, batch: Batch) -> None:
        if b"666" in batch.records and failures:
            raise failures.pop()
        original(self, batch)

    monkeypatch.setattr(FileJournal, "write", write)

    async def play(owned: OwnedReactor) -> None:
        before = owned.host
        assert (await owned.push("prices", {"px": 666})).error == "unavailable"
        await _again(owned, before)
        assert (await owned.push("prices", {"px": 2})).accepted
        await owned.idle()

    played(desk, play)
    assert [px for px, _ in desk.seen] == [2]


class Quote(msgspec.Struct):
    px: int


def _publishing(folder: Path) -> Desk:
    return Desk(folder, "process", publish=Publish("quotes", schema=Quote))


def test_results_that_do_not_fit_the_table_any_more_are_letters_and_the_others_are_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = _publishing(tmp_path)
    with desk.ledger.transaction() as tx:
        for fire, rows in ((1, '[{"px":1}]'), (2, '[{"px":"of another schema"}]'), (3, f'[{{"px":{10**30}}}]')):
            _due(tx, desk, fire, rows)
    publisher = _publisher(desk)
    written: list[list[object]] = []
    monkeypatch.setattr(publisher, "_dataset", lambda: "d")
    real = publisher._table.write
    monkeypatch.setattr(publisher._table, "write", lambda rows, place: written.append(rows) or real(rows, place))
    assert publisher.publish() is True
    assert written[-1] == [{"px": 1}]
    with desk.ledger.reading() as tx:
        assert [each.id for each in letters.every(tx, desk.actor)] == ["result@2.g", "result@3.g"]
        assert tx.rows("SELECT fire FROM reactor_publications", int) == []
    desk.ledger.close()


class Amount(msgspec.Struct):
    parts: list[Decimal | None]


@pytest.mark.parametrize("text", ["1e100", "1e-100", "1e1000000", "1e-100000000", "9" * 77, "NaN", "sNaN", "-Infinity"])
def test_a_decimal_that_arrow_would_read_foreign_memory_for_fails_its_fire_before_arrow_sees_it(text: str) -> None:
    """A push of `1e-1000000` ended the live host with SIGSEGV, and all its reactors."""
    table = Table(BoundaryType(Amount))
    for number in ("1", "-0.5", "1e19", "1.50", "9" * 20, "0e-18"):
        table.require_fit([Amount([Decimal(number), None])])
    with pytest.raises(InvalidBoundary, match=r"no decimal number|more digits than decimal\(38,18\)"):
        table.require_fit([Amount([None, Decimal(text)])])
    kept = msgspec.json.encode([Amount([Decimal(text)])]).decode()
    assert "does not fit" in str(table.refusal(kept))


def test_a_publication_that_cannot_be_written_is_said_with_the_time_and_what_to_type_and_fires_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = _publishing(tmp_path)
    with desk.ledger.transaction() as tx:
        _due(tx, desk, 1, '[{"px":1}]')

    def full(self: Publisher, due: object) -> None:
        raise LedgerError("no space left on the device")

    monkeypatch.setattr(Publisher, "_publish", full)

    def row() -> reactors.ReactorRow:
        with desk.ledger.reading() as tx:
            found = reactors.find(tx, desk.environment, "quote")
        assert found is not None
        return found

    async def play(owned: OwnedReactor) -> None:
        while row().stuck is None:
            await asyncio.sleep(0.001)  # another thread says it
        assert (await owned.push("prices", {"px": 1})).accepted
        said = why_reactor(row(), owned.state())
        stuck = next(each for each in said.reasons if each.gate == "stuck")
        assert stuck.text.startswith("publication@1 does not go on since 2")
        assert stuck.text.endswith("no space left on the device")
        assert "pondage reactor skip quote publication@1" in str(stuck.hint)
        monkeypatch.undo()
        monkeypatch.setattr(Publisher, "_publish", lambda self, due: None)
        owned._telling.look()
        while row().stuck is not None:
            await asyncio.sleep(0.001)

    played(desk, play)


def _due(tx: object, desk: Desk, fire: int, rows: str) -> None:
    tx.write(  # type: ignore[attr-defined]
        "INSERT INTO reactor_results (reactor, fire, graph, rows, is_ok) VALUES (:actor, :fire, 'g', :rows, 1)",
        actor=desk.actor, fire=fire, rows=rows,
    )  # fmt: skip
    tx.write(  # type: ignore[attr-defined]
        "INSERT INTO reactor_publications (reactor, freshness, delay, fire) VALUES (:actor, :fire, 0, :fire)",
        actor=desk.actor, fire=fire,
    )  # fmt: skip


def _publisher(desk: Desk) -> Publisher:
    with desk.ledger.transaction() as tx:
        lease = reactors.take_over(tx, desk.actor, token="t")
        row = reactors.find(tx, desk.environment, "quote")
    assert row is not None
    given = desk.reactor.publish
    assert given is not None
    folder = str(desk.ledger.driver.path.parent / "warehouse")  # type: ignore[attr-defined]
    return Publisher(desk.ledger, row, lease, given, warehouse=folder)


def test_a_journal_that_cannot_be_written_is_said_with_the_time_in_the_state_and_by_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, "process")
    original = FileJournal.write

    def write(self: FileJournal, batch: Batch) -> None:
        raise LedgerError("the disk is full")

    async def play(owned: OwnedReactor) -> None:
        monkeypatch.setattr(FileJournal, "write", write)
        pushing = asyncio.ensure_future(owned.push("prices", {"px": 1}))
        state = await owned.until(lambda state: state["stuck"] is not None)
        assert state["stuck"]["error"] == "the disk is full"  # type: ignore[index]
        with desk.ledger.reading() as tx:
            row = reactors.find(tx, desk.environment, "quote")
        assert row is not None
        (stuck,) = [each.text for each in why_reactor(row, state).reasons if each.gate == "stuck"]
        assert stuck.startswith("journal does not go on since 2")
        monkeypatch.setattr(FileJournal, "write", original)
        assert (await pushing).accepted
        await owned.until(lambda state: state["stuck"] is None)

    played(desk, play)


def test_a_live_host_that_cannot_say_the_state_is_an_error_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was a KeyError: 'state'."""
    answer = {"accepted": False, "error": "INTERNAL", "message": "the log of the live host says why"}
    desk = Desk(tmp_path, "process")
    monkeypatch.setattr("pondage.engine.live.client.LiveClient.ask", lambda self, **frame: answer)
    for operation in (reactor_state, reactor_dead):
        with pytest.raises(PondageError, match="the log of the live host says why") as wrong:
            Here(desk.ledger).ask(operation, reactor="quote")
        assert wrong.value.code == "INTERNAL"
    (reason,) = Here(desk.ledger).ask(why, name="quote").reasons
    assert "the log of the live host says why" in reason.text
    desk.ledger.close()


def test_the_state_of_a_reactor_says_what_the_ledger_knows_to_be_stuck(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = _publishing(tmp_path)
    with desk.ledger.transaction() as tx:
        lease = reactors.take_over(tx, desk.actor, token="t")
        reactors.cannot_go_on(tx, lease, "publication@1", "no space")
        at = tx.now
    monkeypatch.setattr("pondage.engine.live.client.LiveClient.ask", lambda self, **frame: {"state": {"stuck": None}})
    state = Here(desk.ledger).ask(reactor_state, reactor="quote")
    assert state["stuck"] == {"item": "publication@1", "error": "no space", "since": at}
    desk.ledger.close()
