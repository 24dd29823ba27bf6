"""An environment below another one shows what that one has published, until it has something of its own."""

from __future__ import annotations

import json

import msgspec
import pytest

from pondage.define.pond.definition import PondDefinition
from pondage.define.values.names import PondKey
from pondage.engine.attempt.followed_tables import Following
from pondage.errors import PondageError
from pondage.kernel.demand.events import Event, Force, Pulse, Rollback, Tap, Wave
from pondage.ledger.act import promotion, removal, verbs
from pondage.ledger.act.branching import deployed
from pondage.ledger.act.deploy import deploy
from pondage.ledger.act.promotion import CannotPromote
from pondage.ledger.commit import guarded
from pondage.ledger.commit.increments import Increments
from pondage.ledger.data import manifests, snapshots
from pondage.ledger.kinds.ripple import RippleTask, Written
from pondage.ledger.step import advance
from pondage.ledger.tables import environments
from pondage.ledger.upkeep.replay import replay
from tests.ledger.harness import SCHEMA, SECOND, MakeDriver, Worker, World, content, pond


def put(world: World, environment: str, *ponds: PondDefinition, removed: tuple[str, ...] = (), code: bytes = b"a"):
    """Deploy to an environment below `main`."""
    with world.ledger.reading() as tx:
        expected = deployed(tx, world.ledger, environment)
    deploy(
        world.ledger,
        environment,
        project="p",
        definitions=list(ponds),
        removed=[PondKey(key) for key in removed],
        archive=code,
        summary="{}",
        expected=expected,
        parent=None if environment == "main" else "main",
    )
    advance.advance_due(world.ledger, process=None)


def tell(world: World, environment: str, event: Event) -> list[str]:
    """Send an event, do all the work, and answer which Ripples ran."""
    verbs.send(world.ledger, environment, event)
    done: list[str] = []
    worker = world.worker()
    while ran := worker.drain():
        done += ran
        advance.advance_due(world.ledger, process=None)
    advance.advance_due(world.ledger, process=None)
    return done


def table(world: World, environment: str, name: str) -> tuple[int, str] | None:
    """The snapshot that readers of an environment see, and the environment it is from."""
    with world.ledger.reading() as tx:
        identity = environments.find(tx, environment).id
        for each in environments.readable(tx, identity):
            if each.row.key == f"{name}@1":
                run = snapshots.current_run(tx, each.row.id)
                return None if run is None else (snapshots.outputs(tx, run)[name].snapshot, each.environment)
    return None


def read_by(world: World, environment: str, name: str, source: str) -> int | None:
    """The snapshot of a Source that the current Run of a Pond has read."""
    with world.ledger.reading() as tx:
        identity = environments.find(tx, environment).id
        row = next(each.row for each in environments.readable(tx, identity) if each.row.key == f"{name}@1")
        run = snapshots.current_run(tx, row.id)
        found = tx.row("SELECT pins FROM runs WHERE id = :id", id=run)
        assert found is not None
        pinned = json.loads(str(found["pins"]))[f"{source}@1"]
        return None if pinned is None else snapshots.outputs(tx, pinned)[source].snapshot


ORDERS = pond("orders")
SALES = pond("sales", sources={"orders": True})
CHANGED = pond("sales", sources={"orders": True}, code="c2")
REPORT = pond("report", sources={"sales": True})


@pytest.fixture
def shop(make_driver) -> World:
    shop = World(make_driver)
    shop.deploy(ORDERS, SALES, REPORT)
    assert tell(shop, "main", Pulse(pond="report@1")) == ["orders", "sales", "report"]
    return shop


def test_a_changed_pond_reads_what_the_parent_published_and_runs_nothing_there(shop):
    put(shop, "dev", CHANGED)
    before = shop.rows("SELECT * FROM runs WHERE environment = 1 ORDER BY id")
    assert table(shop, "dev", "sales") == table(shop, "main", "sales"), "until it is rebuilt"
    assert tell(shop, "dev", Tap(pond="sales@1")) == ["sales"]
    assert read_by(shop, "dev", "sales", "orders") == table(shop, "main", "orders")[0]
    own = table(shop, "dev", "sales")
    assert own is not None
    assert own[1] == "dev"
    assert table(shop, "main", "sales") != own
    assert table(shop, "dev", "report") == table(shop, "main", "report")
    assert shop.rows("SELECT * FROM runs WHERE environment = 1 ORDER BY id") == before


def test_a_standing_wave_below_follows_what_the_parent_publishes(shop):
    put(shop, "dev", CHANGED)
    assert tell(shop, "dev", Wave(pond="sales@1")) == ["sales"]
    shop.pass_time(60)
    assert tell(shop, "main", Pulse(pond="orders@1")) == ["orders", "sales"], "main's orders, dev's sales"
    assert read_by(shop, "dev", "sales", "orders") == table(shop, "main", "orders")[0]


def test_asking_below_never_makes_the_parent_run(shop):
    put(shop, "dev", CHANGED)
    shop.pass_time(60)
    assert tell(shop, "dev", Pulse(pond="sales@1")) == [], "what the parent has is older than now"
    assert tell(shop, "main", Pulse(pond="orders@1")) == ["orders", "sales"]


def test_equal_code_over_equal_inputs_takes_what_the_parent_made(shop):
    put(shop, "dev", SALES)
    assert tell(shop, "dev", Tap(pond="sales@1")) == [], "nothing is computed"
    shown = table(shop, "dev", "sales")
    assert shown == (table(shop, "main", "sales")[0], "dev")


def test_a_pond_below_two_rebuilt_ones_reads_the_rebuilt(shop):
    put(shop, "dev", CHANGED, REPORT)
    assert tell(shop, "dev", Tap(pond="report@1")) == ["sales", "report"]
    assert read_by(shop, "dev", "report", "sales") == table(shop, "dev", "sales")[0]


def test_a_rollback_above_is_seen_below(shop):
    first = table(shop, "main", "orders")
    put(shop, "dev", CHANGED)
    shop.pass_time(60)
    tell(shop, "main", Force(pond="orders@1"))
    assert table(shop, "main", "orders") != first
    older = shop.one(
        "SELECT r.public_id AS id FROM runs r JOIN ponds p ON p.id = r.pond WHERE p.name = 'orders' "
        "AND r.environment = 1 ORDER BY r.id LIMIT 1"
    )
    tell(shop, "main", Rollback(pond="orders@1", run=str(older)))
    tell(shop, "dev", Force(pond="sales@1"))
    assert read_by(shop, "dev", "sales", "orders") == first[0]


def test_promote_shows_the_outputs_above_and_computes_nothing(shop):
    put(shop, "dev", CHANGED)
    tell(shop, "dev", Tap(pond="sales@1"))
    with pytest.raises(CannotPromote) as refused:
        promotion.promote(shop.ledger, "dev", "main", [PondKey("sales@1")])
    assert refused.value.code == "OTHER_CODE"
    shop.deploy(ORDERS, CHANGED, REPORT)
    (promoted,) = promotion.promote(shop.ledger, "dev", "main", [PondKey("sales@1")])
    assert promoted.is_shown
    assert table(shop, "main", "sales") == (table(shop, "dev", "sales")[0], "main")
    assert shop.worker().drain() == []
    assert shop.one("SELECT note FROM audit WHERE verb = 'promote'") == f"dev {promoted.run}"
    assert tell(shop, "main", Force(pond="report@1")) == ["report"]
    assert read_by(shop, "main", "report", "sales") == table(shop, "dev", "sales")[0]


def test_a_first_run_below_is_held_to_the_contract_of_the_parent(shop):
    put(shop, "dev", CHANGED, pond("fresh", sources={"sales": True}))
    verbs.send(shop.ledger, "dev", Tap(pond="fresh@1"))
    worker, seen = shop.worker(), {}
    while (held := worker.claim()) is not None:
        seen[held.claim.node] = held.task.contract
        worker.finish(held)
    assert seen == {"sales": SCHEMA, "fresh": None}, "what is made below is meant to go up"


def test_a_pond_that_never_ran_above_is_promoted_with_its_freshness(shop):
    fresh = pond("fresh", sources={"sales": True})
    put(shop, "dev", fresh)
    assert tell(shop, "dev", Tap(pond="fresh@1")) == ["fresh"]
    shop.deploy(ORDERS, SALES, REPORT, fresh)
    promotion.promote(shop.ledger, "dev", "main", [PondKey("fresh@1")])
    assert table(shop, "main", "fresh") == (table(shop, "dev", "fresh")[0], "main")
    shop.pass_time(60)
    assert tell(shop, "main", Pulse(pond="fresh@1")) == ["orders", "sales", "fresh"], "and it goes on from there"


def test_histories_of_both_environments_replay(shop):
    put(shop, "dev", CHANGED)
    tell(shop, "dev", Wave(pond="sales@1"))
    shop.pass_time(60)
    tell(shop, "main", Pulse(pond="report@1"))
    shop.deploy(ORDERS, CHANGED, REPORT)
    promotion.promote(shop.ledger, "dev", "main", [PondKey("sales@1")])
    with shop.ledger.reading() as tx:
        for each in environments.rows(tx):
            found = replay(tx, shop.ledger, each.id)
            assert found.is_complete
            assert found.differences == ()


def test_removing_takes_what_only_it_holds_and_leaves_what_was_promoted(shop):
    put(shop, "dev", CHANGED, REPORT)
    tell(shop, "dev", Tap(pond="report@1"))
    shop.deploy(ORDERS, CHANGED, REPORT)
    promotion.promote(shop.ledger, "dev", "main", [PondKey("sales@1")])
    promoted, own = table(shop, "dev", "sales"), table(shop, "dev", "report")
    removed = removal.remove(shop.ledger, "dev")
    assert removed.ponds == ("orders@1", "report@1", "sales@1")
    assert (removed.snapshots, removed.kept) == (1, 1)
    marked = [row["id"] for row in shop.rows("SELECT id FROM snapshots WHERE tombstoned_at IS NOT NULL")]
    assert marked == [own[0]]
    assert table(shop, "main", "sales") == (promoted[0], "main")
    with shop.ledger.reading() as tx:
        assert [each.name for each in environments.rows(tx)] == ["main"]


def test_a_removed_name_is_free_and_begins_anew(shop):
    put(shop, "dev", CHANGED)
    tell(shop, "dev", Tap(pond="sales@1"))
    removal.remove(shop.ledger, "dev")
    put(shop, "dev", CHANGED)
    assert table(shop, "dev", "sales") == table(shop, "main", "sales")
    assert tell(shop, "dev", Tap(pond="sales@1")) == ["sales"]


@pytest.mark.parametrize(
    ("name", "code"), [("main", "CANNOT_REMOVE"), ("dev", "HAS_CHILDREN"), ("nowhere", "NO_ENVIRONMENT")]
)
def test_an_environment_that_is_needed_is_not_removed(shop, name, code):
    put(shop, "dev", CHANGED)
    with shop.ledger.transaction() as tx:
        environments.ensure(tx, "feature", "dev")
    with pytest.raises(PondageError) as refused:
        removal.remove(shop.ledger, name)
    assert refused.value.code == code


def test_work_that_runs_in_a_removed_environment_is_fenced(shop):
    put(shop, "dev", CHANGED)
    verbs.send(shop.ledger, "dev", Tap(pond="sales@1"))
    worker = shop.worker()
    held = worker.claim()
    removal.remove(shop.ledger, "dev")
    assert not worker.finish(held)


def test_an_environment_below_two_others_reads_the_nearest(shop):
    put(shop, "dev", CHANGED)
    tell(shop, "dev", Tap(pond="sales@1"))
    with shop.ledger.reading() as tx:
        expected = deployed(tx, shop.ledger, "feature")
    deploy(
        shop.ledger, "feature", project="p", definitions=[REPORT], removed=[], archive=b"a", summary="{}",
        expected=expected, parent="dev",
    )  # fmt: skip
    assert tell(shop, "feature", Tap(pond="report@1")) == ["report"]
    assert read_by(shop, "feature", "report", "sales") == table(shop, "dev", "sales")[0]
    assert table(shop, "feature", "orders") == table(shop, "main", "orders")


def test_an_environment_stays_below_the_one_it_was_made_below(shop):
    put(shop, "dev", CHANGED)
    put(shop, "other", CHANGED)
    with pytest.raises(PondageError) as refused, shop.ledger.transaction() as tx:
        environments.ensure(tx, "dev", "other")
    assert refused.value.code == "OTHER_PARENT"


def commit_raw(world: World, worker: Worker) -> bool | None:
    """Commit the next batch of `raw`, and answer whether its Ripple was told to begin anew; None when none waits."""
    held = worker.claim()
    if held is None:
        return None
    task = held.task
    assert isinstance(task, RippleTask)
    increments = Increments(world.ledger, held.claim)
    following = Following(task, increments, whole=lambda _: None, part=lambda *_: None)  # type: ignore[arg-type,return-value]
    is_full = following.is_full
    made = msgspec.structs.replace(content(held, 10), increment=following.increment())
    assert guarded.commit(world.ledger, held, Written(made), process=worker.id)
    return is_full


def rows_of(world: World, environment: str) -> int:
    found = table(world, environment, "raw")
    assert found is not None
    with world.ledger.reading() as tx:
        return manifests.newest(tx, [found[0]])[found[0]].rows


@pytest.mark.parametrize("event", [Pulse(pond=PondKey("raw@1")), Force(pond=PondKey("raw@1"))])
def test_a_table_that_grows_goes_on_from_above_in_a_new_environment_also_when_it_is_forced(
    make_driver: MakeDriver, event: Event
) -> None:
    world = World(make_driver)
    growing = msgspec.structs.replace(pond("raw"), mode="append")
    put(world, "main", growing)
    worker = world.worker()
    verbs.send(world.ledger, "main", Pulse(pond=PondKey("raw@1")))
    assert commit_raw(world, worker) is True
    put(world, "dev", msgspec.structs.replace(pond("raw", code="c2"), mode="append"), code=b"b")
    world.clock.time += SECOND
    verbs.send(world.ledger, "dev", event)
    assert commit_raw(world, worker) is False, "it was told to begin anew"
    assert (rows_of(world, "main"), rows_of(world, "dev")) == (10, 20)
    world.clock.time += SECOND
    verbs.send(world.ledger, "dev", Force(pond=PondKey("raw@1"), full=True))
    assert commit_raw(world, worker) is True
    assert (rows_of(world, "main"), rows_of(world, "dev")) == (10, 10)
