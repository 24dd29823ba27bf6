"""Three machines, one PostgreSQL, one warehouse: nothing lost, nothing doubled, whoever restarts or is cut off."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import parquet

from pondage.kernel.demand.events import Force, Pulse
from pondage.ledger.act import verbs
from tests.chaos.invariants import violations
from tests.engine.projects import deploy_project
from tests.services.machines import PATIENCE_S, Cluster, Machine, cluster
from tests.services.postgres import PostgresServer, wait_until

# Silence is judged late here: whoever is found to be dead was found in another way.
PATIENT = """
[worker]
workers = 2
slots = 2
[durability]
heartbeat_s = 1
reap_after_s = 600
poll_s = 0.2
drain_s = 20
"""
NERVOUS = """
[worker]
workers = 2
slots = 2
[durability]
heartbeat_s = 0.5
reap_after_s = 10
child_margin_s = 4
poll_s = 0.2
drain_s = 20
"""

CHAINS = 4
PONDS = "import time\nfrom pondage import pond\n" + "".join(
    f"""
@pond
def inlet_{number}(spark) -> object:
    return [1, 2, 3]

@pond
def middle_{number}(inlet_{number}: object) -> object:
    time.sleep(0.2)  # so that a restart finds something running
    return [value * 2 for value in inlet_{number}]

@pond
def outlet_{number}(middle_{number}: object) -> object:
    return [sum(middle_{number})]
"""
    for number in range(CHAINS)
)

SLOW = """
import time
from pathlib import Path
from pondage import pond

@pond
def report(spark) -> object:
    Path("{folder}/entered").touch()
    while not Path("{folder}/open").exists():
        time.sleep(0.05)
    return ["{version}"]
"""


def send_round(made: Cluster, event: type[Pulse] | type[Force] = Pulse) -> None:
    for number in range(CHAINS):
        verbs.send(made.ledger, "main", event(pond=f"outlet_{number}@1"))


def is_quiet(made: Cluster) -> bool:
    return (
        made.count("SELECT 1 FROM runs WHERE ended_at IS NULL") == 0
        and made.count("SELECT 1 FROM signals") == 0
        and made.count("SELECT 1 FROM outbox WHERE done_at IS NULL") == 0
    )


def published(made: Cluster, pond: str) -> object:
    """What an outside reader sees."""
    current = made.warehouse / "tables" / "main" / pond / "v1" / pond / "current"
    return parquet.read_table(current)["n"].to_pylist()


def outcomes(made: Cluster) -> list[object]:
    return [row["outcome"] for row in made.rows("SELECT outcome FROM executions ORDER BY id")]


def workers_of(made: Cluster) -> set[object]:
    return {row["process"] for row in made.rows("SELECT DISTINCT process FROM executions WHERE outcome = 'ok'")}


def test_a_rolling_restart_under_load_counts_no_crash_and_loses_nothing(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    with cluster(postgres, tmp_path, PATIENT) as made:
        deploy_project(made.project(PONDS))
        machines = made.add("north", "south", "west")
        for machine in machines:
            machine.start()
        send_round(made)
        wait_until(lambda: made.count("SELECT 1 FROM executions WHERE outcome = 'ok'") >= 3, PATIENCE_S)
        for machine in machines:
            send_round(made)
            assert machine.restart() == 0
            send_round(made)
        wait_until(lambda: is_quiet(made), PATIENCE_S)
        assert "crashed" not in outcomes(made)
        assert set(outcomes(made)) <= {"ok", "released"}
        assert made.count("SELECT 1 FROM dispatches WHERE crashes > 0") == 0
        assert violations(made.ledger, made.warehouse) == []
        for number in range(CHAINS):
            assert published(made, f"outlet_{number}") == [12]
        for machine in machines:
            machine.ask_to_end()
        assert [machine.wait_ended() for machine in machines] == [0, 0, 0]
        left = made.rows("SELECT public_id, role, pid, state, heartbeat_at FROM processes WHERE dead_at IS NULL")
        assert left == [], "a machine that has ended has said good-bye for all its processes"


def test_a_run_finishes_on_the_code_it_started_with_though_that_was_removed(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    settings = PATIENT.replace("drain_s = 20", "drain_s = 0.5")
    with cluster(postgres, tmp_path, settings) as made:
        deploy_project(made.project(SLOW.format(folder=tmp_path, version="old")))
        north, south = made.add("north", "south")
        north.start()
        verbs.send(made.ledger, "main", Pulse(pond="report@1"))
        wait_until(lambda: (tmp_path / "entered").exists(), PATIENCE_S)
        deploy_project(made.project(SLOW.format(folder=tmp_path, version="new")))
        (tmp_path / "entered").unlink()
        south.start()
        north.ask_to_end()
        assert north.wait_ended() == 0
        wait_until(lambda: (tmp_path / "entered").exists(), PATIENCE_S)
        (tmp_path / "open").touch()
        wait_until(lambda: is_quiet(made), PATIENCE_S)
        assert outcomes(made) == ["released", "ok"]
        assert published(made, "report") == ["old"]
        verbs.send(made.ledger, "main", Force(pond="report@1"))
        wait_until(lambda: is_quiet(made) and len(outcomes(made)) == 3, PATIENCE_S)
        assert published(made, "report") == ["new"]
        assert violations(made.ledger, made.warehouse) == []
        codes = made.rows("SELECT DISTINCT code FROM processes WHERE role = 'worker'")
        assert len(codes) == 2, "each code had its own process"


def living(made: Cluster) -> set[object]:
    return {row["id"] for row in made.rows("SELECT id FROM processes WHERE dead_at IS NULL")}


def test_a_machine_without_its_ledger_stops_and_its_work_is_done_elsewhere(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    with cluster(postgres, tmp_path, NERVOUS) as made:
        deploy_project(made.project(SLOW.format(folder=tmp_path, version="once")))
        north, south = made.add("north", "south")
        north.start()
        verbs.send(made.ledger, "main", Pulse(pond="report@1"))
        wait_until(lambda: (tmp_path / "entered").exists(), PATIENCE_S)
        of_north = living(made)
        south.start()
        wait_until(lambda: made.count("SELECT 1 FROM processes WHERE role = 'supervisor'") == 2, PATIENCE_S)
        # The server restarts its grace with the first connection that it saw; here it has been up for long.
        north.proxy.cut()
        wait_until(lambda: outcomes(made)[0] == "crashed", PATIENCE_S)
        (tmp_path / "open").touch()
        wait_until(lambda: is_quiet(made), PATIENCE_S)
        assert outcomes(made) == ["crashed", "ok"]
        wait_until(lambda: "others may do the work of this machine now" in north.said(), PATIENCE_S)
        wait_until(lambda: not of_north & living(made), PATIENCE_S)
        dead = made.rows("SELECT id FROM processes WHERE dead_at IS NOT NULL")
        north.proxy.heal()
        wait_until(lambda: made.count("SELECT 1 FROM processes WHERE role = 'supervisor' AND dead_at IS NULL") == 2)
        assert outcomes(made) == ["crashed", "ok"], "nothing of the machine's own late work arrived"
        assert made.rows("SELECT id FROM processes WHERE dead_at IS NOT NULL") == dead, "it has a new identity"
        assert violations(made.ledger, made.warehouse) == []
        end_all(north, south)


def end_all(*machines: Machine) -> None:
    for machine in machines:
        machine.ask_to_end()
    assert [machine.wait_ended() for machine in machines] == [0 for _ in machines]


SPARK_PONDS = """
from pondage import pond, rows
from pyspark.sql import DataFrame, SparkSession, functions as F

@pond
def numbers(spark: SparkSession) -> DataFrame:
    return spark.range(10)

@pond(expect=[rows(min=1, max=1)])
def total(numbers: DataFrame) -> DataFrame:
    return numbers.agg(F.sum("id").alias("total"))
"""


@pytest.mark.spark
def test_a_machine_without_a_project_runs_deployed_code_on_spark(postgres: PostgresServer, tmp_path: Path) -> None:
    with cluster(postgres, tmp_path, PATIENT, is_plain=False) as made:
        deploy_project(made.project(SPARK_PONDS))
        (machine,) = made.add("north")
        (machine.folder / "pondage.toml").unlink()
        url = f"postgresql://pondage@{machine.proxy.host}:{machine.proxy.port}/{made.database}"
        machine.start(
            "--ledger", url, "--warehouse", str(made.warehouse), "--state", "state",
            "--workers", "1", "--slots", "1", "--master", "local[1]",
        )  # fmt: skip
        verbs.send(made.ledger, "main", Pulse(pond="total@1"))
        wait_until(lambda: is_quiet(made) and len(outcomes(made)) == 2, PATIENCE_S)
        assert outcomes(made) == ["ok", "ok"]
        assert violations(made.ledger, made.warehouse) == []
        assert [path.name for path in (machine.folder / "state" / "code").iterdir()], "the code came from the ledger"
        end_all(machine)
