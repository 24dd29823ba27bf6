"""Questions about the past: as of a freshness, as of a Run, and what is no longer there."""

import msgspec
import pytest

from pondage.define.pond.definition import PondDefinition
from pondage.kernel.demand.events import Pulse
from pondage.kernel.demand.shape import PondKey
from pondage.ledger.act import questions
from pondage.ledger.act.as_of import AsOf, NotThere, as_of_run
from pondage.ledger.data.inputs import query_inputs
from pondage.ledger.upkeep import pruning
from tests.ledger.harness import SECOND, Worker, World, pond


@pytest.fixture
def thrice(world: World) -> Worker:
    """Three completed Runs of `orders` and `sales`, a minute apart, and `other`, which has only two."""
    world.deploy(pond("orders"), pond("sales", sources={"orders": True}), pond("other"))
    worker = world.worker()
    for round_ in range(3):
        world.send(Pulse(pond=PondKey("sales@1")))
        if round_:
            world.send(Pulse(pond=PondKey("other@1")))
        worker.drain()
        world.clock.time += 60 * SECOND
    return worker


def freshness(world: World, name: str) -> list[int]:
    return [at for _, at in world.runs(name)]


def snapshots(world: World, name: str) -> list[int]:
    rows = world.rows(
        """SELECT o.snapshot AS snapshot FROM run_outputs o JOIN runs r ON r.id = o.run JOIN ponds p ON p.id = r.pond
           WHERE p.name = :name ORDER BY r.id""",
        name=name,
    )
    return [int(str(row["snapshot"])) for row in rows]


def seen(world: World, sql: str, as_of: AsOf | None = None, *tables: str) -> dict[str, int]:
    asked = questions.submit(
        world.ledger, "main", sql, limit=1, as_of=as_of, tables=frozenset(tables) if tables else None
    )
    found = query_inputs(str(world.one("SELECT inputs FROM dispatches WHERE id = :id", id=asked))).views
    questions.withdraw(world.ledger, asked)
    return found


def run_id(world: World, name: str, number: int) -> int:
    found = world.one(
        "SELECT r.id FROM runs r JOIN ponds p ON p.id = r.pond WHERE p.name = :name AND r.number = :number",
        name=name,
        number=number,
    )
    return int(str(found))


def test_a_freshness_shows_the_newest_data_that_is_not_fresher(world: World, thrice: Worker) -> None:
    first, second, third = freshness(world, "sales")
    given = snapshots(world, "sales")
    for at, expected in [(first, 0), (second - 1, 0), (second, 1), (third + 60 * SECOND, 2)]:
        assert seen(world, "select * from sales", AsOf(at=at))["sales"] == given[expected]


def test_before_the_first_run_there_is_nothing_and_the_oldest_is_named(world: World, thrice: Worker) -> None:
    with pytest.raises(NotThere, match="sales has no completed Run of that time; the oldest to read is sales#1") as no:
        seen(world, "select * from sales", AsOf(at=freshness(world, "sales")[0] - 1))
    assert no.value.code == "NO_RUN_THEN"


def test_data_that_vacuum_took_is_said_to_be_gone(world: World, thrice: Worker) -> None:
    first = snapshots(world, "sales")[0]
    with world.ledger.transaction() as tx:
        tx.change("UPDATE snapshots SET tombstoned_at = 1 WHERE id = :id", id=first)
    with pytest.raises(NotThere, match="no longer has the data of that time; the oldest to read is sales#2") as gone:
        seen(world, "select * from sales", AsOf(at=freshness(world, "sales")[0]))
    assert gone.value.code == "NOT_RETAINED"


def test_a_run_shows_itself_and_exactly_what_it_read(world: World, thrice: Worker) -> None:
    second = run_id(world, "sales", 2)
    with world.ledger.reading() as tx:
        as_of = as_of_run(tx, second)
    views = seen(world, "select * from sales, orders, other", as_of)
    assert views["sales"] == snapshots(world, "sales")[1]
    assert views["orders"] == snapshots(world, "orders")[1]
    assert views["other"] == snapshots(world, "other")[0]


def test_a_run_that_did_not_complete_cannot_be_read(world: World, thrice: Worker) -> None:
    world.send(Pulse(pond=PondKey("orders@1")))
    running = run_id(world, "orders", 4)
    with world.ledger.reading() as tx, pytest.raises(NotThere, match="is running: only a completed Run"):
        as_of_run(tx, running)


def test_only_the_tables_that_are_read_must_have_a_past(world: World, thrice: Worker) -> None:
    first = AsOf(at=freshness(world, "sales")[0])
    sql = "select other from sales"
    assert set(seen(world, sql, first, "sales")) == {"sales", "sales.sales"}
    with pytest.raises(NotThere):
        seen(world, sql, first)


def bound(name: str, source: str, major: int) -> PondDefinition:
    """A Pond that reads one major of its Source."""
    made = pond(name, sources={source: True})
    return msgspec.structs.replace(made, sources=(msgspec.structs.replace(made.sources[0], major=major),))


@pytest.fixture
def majors(world: World) -> World:
    """`board` reads `by_kind@1`; `by_kind@2` is there, and has published nothing yet."""
    world.deploy(pond("by_kind"), pond("by_kind", version="2.0.0"), bound("board", "by_kind", 1))
    world.send(Pulse(pond=PondKey("board@1")))
    world.worker().drain()
    world.clock.time += 60 * SECOND
    return world


def of_major(world: World, major: int) -> int:
    """The snapshot that a major of `by_kind` has published first."""
    found = world.one(
        """SELECT min(o.snapshot) FROM run_outputs o JOIN runs r ON r.id = o.run JOIN ponds p ON p.id = r.pond
           WHERE p.name = 'by_kind' AND p.major = :major""",
        major=major,
    )
    return int(str(found))


def test_a_bare_name_is_the_newest_major_that_has_published(majors: World) -> None:
    assert seen(majors, "select * from by_kind") == {
        "by_kind": of_major(majors, 1),
        "by_kind.by_kind": of_major(majors, 1),
    }
    assert questions.major_notes(majors.ledger, "main", frozenset({"by_kind"})) == ()
    majors.send(Pulse(pond=PondKey("by_kind@2")))
    majors.worker().drain()
    assert seen(majors, "select * from by_kind")["by_kind"] == of_major(majors, 2)
    assert questions.major_notes(majors.ledger, "main", frozenset({"by_kind"})) == (
        "by_kind is by_kind@2 here; `by_kind@1` can be asked for by that name",
    )
    assert questions.major_notes(majors.ledger, "main", frozenset({"by_kind@2", "board"})) == ()


def test_a_question_names_a_major(majors: World) -> None:
    majors.send(Pulse(pond=PondKey("by_kind@2")))
    majors.worker().drain()
    for tables in (("by_kind@1", "by_kind@2"), ()):
        views = seen(majors, "select * from `by_kind@1` join `by_kind@2`.by_kind", None, *tables)
        assert views["by_kind@1"] == views["by_kind@1.by_kind"] == of_major(majors, 1)
        assert views["by_kind@2.by_kind"] == of_major(majors, 2)


def test_as_of_a_run_a_bare_name_is_the_major_that_it_read(majors: World) -> None:
    majors.send(Pulse(pond=PondKey("by_kind@2")))
    majors.worker().drain()
    board = run_id(majors, "board", 1)
    with majors.ledger.reading() as tx:
        then = as_of_run(tx, board)
    assert seen(majors, "select * from by_kind", then)["by_kind"] == of_major(majors, 1)
    majors.deploy(bound("board", "by_kind", 2), removed=("by_kind@1",))
    assert seen(majors, "select * from by_kind", then)["by_kind"] == of_major(majors, 1), "also when it is gone"
    with pytest.raises(NotThere, match=r"by_kind has no completed Run of that time"):
        seen(majors, "select * from `by_kind@2`", then, "by_kind@2")


def test_the_nearest_run_that_is_kept_is_read_and_told(world: World, thrice: Worker) -> None:
    second = freshness(world, "sales")[1]
    first, doomed, _ = snapshots(world, "sales")
    thinned = run_id(world, "sales", 2)
    with world.ledger.transaction() as tx:
        tx.change("UPDATE runs SET thinned_at = 1 WHERE id = :id", id=thinned)
        tx.change("UPDATE snapshots SET tombstoned_at = 1, swept_at = 1 WHERE id = :id", id=doomed)
    marked = questions.kept_notes(world.ledger, "main", frozenset({"sales"}), AsOf(at=second))
    assert pruning.prune(world.ledger) == 1
    assert seen(world, "select * from sales", AsOf(at=second))["sales"] == first
    gone = questions.kept_notes(world.ledger, "main", frozenset({"sales"}), AsOf(at=second))
    assert marked == gone == ("sales#2 is not kept any more: this is sales#1, the nearest before it",)
    assert questions.kept_notes(world.ledger, "main", frozenset({"sales", "orders"}), AsOf(at=second - 1)) == ()
