"""Which live hosts a supervisor keeps: one for each archive with reactors, replaced when it dies, ended when unused."""

from __future__ import annotations

from pathlib import Path

import pytest

from pondage.define.reactor.reaction import AccumulatorDeclaration, ReactorDeclaration
from pondage.engine.live.calls import Calls, calls_path, under_way
from pondage.engine.process.config import EngineConfig, WorkerConfig
from pondage.engine.services.backup import backup
from pondage.engine.supervise.live_keeper import LiveKeeper
from pondage.ledger.commit.journal import Batch, Fenced, FileJournal, journal_path
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.tables import actors, reactors


class FakeProcess:
    def __init__(self, config: WorkerConfig) -> None:
        self.config = config
        self.pid = 1
        self.code: int | None = None
        self.is_asked = False

    def poll(self) -> int | None:
        return self.code

    def terminate(self) -> None:
        self.is_asked = True

    def kill(self) -> None:
        self.code = -9


class Yard:
    """A keeper with processes that a test ends, and a clock that it moves."""

    def __init__(self, folder: Path) -> None:
        url = f"sqlite:///{folder}/ledger.db"
        self.ledger = Ledger.open(url)
        self.started: list[FakeProcess] = []
        self.now = 0.0
        config = EngineConfig(
            project="p", root=str(folder), ledger=url, warehouse=str(folder), state_directory=str(folder)
        )
        self.said: list[str] = []
        self.keeper = LiveKeeper(config, self.ledger, say=self.said.append, start=self.start, clock=lambda: self.now)

    def start(self, config: WorkerConfig) -> FakeProcess:
        self.started.append(FakeProcess(config))
        return self.started[-1]

    def deploy(self, name: str, code: str) -> int:
        declaration = ReactorDeclaration(name=name, accumulators=(AccumulatorDeclaration(name=f"{name}_a"),))
        with self.ledger.transaction() as tx:
            environment = actors.made_environment(tx, "main")
            return reactors.put(tx, environment=environment, project="p", declaration=declaration, code=code)

    def register(self, started: FakeProcess) -> int:
        with self.ledger.transaction() as tx:
            return processes.register(
                tx, public_id=started.config.public_id, machine="m", pid=1, pid_started=1, role="live"
            )

    def codes(self) -> list[str]:
        return [each.config.code for each in self.started]


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path)


def test_one_live_host_for_each_code_and_none_without_reactors(yard: Yard) -> None:
    yard.keeper.tick(reaper=0)
    assert yard.codes() == []
    yard.deploy("a", "c1")
    yard.deploy("b", "c1")
    yard.deploy("c", "c2")
    yard.keeper.tick(reaper=0)
    yard.keeper.tick(reaper=0)
    assert yard.codes() == ["c1", "c2"]


def test_a_live_host_that_dies_is_reaped_at_once_and_replaced(yard: Yard) -> None:
    actor = yard.deploy("a", "c1")
    yard.keeper.tick(reaper=0)
    process = yard.register(yard.started[0])
    with yard.ledger.transaction() as tx:
        assert reactors.claim(tx, actor=actor, process=process, token="t") is not None
    yard.started[0].code = -9
    yard.now = 60.0
    yard.keeper.tick(reaper=0)
    assert yard.codes() == ["c1", "c1"]
    assert f"live host {yard.started[0].config.public_id} was killed by SIGKILL" in yard.said
    with yard.ledger.reading() as tx:
        (row,) = reactors.deployed(tx)
        assert row.owner is None


def test_a_live_host_that_never_registers_is_killed_and_replaced(yard: Yard) -> None:
    yard.deploy("a", "c1")
    yard.keeper.tick(reaper=0)
    yard.now = 50.0
    yard.keeper.tick(reaper=0)
    assert yard.said[-1] == f"live host {yard.started[0].config.public_id} is silent for 50 s and is killed"
    yard.now = 60.0
    yard.keeper.tick(reaper=0)
    assert yard.codes() == ["c1", "c1"]


def test_a_live_host_that_has_left_the_ledger_has_time_to_end_however_old_it_is(yard: Yard) -> None:
    yard.deploy("a", "c1")
    yard.keeper.tick(reaper=0)
    process = yard.register(yard.started[0])
    yard.now = 1000.0
    yard.keeper.tick(reaper=0)
    with yard.ledger.transaction() as tx:
        processes.leave(tx, process)
    limit_s = yard.ledger.durability.fence_after_s
    yard.now = 1000.0 + limit_s - 1
    yard.keeper.tick(reaper=0)
    assert not any("silent" in line for line in yard.said)
    yard.now = 1000.0 + limit_s
    yard.keeper.tick(reaper=0)
    assert yard.said[-1].endswith(f"is silent for {limit_s:.0f} s and is killed")


def test_a_live_host_that_nobody_needs_is_asked_to_end(yard: Yard) -> None:
    yard.deploy("a", "c1")
    yard.keeper.tick(reaper=0)
    yard.deploy("a", "c2")
    yard.keeper.tick(reaper=0)
    assert [(each.config.code, each.is_asked) for each in yard.started] == [("c1", True), ("c2", False)]


def test_a_backup_takes_the_journals_along_and_an_older_ledger_goes_beyond_their_epoch(yard: Yard) -> None:
    actor, path = yard.deploy("a", "c1"), Path(yard.ledger.driver.path)  # type: ignore[attr-defined]

    def claimed(token: str) -> reactors.Lease:
        with yard.ledger.transaction() as tx:
            tx.change("UPDATE actors SET owner = NULL, token = NULL")
            process = processes.register(tx, public_id=token, machine="m", pid=1, pid_started=1, role="live")
            lease = reactors.claim(tx, actor=actor, process=process, token=token)
        assert lease is not None
        return lease

    journal = FileJournal(journal_path(path, actor), claimed("t1"), level="process")
    journal.write(Batch(seq=1, records=b"[1]"))
    copy = path.with_name("copy.db")
    backup(yard.ledger, copy)
    lease = reactors.Lease(actor=actor, environment=1, name="a", epoch=9, token="t9")
    assert FileJournal(journal_path(copy, actor), lease, level="process").read().blobs == [b"[1]"]
    FileJournal(journal_path(path, actor), lease, level="process").close()
    old = claimed("t2")
    with pytest.raises(Fenced) as fenced:
        FileJournal(journal_path(path, actor), old, level="process")
    with yard.ledger.transaction() as tx:
        reactors.raise_epoch(tx, old, fenced.value.epoch)
    assert claimed("t3").epoch == 10


def _dies(yard: Yard, place: int, *actors_called: int, code: int = -9) -> None:
    """End a host while code of these reactors is called."""
    started = yard.started[place]
    calls = Calls(calls_path(yard.keeper._config.state, started.config.public_id))
    for actor in actors_called:
        calls.of(actor).begin()
    started.code = code
    yard.keeper.tick(reaper=0)


def alone(yard: Yard) -> dict[str, int]:
    with yard.ledger.reading() as tx:
        return {row.name: row.deaths for row in reactors.deployed(tx)}


def test_a_reactor_whose_code_was_called_when_two_hosts_died_gets_a_process_of_its_own_and_its_neighbours_go_on(
    yard: Yard,
) -> None:
    poison, _ = yard.deploy("poison", "c1"), yard.deploy("neighbour", "c1")
    yard.keeper.tick(reaper=0)
    _dies(yard, 0, poison)
    assert [(each.config.code, each.config.reactor) for each in yard.started] == [("c1", 0), ("c1", 0)]
    _dies(yard, 1, poison)
    # At once, without waiting: what killed them is known, and the others are not to blame.
    assert [(each.config.code, each.config.reactor) for each in yard.started[2:]] == [("c1", 0), ("c1", poison)]
    _dies(yard, 3, poison)
    assert yard.started[2].code is None
    assert alone(yard) == {"poison": 3, "neighbour": 0}
    assert any(f"reactor {poison} gets a process of its own" in line for line in yard.said)


def test_a_host_that_dies_alone_again_and_again_waits_longer_each_time(yard: Yard) -> None:
    poison = yard.deploy("poison", "c1")
    yard.keeper.tick(reaper=0)
    for place in range(4):
        _dies(yard, place, poison)
    assert len(yard.started) == 4
    yard.now = 60.0
    yard.keeper.tick(reaper=0)
    assert len(yard.started) == 5


def test_nobody_is_blamed_for_a_host_that_ended_by_itself_or_was_told_to(yard: Yard) -> None:
    actor = yard.deploy("a", "c1")
    yard.keeper.tick(reaper=0)
    _dies(yard, 0, actor, code=3)
    yard.now = 60.0
    _dies(yard, 1)
    yard.now = 120.0
    yard.keeper.tick(reaper=0)
    yard.keeper.terminate()
    _dies(yard, 2, actor, code=0)
    assert alone(yard) == {"a": 0}


def test_deaths_that_are_far_apart_or_of_other_code_take_nobody_out_of_its_host(yard: Yard) -> None:
    actor = yard.deploy("a", "c1")
    with yard.ledger.transaction() as tx:
        assert not reactors.blame(tx, actor)
        tx.change("UPDATE reactors SET died_at = died_at - :lately - 1", lately=reactors.LATELY_US)
    with yard.ledger.transaction() as tx:
        assert not reactors.blame(tx, actor)
        assert reactors.blame(tx, actor)
    yard.deploy("a", "c1")
    assert alone(yard) == {"a": 2}
    yard.deploy("a", "c2")
    assert alone(yard) == {"a": 0}


def test_whoever_is_called_is_known_after_the_death_of_the_process(tmp_path: Path) -> None:
    path = calls_path(tmp_path, "p1")
    calls = Calls(path)
    first, second = calls.of(7), calls.of(8)
    with first, first:
        second.begin()
        assert under_way(path) == [7, 8]
        assert path.stat().st_mode & 0o777 == 0o600
    assert under_way(path) == [8]
    second.end()
    assert under_way(path) == []
    calls.close()
    assert (path.exists(), under_way(path)) == (False, [])
