"""Going back to an older Run of a Pond, and to an older deployment of a project."""

import pytest

from pondage.kernel.demand.events import Pulse
from pondage.kernel.demand.shape import PondKey
from pondage.ledger.act.branching import deployed
from pondage.ledger.act.deploy import deploy
from pondage.ledger.act.rollback import CannotRollBack, newest_run_of, previous_deployment, roll_back_pond
from pondage.ledger.step import runs
from pondage.ledger.tables import actors
from tests.ledger.harness import SECOND, Worker, World, pond, state

SALES = PondKey("sales@1")


@pytest.fixture
def twice(world: World) -> Worker:
    """Two completed Runs of everything, and the worker that made them."""
    world.deploy(
        pond("orders"),
        pond("sales", sources={"orders": True}, ripples={"clean": [], "sales": ["clean"]}),
        pond("reports", sources={"sales": True}),
    )
    worker = world.worker()
    for _ in range(2):
        world.send(Pulse(pond=PondKey("reports@1")))
        worker.drain()
        world.clock.time += 10 * SECOND
    return worker


def ids(world: World, name: str) -> list[tuple[int, str]]:
    rows = world.rows(
        """SELECT r.id AS id, r.public_id AS public_id FROM runs r JOIN ponds p ON p.id = r.pond
           WHERE p.name = :name ORDER BY r.id""",
        name=name,
    )
    return [(int(str(row["id"])), str(row["public_id"])) for row in rows]


def shown(world: World, run: int) -> dict[str, int]:
    rows = world.rows("SELECT node, snapshot FROM run_outputs WHERE run = :run ORDER BY id", run=run)
    return {str(row["node"]): int(str(row["snapshot"])) for row in rows}


def test_an_older_run_becomes_the_current_one_and_nothing_is_executed(world: World, twice: Worker) -> None:
    (first, first_id), (second, _) = ids(world, "sales")
    before = state(world, SALES)["end_f"]
    assert roll_back_pond(world.ledger, "main", SALES, first) == first_id
    (third, _) = ids(world, "sales")[-1]
    assert third > second
    assert shown(world, third) == shown(world, first) != shown(world, second)
    assert world.one("SELECT rollback_of FROM runs WHERE id = :id", id=third) == first
    assert state(world, SALES)["end_f"] == before
    assert twice.claim() is None, "neither it nor a Sink runs because of it"


def test_a_sink_reads_it_with_its_next_run_and_the_pond_itself_goes_on(world: World, twice: Worker) -> None:
    first, _ = ids(world, "sales")[0]
    roll_back_pond(world.ledger, "main", SALES, first)
    third, _ = ids(world, "sales")[-1]
    world.send(Pulse(pond=PondKey("reports@1")))
    assert twice.drain() == ["orders", "clean", "sales", "reports"]
    assert latest_pins(world, "reports")[SALES] == ids(world, "sales")[-1][0] > third
    assert latest_pins(world, "sales")["orders@1"] == ids(world, "orders")[-1][0]


def latest_pins(world: World, name: str) -> dict[str, int | None]:
    pond_id = int(str(world.one("SELECT id FROM ponds WHERE name = :name", name=name)))
    with world.ledger.reading() as tx:
        return runs.latest_pins(tx, pond_id)


def test_a_rollback_keeps_what_the_older_run_stood_on(world: World, twice: Worker) -> None:
    first, _ = ids(world, "sales")[0]
    roll_back_pond(world.ledger, "main", SALES, first)
    third, _ = ids(world, "sales")[-1]
    pins = "SELECT pins FROM runs WHERE id = :id"
    assert world.one(pins, id=third) == world.one(pins, id=first)


def test_a_rollback_waits_for_the_run_that_is_active(world: World, twice: Worker) -> None:
    first, _ = ids(world, "orders")[0]
    world.send(Pulse(pond=PondKey("orders@1")))
    held = twice.claim()
    assert held is not None
    roll_back_pond(world.ledger, "main", PondKey("orders@1"), first)
    assert len(ids(world, "orders")) == 3
    twice.finish(held)
    fourth, _ = ids(world, "orders")[-1]
    assert shown(world, fourth) == shown(world, first)


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ("UPDATE snapshots SET tombstoned_at = 1", "NOT_RETAINED", "no longer retained"),
        ("UPDATE runs SET state = 'failed'", "CANNOT_ROLL_BACK", "only a completed Run"),
        ("UPDATE runs SET pond = 1", "CANNOT_ROLL_BACK", "is not one of sales@1"),
    ],
)
def test_what_cannot_be_shown_is_refused(world: World, twice: Worker, change: str, code: str, words: str) -> None:
    first, _ = ids(world, "sales")[0]
    with world.ledger.transaction() as tx:
        if change.startswith("UPDATE runs"):
            tx.change(f"{change}, number = 99 WHERE id = :id", id=first)
        else:
            tx.change(change)
    with pytest.raises(CannotRollBack, match=words) as refused:
        roll_back_pond(world.ledger, "main", SALES, first)
    assert refused.value.code == code
    assert refused.value.hint


def test_the_current_run_is_refused(world: World, twice: Worker) -> None:
    with pytest.raises(CannotRollBack, match="is the current Run already"):
        roll_back_pond(world.ledger, "main", SALES, ids(world, "sales")[-1][0])


def test_a_run_without_a_ripple_that_exists_now_is_refused(world: World, twice: Worker) -> None:
    world.deploy(pond("sales", sources={"orders": True}, ripples={"clean": [], "sales": ["clean"], "more": ["clean"]}))
    with pytest.raises(CannotRollBack, match="no result of more, which was added since"):
        roll_back_pond(world.ledger, "main", SALES, ids(world, "sales")[0][0])


def before(world: World) -> tuple[bytes, list[str], int]:
    with world.ledger.reading() as tx:
        found = previous_deployment(tx, world.ledger, "main", "shop")
    return found.archive, [each.version for each in found.definitions], found.id


def again(world: World, archive: bytes, version: str, restored: int) -> None:
    with world.ledger.reading() as tx:
        expected = deployed(tx, world.ledger, "main")
    deploy(
        world.ledger,
        "main",
        project="shop",
        definitions=[pond("solo", version=version)],
        removed=[],
        archive=archive,
        summary="{}",
        expected=expected,
        restored=restored,
    )


def test_a_project_goes_back_step_by_step_and_never_forward_again(world: World) -> None:
    world.deploy(pond("other"))
    with pytest.raises(CannotRollBack, match="never deployed"):
        before(world)
    for minor in range(3):
        world.deploy(pond("solo", version=f"1.{minor}.0"), project="shop", archive=f"v{minor}".encode())
    archive, versions, identity = before(world)
    assert (archive, versions) == (b"v1", ["1.1.0"])
    again(world, archive, "1.1.0", identity)
    archive, versions, identity = before(world)
    assert (archive, versions) == (b"v0", ["1.0.0"])
    again(world, archive, "1.0.0", identity)
    with pytest.raises(CannotRollBack, match="no older deployment"):
        before(world)
    assert world.one("SELECT count(*) FROM audit WHERE verb = 'rollback'") == 2


def test_after_a_rollback_and_a_new_deploy_the_one_before_is_what_was_brought_back(world: World) -> None:
    for minor in range(2):
        world.deploy(pond("solo", version=f"1.{minor}.0"), project="shop", archive=f"v{minor}".encode())
    _, _, identity = before(world)
    again(world, b"v0", "1.0.0", identity)
    world.deploy(pond("solo", version="1.2.0"), project="shop", archive=b"v2")
    archive, _, again_id = before(world)
    assert (archive, again_id) == (b"v0", identity)


def test_the_newest_run_of_a_definition_is_what_its_code_made(world: World, twice: Worker) -> None:
    with world.ledger.reading() as tx:
        row = actors.pond(tx, 1, "sales@1")
        assert row is not None
        assert newest_run_of(tx, row, row.definition) == 2
        assert newest_run_of(tx, row, row.definition + 100) is None
