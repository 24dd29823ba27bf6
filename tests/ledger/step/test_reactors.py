"""Leases and journals of reactors: one fenced owner, a takeover under a new epoch, each group once and whole."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from pondage.define.reactor.reaction import AccumulatorDeclaration, ReactorDeclaration
from pondage.ledger.commit import reactor_said
from pondage.ledger.commit.journal import Batch, Carrier, Fenced, FileJournal, Journal, LedgerJournal
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.step import advance
from pondage.ledger.tables import actors, reactors
from pondage.ledger.tables.reactors import Lease, LedgerRow
from pondage.ledger.upkeep import reap
from pondage.views.reactors.reactors import reactor_history
from tests.ledger.harness import MakeDriver, World

QUOTE = ReactorDeclaration(name="quote", accumulators=(AccumulatorDeclaration(name="book"),))
NOTE = LedgerRow("reactor hold", '{"hold":"paused"}')
CRASH = '{"component":null,"attempt":1,"backoff":1000000}'


@pytest.fixture
def ledger(make_driver: MakeDriver) -> Ledger:
    return World(make_driver).ledger


def deployed(ledger: Ledger) -> int:
    with ledger.transaction() as tx:
        environment = actors.made_environment(tx, "main")
        return reactors.put(tx, environment=environment, project="p", declaration=QUOTE, entry="m:quote", code="c")


def host(ledger: Ledger) -> int:
    with ledger.transaction() as tx:
        return processes.register(tx, public_id=ledger.ids.new("p"), machine="m", pid=1, pid_started=1, role="live")


def claim(ledger: Ledger, actor: int, process: int) -> Lease | None:
    with ledger.transaction() as tx:
        return reactors.claim(tx, actor=actor, process=process, token=ledger.ids.new("t"))


def kill(ledger: Ledger, process: int) -> None:
    with ledger.reading() as tx:
        row = next(row for row in processes.alive(tx) if row.id == process)
    reap.reap_process(ledger, row, reason="test")


def history(ledger: Ledger) -> list[str]:
    with ledger.reading() as tx:
        return [str(row["payload"]) for row in tx.rows("SELECT payload FROM history ORDER BY id")]


def test_one_host_owns_a_reactor_and_another_takes_over_when_it_dies(ledger: Ledger) -> None:
    actor, first, second = deployed(ledger), host(ledger), host(ledger)
    lease = claim(ledger, actor, first)
    assert lease is not None
    assert (lease.epoch, lease.name) == (1, "quote")
    assert claim(ledger, actor, second) is None
    kill(ledger, first)
    taken = claim(ledger, actor, second)
    assert taken is not None
    assert taken.epoch == 2
    assert claim(ledger, actor, first) is None, "a host that is taken for dead claims nothing"


def test_a_lost_answer_to_a_claim_is_found_by_its_token(ledger: Ledger) -> None:
    lease = claim(ledger, deployed(ledger), host(ledger))
    assert lease is not None
    with ledger.reading() as tx:
        assert reactors.claimed(tx, token=lease.token) == lease
        assert reactors.claimed(tx, token="another") is None


def test_a_released_reactor_is_free_and_only_its_owner_releases_it(ledger: Ledger) -> None:
    actor, process = deployed(ledger), host(ledger)
    lease = claim(ledger, actor, process)
    assert lease is not None
    with ledger.transaction() as tx:
        assert reactors.release(tx, lease)
        assert not reactors.release(tx, lease)
    assert claim(ledger, actor, process) is not None


def test_a_signal_waits_for_the_owner_and_nobody_else_advances_it(ledger: Ledger) -> None:
    lease = claim(ledger, deployed(ledger), host(ledger))
    assert lease is not None
    with ledger.transaction() as tx:
        reactors.signal(tx, actor=lease.actor, payload=["want", 5])
    assert advance.advance_due(ledger, process=None) == 0
    journal = LedgerJournal(ledger, lease)
    with ledger.reading() as tx:
        (signal,) = reactors.signals(tx, lease.actor)
    assert msgspec.json.decode(signal.payload) == ["want", 5]
    journal.write(Batch(seq=1, records=b"[]", rows=(LedgerRow("consumed", str(signal.id)),)))
    with ledger.reading() as tx:
        assert reactors.signals(tx, lease.actor) == []


def journals(ledger: Ledger, folder: Path, lease: Lease) -> list[Journal]:
    return [LedgerJournal(ledger, lease), FileJournal(folder / "1.db", lease, level="process")]


@pytest.mark.parametrize("place", [0, 1])
def test_a_group_is_written_once_however_often_its_answer_is_lost(ledger: Ledger, tmp_path: Path, place: int) -> None:
    lease = claim(ledger, deployed(ledger), host(ledger))
    assert lease is not None
    journal = journals(ledger, tmp_path, lease)[place]
    first = Batch(seq=1, records=b"[1]", declaration="d1")
    journal.write(first)
    journal.write(first)
    journal.write(Batch(seq=2, records=b"[2]"))
    found = journal.read()
    assert (found.seq, found.blobs, found.declaration) == (2, [b"[1]", b"[2]"], "d1")
    journal.write(Batch(seq=3, records=b"[full]", is_full=True, declaration="d2"))
    found = journal.read()
    assert (found.seq, found.blobs, found.declaration) == (3, [b"[full]"], "d2")
    with pytest.raises(Fenced):
        journal.write(Batch(seq=7, records=b"[7]"))


@pytest.mark.parametrize("place", [0, 1])
def test_an_old_owner_writes_nothing_more(ledger: Ledger, tmp_path: Path, place: int) -> None:
    actor, first, second = deployed(ledger), host(ledger), host(ledger)
    lease = claim(ledger, actor, first)
    assert lease is not None
    old = journals(ledger, tmp_path, lease)[place]
    old.write(Batch(seq=1, records=b"[1]"))
    kill(ledger, first)
    successor = claim(ledger, actor, second)
    assert successor is not None
    new = journals(ledger, tmp_path, successor)[place]
    assert new.read().seq == 1
    with pytest.raises(Fenced):
        old.write(Batch(seq=2, records=b"[old]"))
    new.write(Batch(seq=2, records=b"[new]"))
    with pytest.raises(Fenced):
        old.write(Batch(seq=2, records=b"[old]"))
    assert new.read().blobs == [b"[1]", b"[new]"]
    if place:
        with pytest.raises(Fenced):
            FileJournal(tmp_path / "1.db", lease, level="process")


def test_rows_for_the_ledger_are_carried_from_the_file_in_order_and_once(ledger: Ledger, tmp_path: Path) -> None:
    lease = claim(ledger, deployed(ledger), host(ledger))
    assert lease is not None
    journal = FileJournal(tmp_path / "1.db", lease, level="power")
    journal.write(Batch(seq=1, records=b"[]", rows=(NOTE, LedgerRow("health", '{"state":"Live"}'))))
    journal.write(Batch(seq=2, records=b"[]", rows=(LedgerRow("reactor hold", '{"hold":null}'),)))
    assert history(ledger) == []
    carrier = Carrier(tmp_path / "1.db", ledger, lease)
    carrier.carry_all()
    said = ['{"reactor":"quote","hold":"paused"}', '{"reactor":"quote","hold":null}']
    assert history(ledger) == said
    # As after a death between the ledger's commit and the file's: the rows are still there, and known.
    journal._connection.execute("INSERT INTO outbox VALUES (1, 0, ?, ?)", NOTE)
    carrier.carry_all()
    assert history(ledger) == said
    with ledger.reading() as tx:
        row = reactors.find(tx, lease.environment, "quote")
    assert row is not None
    assert row.health == '{"state":"Live"}'


def test_a_removed_reactor_is_forgotten_with_everything_of_it(ledger: Ledger) -> None:
    lease = claim(ledger, deployed(ledger), host(ledger))
    assert lease is not None
    LedgerJournal(ledger, lease).write(Batch(seq=1, records=b"[1]", declaration="d"))
    with ledger.transaction() as tx:
        reactors.remove(tx, lease.actor)
        assert [row.is_removed for row in reactors.deployed(tx)] == [True]
        reactors.forget(tx, lease)
        assert reactors.deployed(tx) == []
    again = claim(ledger, deployed(ledger), host(ledger))
    assert again is not None
    assert again.epoch == 2
    found = LedgerJournal(ledger, again).read()
    assert (found.seq, found.blobs, found.declaration) == (0, [], None)


def test_what_happened_to_a_reactor_is_not_hidden_by_what_happens_to_others(ledger: Ledger) -> None:
    actor, process = deployed(ledger), host(ledger)
    lease = claim(ledger, actor, process)
    assert lease is not None
    with ledger.transaction() as tx:
        reactor_said.take_rows(tx, lease, [NOTE, LedgerRow("reactor hold", '{"hold":null}')])
        for name in ("quote_2", "quot_"):
            other = msgspec.structs.replace(lease, name=name)
            reactor_said.take_rows(tx, other, [LedgerRow("reactor recovery", CRASH)] * 600)
    with ledger.reading() as tx:
        row = reactors.find(tx, lease.environment, "quote")
        assert row is not None
        lines = reactor_history(tx, row, limit=3)
    assert [(line.kind, line.text) for line in lines] == [("hold", "paused"), ("hold", "resumed")]
