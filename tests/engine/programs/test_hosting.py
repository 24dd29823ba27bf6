"""Real programs as processes of a worker: how each way to end becomes the end of an execution."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec
import pytest

from pondage.engine.attempt.executor import Crashed
from pondage.engine.programs.hosting import Host, run_program
from pondage.engine.programs.unix import UnixQueue
from pondage.engine.worker.watch import lease_of
from pondage.errors import PondageError
from pondage.ledger.data import segments
from pondage.ledger.data.segments import Reader
from pondage.ledger.database.driver import LedgerUnavailable, Transaction
from pondage.ledger.upkeep import leases, reap
from pondage.project.tree import load_tree
from pondage.work.component import ComponentResult, MemberResult
from tests.engine.programs.harness import ProgramWorld, arrow
from tests.ledger.harness import SECOND
from tests.patience import PATIENCE_S
from tests.services.postgres import wait_until

SHELL = """
job=$(pondage mailbox take) || exit 9
while true; do
  pondage mailbox pop in > segment
  case $? in 0) pondage mailbox put out < segment ;; 3) break ;; *) exit 8 ;; esac
done
pondage mailbox close out
pondage mailbox take
test "$?" = 3
"""
LIBRARY = """
from pondage.program import serve
def work(job):
    for data in job.inputs["in"]:
        job.outputs["out"].put(data.upper())
    job.close()
serve(work)
"""
DRAINING = """
import os, pathlib, signal
from pondage.program import serve
def work(job):
    os.kill(os.getpid(), signal.SIGTERM)
    for data in job.inputs["in"]:
        job.outputs["out"].put(data)
    job.close()
pathlib.Path("done").write_text(str(serve(work)))
"""


class Hosted:
    """A program that a worker runs in a thread."""

    def __init__(self, flow: ProgramWorld, *command: str, **variables: str) -> None:
        flow.start(command=command)
        self.flow = flow
        self.writer = flow.claimed("w")
        self.held = flow.claimed("x")
        self.attempt = flow.attempt(self.held)
        self.session = flow.session(self.attempt)
        self.folder = flow.folder / "code"
        self.folder.mkdir()
        state = flow.folder / "state"
        self.host = Host(
            open_queue=lambda session: UnixQueue(session, state), folder=lambda: self.folder, variables=variables
        )

    def run(self) -> MemberResult | Crashed:
        result = run_program(self.attempt, self.session, self.host, instance="x")
        if isinstance(result, Crashed):
            return result
        assert isinstance(result, ComponentResult)
        (member,) = result.members
        return member

    def said(self) -> str:
        self.attempt.log.close()
        return (self.flow.folder / f"{self.attempt.token}.log").read_text(encoding="utf-8")


def test_a_shell_script_hands_on_any_bytes_by_mailbox_verbs(flow: ProgramWorld) -> None:
    hosted = Hosted(flow, "sh", "-c", SHELL)
    data = bytes(range(256)) * 100
    flow.write(hosted.writer, b"a\0b", data)
    assert hosted.run() == MemberResult(instance="x"), hosted.said()
    assert flow.read(hosted.held) == [b"a\0b", data, None]


def test_a_python_program_is_served_and_what_it_prints_is_in_the_log(flow: ProgramWorld) -> None:
    hosted = Hosted(flow, "python3", "-c", "print('hello')\n" + LIBRARY)
    flow.write(hosted.writer, b"one", b"two")
    assert hosted.run() == MemberResult(instance="x"), hosted.said()
    assert flow.read(hosted.held) == [b"ONE", b"TWO", None]
    assert "hello" in hosted.said()


def test_after_sigterm_the_job_at_hand_is_finished_and_no_other_is_taken(flow: ProgramWorld) -> None:
    hosted = Hosted(flow, "python3", "-c", DRAINING)
    flow.write(hosted.writer, b"one")
    assert hosted.run() == MemberResult(instance="x"), hosted.said()
    assert flow.read(hosted.held) == [b"one", None]
    assert (hosted.folder / "done").read_text(encoding="utf-8") == "1"


def test_returning_with_an_open_output_is_a_panic(flow: ProgramWorld) -> None:
    found = Hosted(flow, "true").run()
    assert isinstance(found, MemberResult)
    assert found.code == "OUTPUT_NOT_CLOSED"
    assert "out" in str(found.raises)


@pytest.mark.parametrize(("script", "told"), [("exit 7", "status 7"), ("kill -9 $$", "SIGKILL")])
def test_a_death_without_a_panic_is_a_crash_also_when_all_outputs_are_closed(
    flow: ProgramWorld, script: str, told: str
) -> None:
    found = Hosted(flow, "sh", "-c", f"pondage mailbox close out; {script}").run()
    assert isinstance(found, Crashed)
    assert told in found.reason


def test_a_panic_is_told_with_its_last_line_and_ends_the_program(flow: ProgramWorld) -> None:
    hosted = Hosted(flow, "sh", "-c", "printf 'first\\nlast' | pondage mailbox panic; sleep 1000")
    found = hosted.run()
    assert isinstance(found, MemberResult)
    assert (found.raises, found.code, found.trace) == ("last", "Panic", "first\nlast")


def test_a_program_that_ignores_its_end_is_killed_with_what_it_started(
    flow: ProgramWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pondage.engine.programs.guard.END_GRACE_S", 0.2)
    hosted = Hosted(flow, "sh", "-c", "trap '' TERM; sh -c 'echo $$ > child; exec sleep 1000'; sleep 1000")
    ended: list[object] = []
    thread = threading.Thread(target=lambda: ended.append(hosted.run()))
    thread.start()
    wait_until(lambda: (hosted.folder / "child").exists() and (hosted.folder / "child").read_text().strip() != "")
    child = int((hosted.folder / "child").read_text())
    hosted.attempt.take_away("it was cancelled", 0.0)
    thread.join(PATIENCE_S)
    assert isinstance(ended[0], Crashed)
    wait_until(lambda: not _is_running(child))


def test_a_program_sees_its_secrets_and_nothing_else_of_the_worker_s_environment(
    flow: ProgramWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "never")
    hosted = Hosted(flow, "sh", "-c", "env > env; pondage mailbox close out", API_KEY="hush")
    assert hosted.run() == MemberResult(instance="x"), hosted.said()
    seen = (hosted.folder / "env").read_text(encoding="utf-8")
    assert "API_KEY=hush" in seen
    assert "SHOP_PASSWORD" not in seen
    assert f"PONDAGE_JOBS={hosted.session.program.hash}" in seen


def test_a_program_that_is_not_there_is_an_error_that_says_so(flow: ProgramWorld) -> None:
    with pytest.raises(PondageError) as caught:
        Hosted(flow, "no-such-program").run()
    assert caught.value.code == "NO_PROGRAM"


def test_a_program_that_is_dead_by_its_own_word_ends_crashed_by_the_ledger_s_clock_and_is_run_again(
    flow: ProgramWorld,
) -> None:
    flow.start()
    flow.claimed("w")
    held, ledger = flow.claimed("x"), flow.run.world.ledger
    with ledger.transaction() as tx:
        assert leases.extend(
            tx, execution=held.claim.execution, token=held.claim.token, for_us=5 * SECOND, reason="HEALTH"
        )
    flow.run.world.clock.time += 4 * SECOND
    assert leases.expire(ledger, process=None) == 0
    flow.run.world.clock.time += 2 * SECOND
    assert leases.expire(ledger, process=None) == 1
    again = flow.claimed("x")
    assert (again.claim.dispatch, again.claim.epoch) == (held.claim.dispatch, held.claim.epoch + 1)
    assert (
        flow.run.world.one("SELECT outcome FROM executions WHERE token = :token", token=held.claim.token) == "crashed"
    )


def test_a_worker_holds_a_program_to_the_earliest_of_its_health_and_its_timeout(flow: ProgramWorld) -> None:
    flow.start()
    flow.claimed("w")
    held = flow.claimed("x")
    attempt = flow.attempt(msgspec.structs.replace(held, claim=msgspec.structs.replace(held.claim, timeout_s=100.0)))
    assert (found := lease_of(attempt, None)) is not None
    assert found.reason == "TIMEOUT"
    attempt.be_healthy(30)
    assert (found := lease_of(attempt, None)) is not None
    assert found.reason == "HEALTH"
    assert found.until_s == attempt.healthy_until_s
    attempt.be_healthy(3_000)
    assert (found := lease_of(attempt, None)) is not None
    assert found.reason == "TIMEOUT"


def test_a_tree_cannot_name_a_command() -> None:
    for extra in ({"command": ["sh", "-c", "true"]}, {"transport": "amqp"}):
        loaded = load_tree(json.dumps({"version": 1, "nodes": {"x": {"prog": "prog", **extra}}, "edges": []}))
        assert [problem.code for problem in loaded.problems] == ["SCHEMA"]


def test_crashes_without_a_panic_fail_the_component_when_their_budget_is_spent(flow: ProgramWorld) -> None:
    started = flow.start()
    flow.claimed("w")
    ledger = flow.run.world.ledger
    for _ in range(ledger.durability.crash_budget):
        held = flow.claimed("x")
        assert reap.crash(ledger, process=flow.run.worker.id, token=held.claim.token, reason="ended with status 1")
        flow.run.world.pass_time(200)
    assert flow.run.states(started)["x"] == "ERROR"
    assert "x" in flow.run.causes(started)


def _is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:3]
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_writer_waits_while_its_edge_holds_more_rows_than_it_may_and_goes_on_when_its_reader_dies(
    flow: ProgramWorld,
) -> None:
    flow.start("Stream<{n: bigint}>", rows=3)
    flow.claimed("w")
    held, reader = flow.claimed("x"), flow.claimed("r")
    with flow.run.world.ledger.transaction() as tx:
        segments.attach(tx, reader.claim, Reader(flow.stream(held), "r", "in"))
    attempt = flow.attempt(held)
    session = flow.session(attempt)
    two = b"\x00" + arrow(n=[1, 2])
    session.put("out", two)
    session.put("out", two)
    writing = threading.Thread(target=lambda: session.put("out", two))
    writing.start()
    wait_until(lambda: attempt.is_parked)
    assert len(flow.read(held)) == 2, "four rows are more than three"
    reap.crash(flow.run.world.ledger, process=flow.run.worker.id, token=reader.claim.token, reason="killed")
    writing.join(PATIENCE_S)
    assert len(flow.read(held)) == 3, "nobody reads: segments pile up on the disk"


def test_a_ledger_that_does_not_answer_for_a_while_fails_nobody(
    flow: ProgramWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow.start()
    flow.write(flow.claimed("w"), b"one")
    held = flow.claimed("x")
    session, ledger = flow.session(flow.attempt(held)), flow.run.world.ledger
    reading, writing, lost = ledger.reading, ledger.transaction, [0]

    def failing(open_: Callable[[], AbstractContextManager[Transaction]]) -> AbstractContextManager[Transaction]:
        lost[0] += 1
        if lost[0] % 2:
            raise LedgerUnavailable("it is being restarted")
        return open_()

    monkeypatch.setattr(ledger, "reading", lambda: failing(reading))
    monkeypatch.setattr(ledger, "transaction", lambda: failing(writing))
    assert session.pop("in") == b"\x00one"
    assert session.pop("in") == b"\x01"
    session.put("out", b"\x00two")
    session.close("out")
    monkeypatch.undo()
    assert flow.read(held) == [b"two", None]
    assert lost[0] > 10
