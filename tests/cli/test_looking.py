import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import pondage
from pondage.cli.printing.ponds import process_text, ripple_text
from pondage.kernel.demand.events import Pulse
from pondage.kernel.demand.shape import PondKey
from pondage.ledger.upkeep import reap
from pondage.views.ponds.show import PondShow, SnapshotShow
from pondage.views.ponds.status import StatusView
from pondage.views.ponds.why import WhyView
from pondage.views.runs.logs import LogsView
from pondage.views.runs.runs import RunDetailView, RunsView
from pondage.views.words import moment_text
from tests.cli.conftest import Call
from tests.ledger.harness import SECOND, World


def test_status_is_a_plain_table_without_escapes(world: World, call: Call) -> None:
    said = call("status")
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[0].split("  ")[0] == "POND"
    assert [line.split()[:2] for line in lines[1:4]] == [
        ["orders@1", "idle"],
        ["reports@1", "idle"],
        ["sales@1", "idle"],
    ]
    assert "\x1b" not in said.out


def test_status_of_an_empty_ledger_says_what_to_type(project: Path, call: Call) -> None:
    assert call("status", "--once").out == "nothing is deployed in environment main; try: pondage deploy\n"


def test_status_of_some_ponds_shows_only_those(world: World, call: Call) -> None:
    view = msgspec.json.decode(call("status", "sales", "--json").out, type=StatusView)
    assert [pond.key for pond in view.ponds] == ["sales@1"]


def test_json_is_exactly_the_view(world: World, call: Call) -> None:
    world.send(Pulse(pond=PondKey("reports@1")))
    world.worker().drain()
    assert msgspec.json.decode(call("status", "--json").out, type=StatusView).environment == "main"
    assert msgspec.json.decode(call("why", "sales", "--json").out, type=WhyView).pond == "sales@1"
    runs = msgspec.json.decode(call("runs", "--json").out, type=RunsView)
    assert len(runs.runs) == 3
    assert msgspec.json.decode(call("show", runs.runs[0].id, "--json").out, type=RunDetailView).run == runs.runs[0]
    pond = msgspec.json.decode(call("show", "sales", "--json").out, type=PondShow)
    assert pond.ripples[0].published is not None
    snapshot = pond.ripples[0].published.snapshot
    assert msgspec.json.decode(call("show", snapshot, "--json").out, type=SnapshotShow).id == snapshot
    assert len(msgspec.json.decode(call("logs", "sales", "--json").out, type=LogsView).files) == 2


def test_why_prints_sentences_and_what_to_type(world: World, call: Call) -> None:
    assert call("why", "reports").out.splitlines() == [
        "reports@1 is idle; it has never run.",
        "  - Nobody asks for it now: no pull, no target, no Sink that wants more.",
        "    try: pondage pulse reports",
    ]


def test_runs_are_listed_with_the_reason_of_a_failure(world: World, call: Call) -> None:
    world.send(Pulse(pond=PondKey("reports@1")))
    worker = world.worker()
    held = worker.claim()
    assert held is not None
    worker.fail(held)
    said = call("runs", "orders")
    assert "orders@1#1" in said.out
    assert "it went wrong" in said.out
    assert call("runs", "--state", "completed").out == "no Runs; try: pondage run POND\n"


def test_a_shown_pond_names_table_and_stable_name(world: World, project: Path, call: Call) -> None:
    world.send(Pulse(pond=PondKey("sales@1")))
    world.worker().drain()
    said = call("show", "sales")
    assert said.code == 0
    assert str(project / ".pondage/warehouse/tables/main/sales/v1/sales/current") in said.out
    assert "bigint" in said.out
    assert "orders@1" in said.out


def test_a_shown_run_has_its_attempts_and_outputs(world: World, call: Call) -> None:
    world.send(Pulse(pond=PondKey("sales@1")))
    world.worker().drain()
    said = call("show", "sales#1")
    assert "completed" in said.out
    assert "clean" in said.out
    assert "orders@1#1" in said.out


def test_the_first_attempt_of_a_later_run_is_shown_as_its_first(world: World, call: Call) -> None:
    for _ in range(2):
        world.send(Pulse(pond=PondKey("orders@1")))
        world.worker().drain()
    said = call("show", "orders#2").out.splitlines()
    table = said[said.index("attempts") + 1 :]
    assert table[0].split()[:2] == ["RIPPLE", "ATTEMPT"]
    assert table[1].split()[1] == "1"


def test_a_shown_run_tells_what_spark_did_in_a_row_for_each_ripple(world: World, call: Call) -> None:
    world.send(Pulse(pond=PondKey("orders@1")))
    worker = world.worker()
    held = worker.claim()
    assert held is not None
    did = """{"phase":"done","done":[{"id":7,"tasks":3,"work_us":900000,"read_bytes":2500000},
             {"id":8,"tasks":2,"failed":1,"work_us":2100000,"shuffled_bytes":12000}]}"""
    worker.finish(msgspec.structs.replace(held, summary=did))
    said = call("show", "orders#1").out.splitlines()
    title = said.index("spark")
    assert said[title + 1].split() == ["RIPPLE", "STAGES", "TASKS", "WORK", "READ", "SHUFFLED", "LONGEST"], (
        "nothing was spilled"
    )
    assert "  ".join(said[title + 2].split()[1:]) == "2  5  (1  failed)  3  s  2.5  MB  12  kB  stage  8,  2.1  s"
    view = msgspec.json.decode(call("show", "orders#1", "--json").out, type=RunDetailView)
    progress = view.attempts[0].executions[0].progress
    assert progress is not None
    assert [stage.id for stage in progress.done] == [7, 8]


def test_a_shown_run_names_the_logs_that_are_there_and_no_others(world: World, project: Path, call: Call) -> None:
    world.send(Pulse(pond=PondKey("sales@1")))
    world.worker().drain()
    clean, _ = msgspec.json.decode(call("logs", "sales", "--json").out, type=LogsView).files
    place = project / ".pondage" / "warehouse" / clean.path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("2026-11-15T17:40:01.123Z INFO hello\n")
    attempts = [
        line.split() for line in call("show", "sales#1").out.splitlines() if line.startswith(("clean ", "sales "))
    ]
    assert [(words[0], words[-1]) for words in attempts if words[1] == "1"] == [("clean", place.name), ("sales", "-")]
    assert f"logs in {place.parent}" in call("show", "sales#1").out
    view = msgspec.json.decode(call("show", "sales#1", "--json").out, type=RunDetailView)
    assert [each.executions[0].log for each in view.attempts] == [clean.path, None]


def test_a_shown_run_has_a_row_for_each_try_crashed_and_released_ones_too(world: World, call: Call) -> None:
    world.send(Pulse(pond=PondKey("orders@1")))
    for _ in range(2):
        worker = world.worker()
        assert worker.claim() is not None
        assert reap.reap_process(world.ledger, worker.row, reason="killed") is not None
    world.clock.time += 3 * SECOND
    world.worker().drain()
    said = call("show", "orders#1").out.splitlines()
    table = said[said.index("attempts") + 1 :]
    assert [line.split()[:3] for line in table[1:4]] == [
        ["orders", "1", "crashed"],
        ["orders", "2", "crashed"],
        ["orders", "3", "ok"],
    ]
    view = msgspec.json.decode(call("show", "orders#1", "--json").out, type=RunDetailView)
    assert [each.outcome for each in view.attempts[0].executions] == ["crashed", "crashed", "ok"]


def test_the_hint_of_a_list_that_is_cut_off_keeps_what_was_asked_for(world: World, call: Call) -> None:
    for _ in range(3):
        world.send(Pulse(pond=PondKey("orders@1")))
        world.worker().drain()
    said = call("runs", "orders", "--state", "completed", "-n", "2").out
    assert said.endswith("try: pondage runs orders --state completed -n 10\n")


def test_a_pond_that_was_rolled_back_shows_the_age_of_the_data_that_is_read(world: World, call: Call) -> None:
    for _ in range(2):
        world.send(Pulse(pond=PondKey("orders@1")))
        world.worker().drain()
        world.clock.time += 240 * SECOND
    first = msgspec.json.decode(call("show", "orders#1", "--json").out, type=RunDetailView).run
    assert call("rollback", "orders", "--to", "1").code == 0
    pairs = {line.split("  ")[0]: line for line in call("show", "orders").out.splitlines()}
    moment = moment_text(first.freshness)
    assert f"{moment} (" in pairs["freshness"], "what readers see, and not what demand goes by"
    assert f"{moment} (" in pairs["fresh"]
    assert "to #1, whose data this is, until its next Run. It had reached" in pairs["rolled back"]
    view = msgspec.json.decode(call("show", "orders", "--json").out, type=PondShow)
    assert view.rolled_back_to is not None
    assert (view.rolled_back_to.number, view.rolled_back_to.id) == (1, first.id)


def test_logs_print_the_lines_of_a_ripple(world: World, project: Path, call: Call) -> None:
    world.send(Pulse(pond=PondKey("sales@1")))
    world.worker().drain()
    for file in msgspec.json.decode(call("logs", "--json").out, type=LogsView).files:
        path = project / ".pondage/warehouse" / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"2026-11-15T17:40:01.123Z INFO line of {file.ripple}\n")
    assert [line.split()[2:] for line in call("logs", "sales").out.splitlines()] == [
        ["sales.clean", "INFO", "line", "of", "clean"],
        ["sales.sales", "INFO", "line", "of", "sales"],
    ]
    assert len(call("logs", "sales", "--ripple", "clean").out.splitlines()) == 1
    assert len(call("logs").out.splitlines()) == 3


def test_logs_of_a_pond_say_which_run_they_are_of_and_how_to_see_others(
    world: World, project: Path, call: Call
) -> None:
    for _ in range(2):
        world.send(Pulse(pond=PondKey("orders@1")))
        world.worker().drain()
    for file in msgspec.json.decode(call("logs", "--json").out, type=LogsView).files:
        path = project / ".pondage/warehouse" / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("2026-11-15T17:40:01.123Z INFO a line\n")
    said = "these are the lines of orders@1#2, its newest Run; the one before: pondage logs orders@1#1\n"
    assert call("logs", "orders").err == said
    assert call("logs", "orders@1").err == said
    assert call("logs", "orders#1").err == ""
    assert call("logs").err == "", "of several, each line says of which"
    call("rollback", "orders", "--to", "1")
    said = "no Ripple of orders@1#3 has been executed on a worker; try: pondage show orders@1#3\n"
    assert call("logs", "orders").err == said


def test_a_shown_pond_names_its_current_run_by_its_number(world: World, call: Call) -> None:
    world.send(Pulse(pond=PondKey("orders@1")))
    world.worker().drain()
    assert re.search(r"current run +#1 \(r\w+\)\n", call("show", "orders").out)
    assert re.search(r"orders@1.orders +#1 +\d", call("lineage", "orders").out)


def test_the_line_of_processes_says_what_is_unusual_and_nothing_that_slots_say(world: World, call: Call) -> None:
    worker = world.worker()
    world.send(Pulse(pond=PondKey("orders@1")))
    assert worker.claim() is not None

    view = msgspec.json.decode(call("status", "--once", "--json").out, type=StatusView)

    def shown(state: str) -> tuple[str, str]:
        (process,) = [msgspec.structs.replace(each, state=state, is_silent=False) for each in view.processes]
        (run,) = next(pond for pond in view.ponds if pond.key == "orders@1").active
        (ripple,) = [msgspec.structs.replace(each, process_state=state) for each in run.ripples]
        return ripple_text(ripple), process_text(msgspec.structs.replace(view, processes=(process,)))

    for state in ("busy 1/4", "idle"):
        assert shown(state) == ("orders", "1 process, 1 of 1 slot busy")
    assert shown("draining") == ("orders (draining)", "1 process, 1 of 1 slot busy, draining")


def test_logs_before_anything_ran_say_what_to_type(world: World, call: Call) -> None:
    assert call("logs", "sales").err == "nothing has run yet; try: pondage run sales\n"


def on_a_terminal(project: Path, *arguments: str, until: bytes) -> tuple[int, bytes]:
    """Run the program on a terminal of its own, press Ctrl-C when a text is seen, and answer code and output."""
    parent, child = pty.openpty()
    source = str(Path(pondage.__file__).parent.parent)
    with subprocess.Popen(
        [sys.executable, "-m", "pondage.cli.main", *arguments],
        stdin=child,
        stdout=child,
        stderr=child,
        cwd=project,
        env=os.environ | {"PYTHONPATH": source, "TERM": "xterm", "COLUMNS": "140"},
    ) as process:
        os.close(child)
        seen = b""
        while True:
            try:
                data = os.read(parent, 4096)
            except OSError:  # how Linux says that the other side was closed
                break
            seen += data
            if until in seen and process.poll() is None:
                until = b"\0 never again"
                process.send_signal(signal.SIGINT)
    os.close(parent)
    return process.returncode, seen


def test_status_on_a_terminal_is_live_until_ctrl_c(world: World, project: Path) -> None:
    code, seen = on_a_terminal(project, "status", until=b"sales@1")
    assert code == 0
    assert b"no process of Pondage runs" in seen
    assert b"Traceback" not in seen


def test_following_logs_ends_with_ctrl_c(world: World, project: Path) -> None:
    world.send(Pulse(pond=PondKey("orders@1")))
    world.worker().drain()
    with world.ledger.reading() as tx:
        from pondage.views.runs.logs import locate

        (file,) = locate(tx, "main", "orders").files
    path = project / ".pondage/warehouse" / file.path
    path.parent.mkdir(parents=True)
    path.write_text("2026-11-15T17:40:01.123Z INFO hello\n")
    code, seen = on_a_terminal(project, "logs", "orders", "-f", until=b"hello")
    assert code == 0
    assert b"Traceback" not in seen


@pytest.mark.parametrize("option", [[], ["--no-color"]])
def test_colours_are_for_terminals_that_want_them(world: World, project: Path, option: list[str]) -> None:
    code, seen = on_a_terminal(project, "why", "reports", *option, until=b"\0")
    assert code == 0
    assert (b"\x1b[" in seen) == (not option)


LISTS = ["env list", "secret list", "job list", "flow list", "token list", "component queues", "runs", "logs",
         "status --once", "reactor list", "checks"]  # fmt: skip


@pytest.mark.parametrize("verb", LISTS)
def test_a_list_of_nothing_says_what_to_do_next(project: Path, call: Call, verb: str) -> None:
    said = call(*verb.split())
    assert "pondage " in said.out + said.err, "a command to type"
    assert len((said.out + said.err).splitlines()) <= 2, "no table of nothing"


def test_a_run_below_a_spliced_one_says_from_which_it_comes_wherever_it_is_shown(world: World, call: Call) -> None:
    world.send(Pulse(pond=PondKey("sales@1")))
    world.worker().drain()
    with world.ledger.transaction() as tx:
        tx.change("""UPDATE runs SET spliced_from = '["rates@1#7"]' WHERE pond =
                     (SELECT id FROM ponds WHERE name = 'sales')""")
        tx.change("UPDATE runs SET is_spliced = 1 WHERE pond = (SELECT id FROM ponds WHERE name = 'orders')")
    assert "stands on rates@1#7, spliced" in " ".join(call("runs", "sales").out.split())
    assert "stands on rates@1#7, spliced" in call("show", "sales#1").out
    assert "the current Run stands on rates@1#7, spliced" in call("show", "sales").out
    assert "Run #1 stands on rates@1#7, which read Sources that do not agree." in call("why", "sales").out
    assert call("runs", "sales", "--json").json["runs"][0]["spliced_from"] == ["rates@1#7"]
    assert call("show", "sales", "--json").json["spliced_from"] == ["rates@1#7"]
    assert "the current Run read Sources that do not agree" in call("show", "orders").out
