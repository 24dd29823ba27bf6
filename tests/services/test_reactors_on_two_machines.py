"""Two machines in network namespaces: pushes on one to a reactor that lives on the other, killed, frozen, cut off."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from pondage.ledger.act.deploy import deploy
from pondage.ledger.queue import processes
from pondage.ledger.tables import reactors
from pondage.project.archive import pack_project
from pondage.project.reader import read_declared
from tests.services.machines import Cluster, Machine, Wire, cluster
from tests.services.postgres import PostgresServer, wait_until

SETTINGS = """
[durability]
heartbeat_s = 0.5
reap_after_s = 4
child_margin_s = 1
poll_s = 0.2
drain_s = 5
"""
CODE = """
from dataclasses import dataclass
from pondage import Accumulator, Reactor

@dataclass
class Tick:
    number: int

ticks = Accumulator("ticks", Tick)
quote = Reactor("quote", sources=[ticks], strategy="sequential", durable="process")

@quote.graph(inline=True)
def note(ticks: Tick | None) -> None:
    pass
"""


class Two:
    """Machines `a` and `b` with a wire between them; only `b` runs reactors at first."""

    def __init__(self, made: Cluster) -> None:
        self.cluster = made
        self.a, self.b = made.add("a", "b")
        if self.a.network.name is None or self.b.network.name is None:
            pytest.skip("network namespaces cannot be made here")
        self.wire = Wire(self.a, self.b)
        project = made.project(CODE)
        declared = read_declared(project)
        self.code = deploy(
            made.ledger, "main", project="shop", definitions=[], removed=[], archive=pack_project(project).data,
            summary="{}", expected=[], reactors=declared.reactors,
        )  # fmt: skip
        self.start(self.b)

    def start(self, machine: Machine) -> None:
        address = self.wire.addresses[0 if machine is self.a else 1]
        machine.start("--listen", f"{address}:8650", verb="live")

    def row(self) -> reactors.ReactorRow:
        with self.cluster.ledger.reading() as tx:
            (row,) = reactors.deployed(tx)
        return row

    def lives_on(self, machine: Machine) -> bool:
        address = self.wire.addresses[0 if machine is self.a else 1]
        return f"@{address}:" in self.row().address

    def pid(self) -> int:
        with self.cluster.ledger.reading() as tx:
            return next(row.pid for row in processes.alive(tx) if row.id == self.row().owner)

    def push(self, machine: Machine, number: int, *, timeout_s: float = 30) -> dict[str, object]:
        value = f'{{"number": {number}}}'
        done = machine.run("reactor", "push", "quote", "ticks", value, "--timeout", str(timeout_s), "--json")
        assert done.stdout, done.stderr
        return msgspec.json.decode(done.stdout.splitlines()[0], type=dict[str, object])

    def seen(self, machine: Machine) -> object:
        done = machine.run("reactor", "state", "quote", "--json")
        return msgspec.json.decode(done.stdout)["sources"]["ticks"]["seen"]


@pytest.fixture
def two(tmp_path: Path, postgres: PostgresServer) -> Iterator[Two]:
    with cluster(postgres, tmp_path, SETTINGS) as made:
        found = Two(made)
        wait_until(lambda: found.lives_on(found.b))
        yield found


def test_a_push_reaches_a_reactor_on_another_machine_also_when_its_host_is_killed_or_frozen(two: Two) -> None:
    assert two.push(two.a, 1) == {"accepted": True, "seq": 1}
    why = two.a.run("why", "quote").stdout
    assert f"reached at {two.wire.addresses[1]}:865" in why
    assert two.seen(two.a) == two.seen(two.b) == 1

    first = two.pid()
    os.kill(first, signal.SIGKILL)
    assert two.push(two.a, 2)["accepted"] is True
    assert two.pid() != first

    two.start(two.a)
    two.b.freeze()
    try:
        assert two.push(two.a, 3)["accepted"] is True
        assert two.lives_on(two.a)
    finally:
        two.b.thaw()
    # And back the other way: what was frozen finds the reactor where it lives now.
    assert two.push(two.b, 4)["accepted"] is True
    assert two.seen(two.b) == 4


def test_a_machine_that_is_cut_off_from_the_other_says_where_the_reactor_is_and_comes_back(two: Two) -> None:
    assert two.push(two.a, 1)["accepted"] is True
    two.wire.cut()
    refused = two.a.run("reactor", "push", "quote", "ticks", '{"number": 2}', "--timeout", "1")
    assert refused.returncode == 1
    assert "NO_LIVE_HOST" in refused.stderr
    assert two.wire.addresses[1] in refused.stderr
    assert two.push(two.b, 2)["accepted"] is True
    two.wire.mend()
    assert two.push(two.a, 3) == {"accepted": True, "seq": 3}


def test_a_machine_that_reads_another_ledger_is_not_let_in(two: Two) -> None:
    with two.cluster.ledger.transaction() as tx:
        tx.change("UPDATE processes SET secret = 'another' WHERE role = 'live'")
    refused = two.a.run("reactor", "push", "quote", "ticks", '{"number": 1}', "--timeout", "1")
    assert "another ledger" in refused.stderr
    assert refused.returncode == 1
