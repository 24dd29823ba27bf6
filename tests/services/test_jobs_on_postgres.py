"""Jobs on PostgreSQL: the very tests that SQLite passes, and scenarios of every kind."""

from pathlib import Path

import pytest

from pondage.conform.control import check_control
from pondage.conform.control_durable import LedgerControlHost
from pondage.conform.control_scenario import read_control_scenarios
from pondage.ledger.ledger import Ledger
from pondage.ledger.step import advance, job_ripples
from pondage.ledger.tables import actors
from tests.ledger.act.test_flows import *  # noqa: F403
from tests.ledger.act.test_resume import *  # noqa: F403
from tests.ledger.commit.test_component_work import *  # noqa: F403
from tests.ledger.data.test_streams import *  # noqa: F403
from tests.ledger.harness import MakeDriver, World
from tests.ledger.jobs import Jobs
from tests.ledger.queue.test_queues import (
    test_a_queue_is_bound_to_older_code_only_by_who_says_so,  # noqa: F401
    test_no_more_processes_of_a_machine_than_may_are_at_it_however_many_there_are,  # noqa: F401
    test_only_what_newer_code_could_do_is_left_over,  # noqa: F401
    test_what_waits_for_its_next_try_is_not_due_and_the_oldest_has_the_first_turn,  # noqa: F401
)
from tests.ledger.step.test_fan_out import (
    test_many_elements_unfold_in_chunks_of_a_thousand_and_each_body_is_dispatched_once,  # noqa: F401
    test_while_a_fan_out_is_open_nothing_else_steps_the_run,  # noqa: F401
)
from tests.ledger.step.test_groups import (
    test_the_failure_of_each_member_is_that_members_error_with_its_edges_and_skip_causes,  # noqa: F401
)
from tests.ledger.step.test_job_schedules import *  # noqa: F403
from tests.ledger.step.test_ripple_bodies import *  # noqa: F403
from tests.ledger.step.test_ripple_bodies import Bodies, reports

FILE = Path(__file__).parents[2] / "conformance" / "control.json"
CHOSEN = ("CF-001", "CF-035", "CF-045", "CF-058", "CF-084", "CF-090", "CF-098", "CF-101")


@pytest.fixture
def world(make_driver: MakeDriver) -> World:
    return World(make_driver)


@pytest.fixture
def run(world: World) -> Jobs:
    return Jobs(world)


@pytest.mark.parametrize("name", CHOSEN)
def test_the_durable_host_does_on_postgresql_what_the_scenario_says(name: str, make_driver: MakeDriver) -> None:
    (scenario,) = (one for one in read_control_scenarios(FILE) if one.id == name)
    assert check_control(scenario, lambda: LedgerControlHost(make_driver)).mismatches == []


def test_a_body_that_somebody_is_just_beginning_is_told_to_end_and_not_ended_beneath_him(
    world: World, make_driver: MakeDriver
) -> None:
    bodies = Bodies(world, reports())
    bodies.pulse()
    world.ledger.is_advancing = False
    assert bodies.do() == "orders"
    with world.ledger.transaction() as tx:
        (catchment,) = actors.due_actors(tx)
        advance.inline(tx, world.ledger, catchment, process=None)
    run, dispatch = (int(str(world.one(f"SELECT {column} FROM job_runs"))) for column in ("actor", "dispatch"))
    other = Ledger(make_driver(world.clock))
    with world.ledger.transaction() as tx, other.transaction() as beginning:
        assert actors.lock(beginning, run, is_waiting=True) is not None
        assert job_ripples.kill(tx, dispatch) == run
    assert bodies.job_runs() == [("RUNNING", None)]
