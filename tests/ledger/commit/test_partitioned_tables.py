"""Tables in partitions: they show what a computation from scratch would, and to touch one partition is cheap."""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec
import pytest

from pondage.define.pond.partition import PartitionColumn, PartitionDefinition
from pondage.define.values.names import PondKey
from pondage.kernel.demand.events import Pulse
from pondage.ledger.commit import guarded
from pondage.ledger.commit.increments import Increments
from pondage.ledger.data import manifests, pages
from pondage.ledger.database.clock import FakeClock
from pondage.ledger.database.driver import Driver
from pondage.ledger.kinds.ripple import Written
from pondage.ledger.ledger import Ledger
from pondage.work.snapshot import DataFile, Increment, SnapshotContent
from tests.ledger.commit.partitioned import Partitioned
from tests.ledger.harness import SCHEMA, Worker, World, pond
from tests.ledger.meter import Meter

SEQUENCES = int(os.environ.get("PONDAGE_PARTITIONED_SEQUENCES", "40"))
CHUNK = 10


@pytest.mark.parametrize("chunk", range(max(1, SEQUENCES // CHUNK)))
def test_partitions_equal_those_computed_from_scratch(
    driver_factory: Callable[[str, FakeClock], Driver], chunk: int
) -> None:
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        story = Partitioned(lambda clock, seed=seed: driver_factory(f"partitioned{seed}", clock), seed)
        try:
            for _ in range(30):
                story.step()
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
        finally:
            story.world.ledger.close()


def files(numbers: range, *, each: int) -> tuple[DataFile, ...]:
    return tuple(
        DataFile(name=f"v{number}/part-{part}", rows=1, bytes=1_000, partition=(number,))
        for number in numbers
        for part in range(each)
    )


def commit(world: World, worker: Worker, found: tuple[DataFile, ...], *, meter: Meter | None = None) -> None:
    """Let a Run replace the partitions that these files are of."""
    world.clock.time += 1_000_000
    world.send(Pulse(pond=PondKey("raw@1")))
    held = worker.claim()
    assert held is not None
    ledger = world.ledger
    if meter is not None:
        ledger = Ledger(meter, ids=ledger.ids, durability=ledger.durability)  # type: ignore[arg-type]
    base = Increments(ledger, held.claim).base()
    increment = Increment(
        base=None if base is None else base.snapshot,
        by=("number",),
        partitions=tuple({file.partition: None for file in found if file.partition is not None}),
    )
    content = SnapshotContent(
        path=f"/w/{held.claim.token}", files=found, schema=SCHEMA, rows=len(found), bytes=1, increment=increment
    )
    assert guarded.commit(ledger, held, Written(content), process=worker.id)


def test_a_run_that_touches_one_of_ten_thousand_partitions_reads_and_writes_one_page(world: World) -> None:
    by = PartitionDefinition(by=(PartitionColumn(column="number"),))
    world.deploy(msgspec.structs.replace(pond("raw"), mode="partition", partition=by))
    worker = Worker(world)
    # Three Runs, so that the last one before the measured one is small, as it is after a load of the past.
    commit(world, worker, files(range(10_000), each=10))
    commit(world, worker, files(range(1), each=10))
    before = int(str(world.one("SELECT max(id) AS id FROM pages")))
    meter = Meter(world.ledger.driver)
    commit(world, worker, files(range(5_000, 5_001), each=10), meter=meter)
    written = world.rows("SELECT id, length(entries) AS size FROM pages WHERE id > :before", before=before)
    assert len(written) == 1
    assert int(str(written[0]["size"])) < 20_000
    assert int(str(world.one("SELECT length(pages) FROM manifests ORDER BY id DESC LIMIT 1"))) < 20_000
    asked = [statement for _, statement in meter.costs if " pages" in statement]
    assert len([each for each in asked if each.startswith("INSERT INTO pages")]) == 1
    assert len([each for each in asked if "FROM pages" in each]) == 1, "one page is read"
    assert meter.statements < 45
    with world.ledger.reading() as tx:
        newest, older = (
            manifests.newest(tx, [snapshot])[snapshot].pages
            for snapshot in tx.rows("SELECT id FROM snapshots ORDER BY id DESC LIMIT 2", int)
        )
        assert len({page.id for page in newest} - {page.id for page in older}) == 1
        assert sum(page.rows for page in newest) == 100_000
        (entry,) = pages.listed(tx, newest, only=[(5_000,)])
    assert (entry.rows, entry.member.files) == (10, tuple(range(10)))


def test_pages_stay_in_order_and_of_bounded_size_however_partitions_come_and_go(world: World) -> None:
    found: tuple[pages.PageRef, ...] = ()
    there: dict[int, pages.Entry] = {}
    for step in range(60):
        coming = {number * 37 % 1_000 for number in range(step * 11, step * 11 + (300 if step % 9 == 0 else 3))}
        going = {number for number in there if number % 7 == step % 7 and step % 4 == 0} - coming
        new = {
            number: pages.Entry(
                partition=(number,),
                member=pages.Member(step, (0,)),
                rows=1,
                bytes=1,
                small=0,
                run="",
                code="",
                made_at=0,
            )
            for number in coming
        }
        with world.ledger.transaction() as tx:
            found = pages.replaced(tx, found, [(number,) for number in going], new.values())
        there = {number: entry for number, entry in there.items() if number not in going} | new
        with world.ledger.reading() as tx:
            listed = pages.listed(tx, found)
        assert [entry.partition for entry in listed] == sorted(
            ((number,) for number in there), key=lambda each: pages.place_of(each)
        )
        assert {entry.partition[0]: entry for entry in listed} == there
        assert all(0 < page.partitions <= pages.MOST_ENTRIES for page in found)
