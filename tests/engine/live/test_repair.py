"""A reactor that cannot go on, and the operator who takes one thing away or lets it begin again."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from pondage.define.reactor.reactor import Publish
from pondage.errors import NotFound, PondageError
from pondage.ledger.commit.journal import journal_path
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.ledger.tables import letters, reactors
from pondage.ledger.upkeep import reactor_repair
from tests.engine.live.test_owned import Desk
from tests.patience import PATIENCE_S


def by_itself(test: Callable[[Desk], Awaitable[None]]) -> Callable[[Path], None]:
    def run(tmp_path: Path) -> None:
        desk = Desk(tmp_path, "process")
        try:
            asyncio.run(asyncio.wait_for(test(desk), PATIENCE_S))  # type: ignore[arg-type]
        finally:
            desk.ledger.close()

    run.__name__ = test.__name__
    return run


def items(desk: Desk) -> dict[int, bytes]:
    assert isinstance(desk.ledger.driver, SqliteDriver)
    with sqlite3.connect(journal_path(desk.ledger.driver.path, desk.actor)) as file:
        return dict(file.execute("SELECT seq, records FROM reactor_log ORDER BY seq"))


def spoil(desk: Desk, seq: int) -> None:
    assert isinstance(desk.ledger.driver, SqliteDriver)
    with sqlite3.connect(journal_path(desk.ledger.driver.path, desk.actor)) as file:
        file.execute("UPDATE reactor_log SET records = ? WHERE seq = ?", (b'[["nonsense",1]]', seq))


def row_of(desk: Desk) -> reactors.ReactorRow:
    with desk.ledger.reading() as tx:
        row = reactors.find(tx, desk.environment, "quote")
    assert row is not None
    return row


def kept(desk: Desk) -> dict[str, str]:
    with desk.ledger.reading() as tx:
        return {each.id: each.body for each in letters.every(tx, desk.actor)}


async def _paused_with(desk: Desk, *prices: float) -> None:
    """Leave a journal in which each push is an item of its own, and nothing was fired."""
    owned = await desk.own()
    await owned.command("pause")
    for px in prices:
        await owned.push("prices", {"px": px})
    await owned.lose("a test")


@by_itself
async def test_an_item_of_a_journal_that_cannot_be_read_is_named_skipped_and_kept(desk: Desk) -> None:
    await _paused_with(desk, 1, 2, 3)
    last = max(items(desk))
    spoil(desk, last)
    with pytest.raises(PondageError) as wrong:
        await desk.own()
    assert (wrong.value.code, wrong.value.place) == ("UNREADABLE_JOURNAL", f"journal@{last}")
    assert f"pondage reactor skip quote journal@{last}" in str(wrong.value.hint)
    assert reactor_repair.skip(desk.ledger, row_of(desk), f"journal@{last}") == f"journal@{last}"
    owned = await desk.own()
    await owned.command("resume")
    assert (await owned.push("prices", {"px": 4})).accepted
    await owned.drain(1_000_000)
    assert [px for px, _ in desk.seen] == [1, 2, 4]
    assert kept(desk) == {f"journal@{last}": '[["nonsense",1]]'}


@by_itself
async def test_a_reactor_that_runs_is_fenced_by_a_repair_and_what_it_had_acknowledged_stays(desk: Desk) -> None:
    owned = await desk.own()
    await owned.command("pause")
    await owned.push("prices", {"px": 1})
    first = max(items(desk))
    await owned.push("prices", {"px": 2})
    reactor_repair.reset(desk.ledger, row_of(desk), f"journal@{first}")
    refused = await owned.push("prices", {"px": 3})
    assert (refused.accepted, owned.is_lost) == (False, True)
    again = await desk.own()
    await again.command("resume")
    await again.drain(1_000_000)
    assert [px for px, _ in desk.seen] == [1]
    assert list(kept(desk)) == [f"journal@{first + 1}"]
    assert '"px":2' in kept(desk)[f"journal@{first + 1}"]


@by_itself
async def test_a_reactor_that_begins_again_empty_keeps_offsets_and_numbers_and_gives_none_twice(desk: Desk) -> None:
    owned = await desk.own()
    await owned.push("prices", {"px": 1}, offset=7)
    await owned.idle()
    await owned.command("pause")
    await owned.push("prices", {"px": 2}, offset=8)
    await owned.lose("a test")
    spoil(desk, max(items(desk)))
    letters_of = reactor_repair.reset(desk.ledger, row_of(desk), "empty")
    assert len(letters_of) == len(kept(desk)) > 1
    again = await desk.own()
    state = again.state()
    assert state["hold"] is None
    assert state["sources"]["prices"]["offset"] in (7, 8)  # type: ignore[index]
    assert state["sources"]["prices"]["queued"] == 0  # type: ignore[index]
    assert (await again.push("prices", {"px": 1}, offset=7)).dup
    fired = await again.command("force_fire")
    assert fired["fire"] > 1 + 1000 - 1  # type: ignore[operator]
    await again.drain(0)
    assert "reactor repaired" in desk.history()


@by_itself
async def test_what_cannot_be_skipped_or_gone_back_to_is_refused_by_name(desk: Desk) -> None:
    await _paused_with(desk, 1)
    for item in ("journal@999", "journal@", "publication@1", "journal@-1", "nonsense", f"journal@{'9' * 30}"):
        with pytest.raises(NotFound) as wrong:
            reactor_repair.skip(desk.ledger, row_of(desk), item)
        assert wrong.value.code == "NO_ITEM"
    for place in ("journal@999", "nonsense"):
        with pytest.raises(PondageError) as refused:
            reactor_repair.reset(desk.ledger, row_of(desk), place)
        assert refused.value.code == "NO_ITEM"


@pytest.mark.parametrize("durable", [False, "process"])
def test_a_reactor_of_any_level_begins_again_and_may_share_a_process_again(tmp_path: Path, durable: bool | str) -> None:
    desk = Desk(tmp_path, durable)
    with desk.ledger.transaction() as tx:
        assert [reactors.blame(tx, desk.actor) for _ in range(2)] == [False, True]
    assert row_of(desk).is_alone
    reactor_repair.reset(desk.ledger, row_of(desk), "empty")
    assert not row_of(desk).is_alone
    desk.ledger.close()


class Quote(msgspec.Struct):
    px: float


def test_a_publication_that_is_skipped_is_a_letter_and_goes_with_the_next_one_when_it_is_redriven(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path, "process", publish=Publish("quotes", schema=Quote))
    with desk.ledger.transaction() as tx:
        for fire in (1, 2, 3):
            tx.write(
                "INSERT INTO reactor_results (reactor, fire, graph, rows, is_ok) VALUES (:actor, :fire, 'g', :rows, 1)",
                actor=desk.actor, fire=fire, rows=f'[{{"px":{fire}}}]',
            )  # fmt: skip
            tx.write(
                "INSERT INTO reactor_publications (reactor, freshness, delay, fire) VALUES (:actor, :fire, 0, :fire)",
                actor=desk.actor, fire=fire,
            )  # fmt: skip
        reactors.cannot_go_on(tx, lease_of(desk), "publication@2", "no space")
    assert (row_of(desk).stuck, row_of(desk).stuck_at is None) == ('{"item":"publication@2","error":"no space"}', False)
    reactor_repair.skip(desk.ledger, row_of(desk), "publication@2")
    assert row_of(desk).stuck is None
    body = '[{"fire":2,"graph":"g","rows":"[{\\"px\\":2}]"}]'
    assert kept(desk) == {"publication@2": body}
    assert fires(desk) == [1, 3]
    with desk.ledger.transaction() as tx:
        letter = letters.find(tx, desk.actor, "publication@2")
        assert letter is not None
        assert letters.redrive(tx, desk.actor, letter)
    assert (fires(desk), kept(desk)) == ([1, 2, 3], {})
    desk.ledger.close()


def lease_of(desk: Desk) -> reactors.Lease:
    return reactors.Lease(actor=desk.actor, environment=desk.environment, name="quote", epoch=1, token="t")


def fires(desk: Desk) -> list[int]:
    with desk.ledger.reading() as tx:
        return tx.rows("SELECT fire FROM reactor_results ORDER BY fire", int)


def test_what_a_reactor_says_that_no_ledger_takes_is_a_letter_and_the_next_goes_on(tmp_path: Path) -> None:
    from pondage.ledger.commit import reactor_said

    desk = Desk(tmp_path, "process", publish=Publish("quotes", schema=Quote))
    said = [
        reactors.LedgerRow("publish", f'{{"f":{2**63},"d":0,"fire":1}}'),
        reactors.LedgerRow("fired", "no JSON"),
        reactors.LedgerRow("publish", '{"f":5,"d":0,"fire":1}'),
    ]
    for _ in range(2):
        with desk.ledger.transaction() as tx:
            reactor_said.take_rows(tx, lease_of(desk), said)
    with desk.ledger.reading() as tx:
        assert tx.rows("SELECT DISTINCT freshness FROM reactor_publications", int) == [5]
    assert len(kept(desk)) == 2
    assert desk.history().count("reactor set aside") == 2
    desk.ledger.close()
