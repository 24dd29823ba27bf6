"""The fault matrix: each fault with the databases it applies to, and the controls that must be caught."""

from __future__ import annotations

from tests.chaos.arena import Arena
from tests.chaos.deaths import (
    all_killed,
    is_busy,
    killed_at,
    nothing,
    random_kills,
    stopped_and_continued,
    supervisor_killed,
    zombie_commits,
    zombie_is_answered,
)
from tests.chaos.outages import (
    answers_lost,
    clock_stepped,
    clocks_apart,
    connections_cut,
    disk_full,
    partitioned,
    partitioned_and_late,
    server_restarted,
)
from tests.chaos.people import (
    POISON,
    RAISING,
    STARVING,
    author_errors,
    foreign_writes,
    forged_pid,
    operators_race,
    poison,
    rolling_deploy,
    slow_beats,
    starved_beats,
)
from tests.chaos.running import SERVER_ONLY, Fault
from tests.chaos.runs import FANNING, fan_out_cut, runs_race

# Where nobody may be reaped, silence is judged so late that no busy machine can be the reason.
PATIENT = {"reap_after_s": 60}
POINTS = ("before_claim", "after_claim", "in_attempt", "after_write_before_commit", "after_commit")
FAULTS = [
    Fault(row="8", name="three claimers", play=nothing, arena=PATIENT),
    *(Fault(row="1" if point != "after_write_before_commit" else "1, 16", name=f"kill {point}", play=killed_at(point))
      for point in POINTS),
    Fault(row="1", name="random kills", play=random_kills),
    Fault(row="2", name="supervisor killed", play=supervisor_killed),
    Fault(row="2", name="all killed", play=all_killed),
    Fault(row="3", name="frozen and back", play=stopped_and_continued, arena={"work_s": 0.4}),
    Fault(row="3", name="zombie commits", play=zombie_commits),
    Fault(row="4", name="server restarted", play=server_restarted, databases=SERVER_ONLY,
          arena=PATIENT),
    Fault(row="4", name="connections cut", play=connections_cut, databases=SERVER_ONLY, arena=PATIENT),
    Fault(row="5", name="answers lost", play=answers_lost),
    Fault(row="6", name="disk full", play=disk_full, may_fail=True),
    Fault(row="7", name="clock stepped", play=clock_stepped, arena=PATIENT),
    Fault(row="7", name="clocks apart", play=clocks_apart, databases=SERVER_ONLY, arena=PATIENT),
    Fault(row="9", name="rolling deploy", play=rolling_deploy, arena=PATIENT),
    Fault(row="10", name="poison", play=poison, may_fail=True, arena={**PATIENT, "crash_budget": 1, "ponds": POISON}),
    Fault(row="11", name="slow heartbeats", play=slow_beats, arena={"reap_after_s": 12}),
    Fault(row="11", name="starved heartbeats", play=starved_beats, arena={"ponds": STARVING}),
    Fault(row="13", name="author's errors", play=author_errors, may_fail=True, arena={**PATIENT, "ponds": RAISING}),
    Fault(row="14", name="fan-out cut", play=fan_out_cut, arena={"ponds": FANNING, "reap_after_s": 6}),
    Fault(row="15", name="partitioned", play=partitioned, databases=SERVER_ONLY, arena={"work_s": 0.4}),
    Fault(row="15", name="partitioned and late", play=partitioned_and_late, databases=SERVER_ONLY),
    Fault(row="17", name="operators race", play=operators_race, may_fail=True),
    Fault(row="17", name="runs race", play=runs_race, may_fail=True, arena={"reap_after_s": 6}),
    Fault(row="18", name="pid given again", play=forged_pid),
    Fault(row="19", name="foreign writes", play=foreign_writes),
]  # fmt: skip


def control_without_fence(arena: Arena) -> None:
    zombie_is_answered(arena, controls=["fence"])


def control_without_look_up(arena: Arena) -> None:
    arena.add(1, controls=["look-up"], loses={"before": 0.0, "after": 0.0, "claims": 1.0})
    arena.ask()
    arena.wait_quiet(patience_s=5.0)


def control_without_reaper(arena: Arena) -> None:
    arena.ask()
    held = 0
    while not held:  # at the very moment of its death it may have been done with everything
        (machine,) = arena.add(1, controls=["reaper"])
        arena.wait("somebody works", lambda: is_busy(arena))
        machine.kill_group()
        held = arena.count("SELECT 1 FROM executions WHERE completed_at IS NULL AND claimed_at IS NOT NULL")
    arena.add(1, controls=["reaper"])
    arena.wait_quiet(patience_s=5.0)


LOST = "everything is done"
DOUBLED = " 2 successful executions"
CONTROLS = [
    Fault(row="3", name="no fence", sign=DOUBLED, play=control_without_fence),
    Fault(row="5", name="no look-up", sign=LOST, play=control_without_look_up),
    Fault(row="1", name="no reaper", sign=LOST, play=control_without_reaper, arena={"work_s": 1.5}),
]
