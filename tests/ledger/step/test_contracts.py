"""What a worker is told of the promises that its table has to keep."""

from __future__ import annotations

import msgspec

from pondage.define.pond.contract import late_columns
from pondage.define.pond.definition import PondDefinition
from pondage.define.values.names import PondKey
from pondage.kernel.demand.events import Force
from pondage.ledger.kinds.ripple import RippleTask
from pondage.work.snapshot import Batch
from tests.ledger.harness import World, pond


def growing(code: str) -> PondDefinition:
    return msgspec.structs.replace(pond("events", code=code), mode="append")


def told(world: World) -> Batch | None:
    world.send(Force(pond=PondKey("events@1")))
    world.clock.time += 1_000_000
    worker = world.worker()
    held = worker.claim()
    assert held is not None
    assert isinstance(held.task, RippleTask)
    worker.finish(held)
    return held.task.batch


def test_a_batch_may_be_late_only_when_its_code_made_the_newest_one(world: World) -> None:
    world.deploy(growing("c1"))
    assert told(world) == Batch(is_same_code=False), "the first one has nothing to be later than"
    assert told(world) == Batch(is_same_code=True)
    world.deploy(growing("c2"))
    assert told(world) == Batch(is_same_code=False), "what is missing now was taken away"
    assert told(world) == Batch(is_same_code=True)


def test_a_table_that_is_replaced_has_no_late_batches(world: World) -> None:
    world.deploy(pond("events"))
    assert [told(world), told(world)] == [None, None]


def schema(**columns: str) -> str:
    fields = [
        {"name": name, "type": type_.rstrip("!"), "nullable": not type_.endswith("!"), "metadata": {}}
        for name, type_ in columns.items()
    ]
    return msgspec.json.encode({"type": "struct", "fields": fields}).decode()


def test_a_late_batch_lacks_what_may_be_null_and_what_was_widened_since() -> None:
    table = schema(id="long", fee="double", note="string", strict="string!", kind="string", day="date")
    assert late_columns(table, schema(id="integer", KIND="string", day="string")) == {
        "id": "bigint",
        "fee": "double",
        "note": "string",
    }
