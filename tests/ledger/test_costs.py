"""What is asked again and again costs the same on a ledger of years as on a new one: rows are counted, not seconds.

Here a hundred thousand of everything; `make bench NAME=growth` does the same with a million finished executions.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pondage.engine.services.reaper import Reaper
from pondage.kernel.demand.events import Pulse
from pondage.ledger.act import compaction
from pondage.ledger.commit import guarded, polling, work
from pondage.ledger.database.clock import FakeClock
from pondage.ledger.database.driver import Driver
from pondage.ledger.kinds.ripple import Written
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions, processes, queues
from pondage.ledger.queue.queues import Offer
from pondage.ledger.step import advance
from pondage.ledger.tables import actors, history, schedules
from pondage.ledger.upkeep import leases, pruning, reap, retention
from pondage.views.ponds.status import status
from pondage.views.runs.processes import alive
from pondage.views.runs.runs import runs
from tests.ledger.growth import Size, grow, used
from tests.ledger.harness import World, content
from tests.ledger.meter import Meter

MANY = 100_000
DriverFactory = Callable[[str, FakeClock], Driver]
Asked = Callable[[Ledger], object]


class Worlds:
    """The same small pipeline four times: new, and beside many of something."""

    def __init__(self, make: DriverFactory) -> None:
        self.new = used(World(lambda clock: make("new", clock)))
        self.old = used(World(lambda clock: make("old", clock)))
        grow(self.new, Size())
        grow(self.old, Size(finished=MANY, later=MANY))
        self.wide = used(World(lambda clock: make("wide", clock)))
        grow(self.wide, Size(ponds=MANY))


@pytest.fixture(scope="module")
def worlds(driver_factory: DriverFactory) -> Worlds:
    return Worlds(driver_factory)


def reading(ask: Callable[..., object], *arguments: object) -> Asked:
    def asked(ledger: Ledger) -> object:
        with ledger.reading() as tx:
            return ask(tx, *arguments)

    return asked


def viewing(ask: Callable[..., object], *arguments: object, **named: object) -> Asked:
    def asked(ledger: Ledger) -> object:
        with ledger.reading() as tx:
            return ask(tx, ledger, *arguments, **named)

    return asked


def code(ledger: Ledger) -> str:
    with ledger.reading() as tx:
        return retention.newest_archive(tx)


POLLED: dict[str, Asked] = {
    "look for work": lambda ledger: polling.poll(ledger, Offer(code=code(ledger)), is_alone=True),
    "codes with work": reading(queues.needs),
    "due actors": reading(actors.due_actors),
    "next signal": reading(actors.next_due),
    "due schedule": reading(schedules.is_due),
    "next schedule": reading(schedules.next_due),
    "timer": lambda ledger: advance.advance_due(ledger, process=None),
    "tables to compact": compaction.begin_due,
    "outbox": reading(retention.has_outbox),
    "next outbox row": lambda ledger: _undone(ledger, lambda tx: history.next_outbox(tx)),
    "next lease": reading(leases.next_expiry),
    "leases": lambda ledger: leases.expire(ledger, process=None),
    "living processes": reading(processes.alive),
    "stale processes": lambda ledger: reap.reap_stale(ledger, process=None),
    "reaper": lambda ledger: Reaper(ledger, process=None).reap_gone(),
    "tokens of a process": reading(executions.open_tokens, 1),
    "what a process holds": reading(executions.held_by, 1),
    "newest code": reading(retention.newest_archive),
    "status": viewing(status, "main", most=3),
    "status of one Pond": viewing(status, "main", keys=["orders@1"]),
    "runs": reading(runs, "main"),
    "processes": viewing(alive),
}


class Undone(Exception):
    """Ends a transaction that was only measured."""


def _undone(ledger: Ledger, act: Callable[..., object]) -> None:
    try:
        with ledger.transaction() as tx:
            act(tx)
            raise Undone
    except Undone:
        pass


def measured(world: World, asked: Asked) -> Meter:
    meter = Meter(world.ledger.driver)
    asked(Ledger(meter, ids=world.ledger.ids, durability=world.ledger.durability))  # type: ignore[arg-type]
    return meter


def assert_equal_cost(new: Meter, old: Meter) -> None:
    assert old.scans == []
    # A deeper tree and another plan may cost a few rows more, never more with every thousand rows.
    worst = sorted(old.costs, reverse=True)[:3]
    assert old.visited <= new.visited * 2 + 2_000, worst
    assert old.statements == new.statements


@pytest.mark.parametrize("name", POLLED)
def test_what_is_polled_costs_nothing_more_after_years(worlds: Worlds, name: str) -> None:
    assert_equal_cost(measured(worlds.new, POLLED[name]), measured(worlds.old, POLLED[name]))


@pytest.mark.parametrize("name", POLLED)
def test_what_is_polled_costs_nothing_more_beside_many_ponds(worlds: Worlds, name: str) -> None:
    assert_equal_cost(measured(worlds.new, POLLED[name]), measured(worlds.wide, POLLED[name]))


def claim_and_commit(ledger: Ledger) -> None:
    """One hop of work and all that follows from it."""
    with ledger.transaction() as tx:
        process = processes.register(
            tx, public_id=ledger.ids.new("p"), machine="m", pid=1, pid_started=1, role="worker", slots=1
        )
    held = work.claim_work(
        ledger,
        process=process,
        queues=polling.queues_for(ledger, code=code(ledger)),
        token=ledger.ids.new("t"),
        is_alone=True,
    )
    assert held is not None
    assert guarded.commit(ledger, held, Written(content(held)), process=process)


@pytest.mark.parametrize("kind", ["old", "wide"])
def test_a_step_loads_only_what_it_touches(driver_factory: DriverFactory, worlds: Worlds, kind: str) -> None:
    """A catchment of a hundred thousand Ponds, or of a hundred thousand Runs: a hop reads what a small one reads."""
    fresh = used(World(lambda clock: driver_factory(f"fresh_{kind}", clock)))
    grow(fresh, Size())
    grown = worlds.old if kind == "old" else worlds.wide
    for world in (fresh, grown):
        world.send(Pulse(pond="reports@1"))
    for _ in range(3):
        assert_equal_cost(measured(fresh, claim_and_commit), measured(grown, claim_and_commit))
        for world in (fresh, grown):
            world.clock.time += 1


def test_a_vacuum_looks_at_a_batch_at_a_time(worlds: Worlds) -> None:
    meter = measured(worlds.old, lambda ledger: pruning.prune(ledger, dry_run=True))
    assert meter.scans == []
    with worlds.old.ledger.reading() as tx:
        again = Meter(worlds.old.ledger.driver)
        retention.unused(again.metered(tx), young_us=0, read=retention.being_read(again.metered(tx)))
    # What is open must be read, and half of everything is open here.
    assert [scan for scan in again.scans if "FROM dispatches WHERE outcome IS NULL" not in scan] == []
