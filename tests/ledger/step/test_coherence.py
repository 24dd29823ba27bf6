"""A diamond is never silently a splice: pins prefer Runs that stand on the same Run of a shared ancestor."""

from __future__ import annotations

import msgspec

from pondage.define.pond.definition import Coherence, PondDefinition
from pondage.define.values.names import PondKey
from pondage.kernel.demand.events import Clear, Pulse, Tap
from pondage.ledger.act.rollback import roll_back_pond
from pondage.ledger.commit import guarded
from pondage.ledger.kinds.ripple import Same
from pondage.ledger.upkeep.replay import replay
from pondage.views.ponds.status import status
from pondage.views.ponds.why import why
from tests.ledger.harness import Worker, World, pond, state


def reading(name: str, *sources: str, coherent: Coherence = True) -> PondDefinition:
    made = pond(name, sources=dict.fromkeys(sources, True))
    return msgspec.structs.replace(made, coherent=coherent)


def uneven_diamond(world: World, *, coherent: bool) -> Worker:
    """`a` and `c` have run twice, `b` once: the newest of `b` and `c` stand on different Runs of `a`."""
    world.deploy(pond("a"), reading("b", "a"), reading("c", "a"), reading("x", "b", "c", coherent=coherent))
    worker = world.worker()
    world.send(Pulse(pond="b@1"))
    world.send(Pulse(pond="c@1"))
    worker.drain()
    world.send(Pulse(pond="c@1"))
    worker.drain()
    return worker


def pinned(world: World, name: str) -> dict[str, int]:
    row = world.rows(
        """SELECT r.pins AS pins FROM runs r JOIN ponds p ON p.id = r.pond
           WHERE p.name = :name ORDER BY r.id DESC LIMIT 1""",
        name=name,
    )
    decoded: dict[str, int] = msgspec.json.decode(str(row[0]["pins"]))
    return decoded


def ancestor_runs(world: World, name: str, ancestor: str) -> set[int]:
    """Every Run of an ancestor that the newest Run of a Pond stands on, by walking its pins."""
    pending, found = [pinned(world, name)], set()
    while pending:
        for key, run in pending.pop().items():
            if key == f"{ancestor}@1":
                found.add(run)
                continue
            pins = world.one("SELECT pins FROM runs WHERE id = :id", id=run)
            pending.append(msgspec.json.decode(str(pins)))
    return found


def test_an_older_run_that_agrees_is_preferred_to_a_newer_splice(world: World) -> None:
    worker = uneven_diamond(world, coherent=True)
    world.send(Tap(pond="x@1"))
    while (held := worker.claim()) is not None and held.claim.node != "x":
        worker.finish(held)
    assert len(ancestor_runs(world, "x", "a")) == 1
    assert world.one("SELECT max(is_spliced) FROM runs") == 0


def test_a_pond_that_does_not_ask_for_coherence_takes_the_newest_of_each(world: World) -> None:
    worker = uneven_diamond(world, coherent=False)
    world.send(Tap(pond="x@1"))
    assert len(ancestor_runs(world, "x", "a")) == 2
    newest = world.rows(
        """SELECT p.name AS name, max(r.id) AS id FROM runs r JOIN ponds p ON p.id = r.pond
           WHERE r.state = 'completed' GROUP BY 1"""
    )
    expected = {f"{row['name']}@1": row["id"] for row in newest if row["name"] in "bc"}
    assert pinned(world, "x") == expected
    worker.drain()


def test_without_an_agreeing_set_the_run_is_marked_as_spliced(world: World) -> None:
    uneven_diamond(world, coherent=True)
    with world.ledger.transaction() as tx:
        # The older Run of c has left the retained ones.
        tx.change(
            "UPDATE runs SET state = 'expired' WHERE id = (SELECT min(r.id) FROM runs r JOIN ponds p "
            "ON p.id = r.pond WHERE p.name = 'c')"
        )
    world.send(Tap(pond="x@1"))
    assert world.one("SELECT max(is_spliced) FROM runs") == 1


def test_runs_with_equal_outputs_count_as_the_same(world: World) -> None:

    world.deploy(pond("a"), reading("b", "a"), reading("c", "a"), reading("x", "b", "c"))
    worker = world.worker()
    world.send(Pulse(pond="b@1"))
    world.send(Pulse(pond="c@1"))
    worker.drain()
    world.send(Pulse(pond="c@1"))
    held = worker.claim()
    assert held is not None
    assert guarded.commit(world.ledger, held, Same(), process=worker.id)
    assert worker.claim() is None
    world.send(Tap(pond="x@1"))
    newest = world.one("SELECT max(r.id) FROM runs r JOIN ponds p ON p.id = r.pond WHERE p.name = 'c'")
    assert pinned(world, "x")["c@1"] == newest
    assert world.one("SELECT max(is_spliced) FROM runs") == 0


def test_only_ponds_between_a_fork_and_its_join_remember_the_fork(world: World) -> None:
    world.deploy(
        pond("z"), reading("a", "z"), reading("b", "a"), reading("c", "a"), reading("x", "b", "c"), reading("y", "x")
    )
    tracks = {row["name"]: row["tracks"] for row in world.rows("SELECT name, tracks FROM ponds")}
    assert tracks == {"z": "[]", "a": "[]", "b": '["a@1"]', "c": '["a@1"]', "x": '["a@1"]', "y": "[]"}


def failed_branch(world: World, *, coherent: Coherence) -> Worker:
    """What `board` reads stands apart: `clean` failed for a while, and caught up with more than `by_kind` has read."""
    world.deploy(
        pond("events"),
        reading("clean", "events"),
        reading("by_kind", "events"),
        reading("board", "clean", "by_kind", coherent=coherent),
        reading("summary", "board"),
        reading("page", "summary"),
    )
    worker = world.worker()
    world.send(Pulse(pond="page@1"))
    for _ in ("events", "clean", "by_kind"):
        held = worker.claim()
        assert held is not None
        assert worker.fail(held) if held.claim.node == "clean" else worker.finish(held)
    world.pass_time(10)
    world.send(Pulse(pond="events@1"))
    worker.drain()
    world.send(Clear(pond="clean@1"))
    world.pass_time(0)
    return worker


def spliced(world: World) -> dict[str, tuple[int, list[str]]]:
    rows = world.rows(
        """SELECT p.name AS name, r.is_spliced AS is_spliced, r.spliced_from AS above
           FROM runs r JOIN ponds p ON p.id = r.pond WHERE r.state = 'completed' ORDER BY r.id"""
    )
    return {str(row["name"]): (int(str(row["is_spliced"])), msgspec.json.decode(str(row["above"]))) for row in rows}


def test_everything_below_a_spliced_run_says_from_which_run_it_comes_until_one_agrees_again(world: World) -> None:
    worker = failed_branch(world, coherent=True)
    worker.drain()
    assert spliced(world)["board"] == (1, [])
    assert spliced(world)["summary"] == (0, ["board@1#1"])
    assert spliced(world)["page"] == (0, ["board@1#1"])
    world.pass_time(10)
    world.send(Pulse(pond="page@1"))
    worker.drain()
    assert all(each == (0, []) for each in spliced(world).values())


def test_a_run_that_shows_an_older_one_shows_its_splice_too(world: World) -> None:
    worker = failed_branch(world, coherent=True)
    worker.drain()
    world.pass_time(10)
    world.send(Pulse(pond="page@1"))
    worker.drain()
    first = world.one("SELECT min(r.id) FROM runs r JOIN ponds p ON p.id = r.pond WHERE p.name = 'summary'")
    roll_back_pond(world.ledger, "main", PondKey("summary@1"), int(str(first)))
    assert spliced(world)["summary"] == (0, ["board@1#1"])


def test_where_it_is_required_the_run_waits_and_the_branch_that_is_behind_catches_up(world: World) -> None:
    worker = failed_branch(world, coherent="required")
    held = worker.claim()
    assert held is not None
    assert held.claim.node == "clean"
    assert worker.finish(held)
    board = state(world, "board@1")
    assert (board["older"], board["number"]) == (["by_kind@1"], 0)
    with world.ledger.reading() as tx:
        told = why(tx, world.ledger, "main", "board")
        shown = status(tx, world.ledger, "main").pond("board@1")
    gate = next(each for each in told.gates if each.gate == "disagree")
    assert gate.text.startswith("It reads only Sources that agree, and by_kind stands on an older Run")
    assert gate.hint == "pondage why by_kind"
    assert shown is not None
    assert shown.next.text == "waits for by_kind to agree with its other Sources"
    assert worker.drain() == ["by_kind", "board", "summary", "page"], "nothing above them ran again"
    assert all(each == (0, []) for each in spliced(world).values())
    assert len(ancestor_runs(world, "board", "events")) == 1


def test_a_history_of_waiting_replays_to_the_same_states(world: World) -> None:
    failed_branch(world, coherent="required").drain()
    with world.ledger.reading() as tx:
        replayed = replay(tx, world.ledger, 1)
    assert replayed.is_complete
    assert replayed.differences == ()
