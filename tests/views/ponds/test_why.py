import msgspec
import pytest

from pondage.define.pond.definition import ScheduleDefinition, Triggers
from pondage.errors import NotFound
from pondage.kernel.demand.events import Clear, Kill, Pulse
from pondage.kernel.demand.shape import PondKey
from pondage.ledger.act.branching import deployed
from pondage.ledger.act.deploy import deploy
from pondage.ledger.act.rollback import roll_back_pond
from pondage.ledger.commit import guarded
from pondage.ledger.kinds.ripple import Same
from pondage.views.ponds.gates import gate_view
from pondage.views.ponds.why import WhyView, why
from tests.ledger.harness import SECOND, World, pond


def ask(world: World, name: str) -> WhyView:
    with world.ledger.reading() as tx:
        return why(tx, world.ledger, "main", name)


def gates(world: World, name: str) -> list[str]:
    return [gate.gate for gate in ask(world, name).gates]


def test_an_idle_pond_says_that_nobody_asks_and_what_to_type(world: World) -> None:
    (gate,) = ask(world, "reports").gates
    assert gate.gate == "no demand"
    assert gate.hint == "pondage pulse reports"
    assert gate.text.endswith(".")


def test_a_waiting_pond_names_the_source_it_waits_for(world: World) -> None:
    world.worker()
    world.send(Pulse(pond=PondKey("reports@1")))
    (gate,) = ask(world, "reports").gates
    assert gate.gate == "source"
    assert "waits for sales, which has never published" in gate.text
    assert gate.hint == "pondage why sales"


def test_work_that_nobody_claims_shows_its_place_in_the_queue(world: World) -> None:
    world.send(Pulse(pond=PondKey("reports@1")))
    assert gates(world, "orders") == ["running", "no process", "queue"]
    world.worker()
    assert gates(world, "orders") == ["running", "queue", "no worker"]
    queue = ask(world, "orders").gates[1]
    assert queue.fields["position"] == 1
    assert "It is next." in queue.text


def test_work_behind_other_work_of_its_queue_knows_how_much_is_ahead(world: World) -> None:
    world.send(Pulse(pond=PondKey("orders@1")))
    world.clock.time += SECOND
    world.send(Pulse(pond=PondKey("rates@1")))
    place = next(gate for gate in ask(world, "rates").gates if gate.gate == "queue")
    assert place.fields["position"] == 2
    assert "1 piece of work ahead" in place.text


def test_a_failed_pond_explains_itself_and_the_pond_below_names_it(world: World) -> None:
    worker = world.worker()
    world.send(Pulse(pond=PondKey("reports@1")))
    held = worker.claim()
    assert held is not None
    worker.fail(held)
    assert gates(world, "orders") == ["failed", "held demand"]
    failed = ask(world, "orders").gates[0]
    assert failed.fields["error"], "the reason is in the answer, and not only in a log"
    assert f"It said: {str(failed.fields['error']).rstrip('.')}" in failed.text
    assert ask(world, "orders").gates[1].hint == "pondage clear orders"
    blocked = ask(world, "reports").gates[0]
    assert blocked.gate == "blocked"
    assert blocked.fields["by"] == ["orders@1"]
    assert blocked.hint == "pondage why orders"


def test_a_pond_that_failed_in_its_first_run_has_no_data_that_would_stay(world: World) -> None:
    worker = world.worker()
    for is_first in (True, False):
        world.send(Pulse(pond=PondKey("orders@1")))
        held = worker.claim()
        assert held is not None
        worker.fail(held)
        assert ("The last good data stays published." in ask(world, "orders").gates[0].text) is not is_first
        world.send(Clear(pond=PondKey("orders@1")))
        world.send(Pulse(pond=PondKey("orders@1")))
        worker.drain()


def test_nothing_that_would_be_refused_is_proposed_for_a_blocked_pond(world: World) -> None:
    world.send(Kill(pond=PondKey("orders@1")))
    assert gates(world, "reports") == ["blocked", "no demand"]
    assert [gate.hint for gate in ask(world, "reports").gates] == ["pondage why orders", None]


def test_a_killed_pond_shows_only_that(world: World) -> None:
    world.send(Kill(pond=PondKey("sales@1")))
    assert gates(world, "sales") == ["killed"]


def test_a_schedule_says_when_it_comes(world: World) -> None:
    triggers = Triggers(schedules=(ScheduleDefinition(cron="0 6 * * *"),))
    world.deploy(pond("solo", triggers=triggers), project="other")
    last = ask(world, "solo").gates[-1]
    assert (last.gate, last.fields["next"]) == ("schedule", 6 * 3600 * SECOND)
    assert "sends a Pulse in 5 h" in last.text


def test_a_halted_catchment_is_a_gate(world: World) -> None:
    with world.ledger.transaction() as tx:
        tx.change("UPDATE actors SET halted = 'it broke'")
    assert ask(world, "orders").gates[-1].gate == "halted"


def test_a_run_that_used_everything_again_is_unchanged_since_its_data_was_made(world: World) -> None:
    worker = world.worker()
    world.send(Pulse(pond=PondKey("reports@1")))
    worker.drain()
    assert "unchanged" not in gates(world, "reports")
    world.clock.time += 10 * SECOND
    world.send(Pulse(pond=PondKey("reports@1")))

    held = worker.claim()
    assert held is not None
    assert guarded.commit(world.ledger, held, Same(), process=worker.id)
    worker.drain()
    assert gates(world, "sales") == ["no demand", "unchanged"]


def test_an_unknown_pond_gets_the_nearest_name(world: World) -> None:
    with pytest.raises(NotFound, match="did you mean 'reports'") as caught:
        ask(world, "reprots")
    assert caught.value.code == "NO_POND"


def test_another_major_is_not_found_but_the_one_that_is_there_is_named(world: World) -> None:
    with pytest.raises(NotFound, match="there is reports@1"):
        ask(world, "reports@2")


@pytest.mark.parametrize(
    ("gate", "fields", "words"),
    [
        ("running", {"ripples": [["clean", 5]], "runs": [5]}, "1 Run has started and is at clean."),
        ("failed", {"at": 0, "failures": 2, "retries_left": 1}, "after 2 failed Runs"),
        ("tide", {"due": 70 * SECOND}, "in 10 s"),
        ("source", {"source": "any", "has": -1, "needs": 0}, "optional Sources"),
        ("source", {"source": "a@1", "has": 50 * SECOND, "needs": 50 * SECOND + 1}, "newer data is needed"),
        ("window", {"opens": 120 * SECOND}, "opens in 1 min"),
        ("window", {"opens": None}, "unknown time"),
        ("ripple busy", {"ripples": ["clean"]}, "clean still runs"),
        ("backfill", {"ripples": ["clean"], "waiting": 2, "is_first": True}, "at clean, and 2 chunks wait behind it"),
        (
            "backfill",
            {"ripples": [], "waiting": 1, "is_first": True},
            "1 chunk of a backfill waits and goes before any",
        ),
        ("backfill", {"ripples": [], "waiting": 1}, "1 chunk of a backfill waits until no other Run is active"),
        ("deploying", {"definition": "7"}, "A new definition"),
        ("not deployed", {"source": "fx@1"}, "fx@1 is not deployed"),
        ("pool", {"name": "gpu", "size": 2}, "all 2 slots"),
        ("no worker", {"code": "c1", "labels": ["gpu"]}, "No worker with label gpu runs its code"),
        ("no worker", {"code": "c1", "labels": []}, "a supervisor starts one"),
        ("spliced", {"run": 7}, "Run #7 is spliced"),
        ("rolled back", {"run": 7, "to": 5}, "It shows Run #5 again"),
        ("unchanged", {"since": 50 * SECOND}, "Nothing changed for 10 s"),
        ("schedule", {"cron": "0 6 * * *", "next": 70 * SECOND}, "sends a Pulse in 10 s"),
        ("halted", {"reason": "it broke"}, "Nothing is lost"),
        ("no process", {}, "No process of Pondage runs"),
        ("queue", {"ripple": "clean", "position": 1, "available_at": 70 * SECOND}, "clean starts in 10 s"),
        (
            "queue",
            {"ripple": "clean", "position": 1, "available_at": 70 * SECOND, "reason": "retry"},
            "clean is tried again in 10 s",
        ),
        ("tide", {"due": 50 * SECOND}, "Its Tide asked for new data 10 s ago"),
        ("schedule", {"cron": "* * * * *", "next": 50 * SECOND}, "was due 10 s ago; a process that runs sends"),
        ("something new", {}, "something new"),
    ],
)
def test_every_gate_is_a_sentence(gate: str, fields: dict[str, object], words: str) -> None:
    assert words in gate_view("sales", gate, fields, now=60 * SECOND, called=str).text


def test_work_that_needs_a_label_waits_for_a_worker_with_it(world: World) -> None:
    world.deploy(pond("heavy", labels=("gpu",)), project="other")
    world.worker()
    world.send(Pulse(pond=PondKey("heavy@1")))
    gate = next(gate for gate in ask(world, "heavy").gates if gate.gate == "no worker")
    assert gate.fields["labels"] == ["gpu"]
    assert gate.hint == "[worker] labels = ['gpu'] in pondage.toml"


def test_a_full_pool_is_a_gate(world: World) -> None:
    heavy = msgspec.structs.replace(pond("heavy"), pool="few")
    with world.ledger.reading() as tx:
        expected = deployed(tx, world.ledger, "main")
    deploy(
        world.ledger,
        "main",
        project="other",
        definitions=[heavy, msgspec.structs.replace(heavy, name="more", ripples=pond("more").ripples)],
        removed=[],
        archive=b"a",
        summary="{}",
        expected=expected,
        pool_sizes={"few": 1},
    )
    worker = world.worker()
    world.send(Pulse(pond=PondKey("heavy@1")))
    assert worker.claim() is not None
    world.send(Pulse(pond=PondKey("more@1")))
    gate = next(gate for gate in ask(world, "more").gates if gate.gate == "pool")
    assert gate.fields == {"name": "few", "size": 1}


def test_a_deploy_over_a_run_is_a_gate_until_the_run_ends(world: World) -> None:
    worker = world.worker()
    world.send(Pulse(pond=PondKey("orders@1")))
    held = worker.claim()
    assert held is not None
    world.deploy(pond("orders", code="c2"))
    assert "deploying" in gates(world, "orders")
    worker.finish(held)
    assert "deploying" not in gates(world, "orders")


def test_a_source_that_is_not_deployed_is_a_gate(world: World) -> None:
    world.deploy(pond("lonely", sources={"nobody": True}), project="other")
    assert gates(world, "lonely") == ["blocked", "no demand", "not deployed"]
    hints = [gate.hint for gate in ask(world, "lonely").gates]
    assert "pondage why nobody" not in hints, "it would only say that there is no such Pond"


def test_a_spliced_run_and_a_rollback_are_told(world: World) -> None:
    worker = world.worker()
    for _ in range(2):
        world.send(Pulse(pond=PondKey("orders@1")))
        worker.drain()
        world.clock.time += 10 * SECOND
    first = int(str(world.one("SELECT min(id) FROM runs")))
    roll_back_pond(world.ledger, "main", PondKey("orders@1"), first)
    with world.ledger.transaction() as tx:
        tx.change("UPDATE runs SET is_spliced = 1")
    spliced, rolled = ask(world, "orders").gates[-2:]
    assert (spliced.gate, spliced.fields) == ("spliced", {"run": 3})
    assert (rolled.gate, rolled.fields) == ("rolled back", {"run": 3, "to": 1})
    assert rolled.hint == "pondage show orders#1"
