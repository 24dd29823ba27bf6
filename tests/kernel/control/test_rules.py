"""Rules that no shipped scenario shows: retries, Stop, Kill, timeouts, panics, modes of iterators, globals, resume."""

from __future__ import annotations

import pytest

from pondage.define.job.component import ComponentDefinition
from pondage.define.types.port import Port
from pondage.kernel.control import Index, JobState, State, collect, difference
from pondage.kernel.control.effects import Cancel, EdgeFired, GlobalDropped, Run, StopInstance, Timer
from pondage.kernel.control.events import GraceOver, Kill, Settled, Start, Stop, Timeout
from pondage.simulate.control_drive import Ending, Play
from pondage.simulate.control_virtual import VirtualControlHost
from tests.kernel.control.jobs import job, plan_of, run, shown

BOOM = Ending(raises="boom")


def test_the_machine_grants_retries_and_drops_the_writes_of_failed_attempts() -> None:
    text = "components: [{name: a, type: task, retries: 2}]\n"
    failing = Ending(raises="boom", writes={"k": 1})
    host, play = run(plan_of(text), {"a@1": failing, "a@2": failing})
    assert play.state is JobState.OK
    assert [effect.attempt for _, effect in play.effects if isinstance(effect, Run)] == [1, 2, 3]
    assert host.globals() == {}
    host, play = run(plan_of(text), {"a": failing})
    assert play.state is JobState.ERROR
    assert host.globals() == {"k": 1, "a__ERROR_MESSAGE": "boom"}


def test_a_late_or_doubled_report_is_ignored() -> None:
    host = VirtualControlHost()
    host.start(plan_of(job("a:task b:task", ["a (ok) b"])), Start(), 0)
    host.apply(1, [Settled(instance="a", attempt=1)])
    assert host.apply(2, [Settled(instance="a", attempt=1, raises="late"), Settled(instance="b", attempt=2)]) == ()
    assert host.steps[-1].changed == ()


def test_kill_waits_thirty_seconds_and_then_ends_without_a_checkpoint() -> None:
    plan = plan_of(job("a:task b:task", ["a (subjob_ok) b"]))
    host, play = run(plan, {"a": Ending(takes=100)}, kill_at=[5])
    assert (play.state, play.code) == (JobState.ABORTED, "KILLED_WITHOUT_CHECKPOINT")
    assert play.timeline[-1] == (35, ["job ABORTED KILLED_WITHOUT_CHECKPOINT"])
    assert any(isinstance(effect, Cancel) for _, effect in play.effects)
    assert host.states() == {"a": State.RUNNING, "b": State.WAIT}
    _, again = run(plan, host=host, is_resumed=True)
    assert again.state is JobState.OK


def test_a_second_kill_ends_at_once() -> None:
    _, play = run(plan_of(job("a:task")), {"a": Ending(takes=100)}, kill_at=[5, 7])
    assert play.timeline[-1][0] == 7
    assert play.code == "KILLED_WITHOUT_CHECKPOINT"


def test_a_killed_run_that_is_done_anyway_ends_by_its_verdict() -> None:
    _, play = run(plan_of(job("a:task")), {"a": Ending(takes=10)}, kill_at=[5])
    assert (play.state, play.code) == (JobState.OK, None)


def test_stop_lets_a_component_return_and_fails_it_after_the_grace() -> None:
    plan = plan_of(job("a:task b:task", ["a (ok) b"]))
    host = VirtualControlHost()
    host.start(plan, Start(second=1), 0)
    effects = host.apply(1, [Stop(instance="a")])
    assert isinstance(effects[0], StopInstance)
    assert isinstance(effects[1], Timer)
    assert effects[1].at == 31
    host.apply(2, [Settled(instance="a", attempt=1)])
    assert host.states()["b"] is State.RUNNING
    host.start(plan, Start(second=1), 0)
    host.apply(1, [Stop(instance="a")])
    effects = host.apply(31, [GraceOver(instance="a")])
    assert isinstance(effects[0], Cancel)
    assert host.states() == {"a": State.ERROR, "b": State.SKIPPED}


def test_stopping_the_run_skips_what_waits_and_ends_by_the_verdict() -> None:
    host = VirtualControlHost()
    host.start(plan_of(job("a:task b:task", ["a (ok) b"])), Start(second=1), 0)
    host.apply(1, [Stop()])
    host.apply(2, [Settled(instance="a", attempt=1)])
    assert host.states() == {"a": State.OK, "b": State.SKIPPED}
    assert host.result() == (JobState.OK, "STOPPED")


def test_the_jobs_timeout_aborts_it() -> None:
    plan = plan_of(job("a:task b:task", ["a (ok) b"], extra="job_config: {timeout_s: 4}"))
    _, play = run(plan, {"a": Ending(takes=9)})
    assert (play.state, play.code, play.timeline[-1][0]) == (JobState.ERROR, "TIMEOUT", 4)
    host = VirtualControlHost()
    host.start(plan, Start(second=1), 0)
    host.apply(1, [Timeout(), Kill()])
    assert host.result() == (JobState.ERROR, "TIMEOUT")


def test_an_unhandled_error_panics_where_the_job_says_so() -> None:
    extra = "job_config: {on_component_error: abort}"
    _, play = run(plan_of(job("a:task b:task", extra=extra)), {"a": BOOM, "b": Ending(takes=5)})
    assert (play.state, play.code) == (JobState.ERROR, "PANIC")
    _, play = run(plan_of(job("a:task h:task", ["a (error) h"], extra=extra)), {"a": BOOM})
    assert play.state is JobState.OK


def iterator(params: str, control: str = "") -> str:
    return (
        f"components: [{{name: it, type: iterator, params: {params}}}, {{name: x, type: transform}}, "
        f"{{name: n, type: task}}]\nconnections: {{data: [it.item -> x.input], control: [it (ok) n{control}]}}\n"
    )


FOUR = {"it": Ending(items=[1, 2, 3, 4])}


def test_tolerated_failures_neither_halt_nor_fail_an_iterator() -> None:
    for params, failing, state in (
        ("{tolerate: 1}", 1, State.OK),
        ("{tolerate: 1}", 2, State.ERROR),
        ("{tolerate: '50%'}", 2, State.OK),
        ("{tolerate: '49%'}", 2, State.ERROR),
        ("{fail_strategy: continue, tolerate: 0}", 1, State.ERROR),
        ("{fail_strategy: continue}", 4, State.OK),
    ):
        failures = {f"x[#{number}]": BOOM for number in range(1, failing + 1)}
        host, _ = run(plan_of(iterator(params)), {**FOUR, **failures})
        assert host.states()["it"] is state, (params, failing)


def test_parallel_iterations_overlap_and_keep_their_order_of_merging() -> None:
    endings = {
        **FOUR,
        **{f"x[#{number}]": Ending(takes=9 - 2 * number, writes={"f": [number]}) for number in range(1, 5)},
    }
    host, play = run(plan_of(iterator("{parallel: 3}")), endings)
    assert [line for line in play.timeline[1][1] if line.endswith("RUNNING") and line.startswith("x")] == [
        "x[#1] RUNNING", "x[#2] RUNNING", "x[#3] RUNNING",
    ]  # fmt: skip
    assert host.globals()["f"] == [1, 2, 3, 4]


def test_a_failed_handler_of_an_iteration_fails_the_sub_job_around_it() -> None:
    text = iterator("{}").replace("it (ok) n", "it (iteration_ok) n")
    host, play = run(plan_of(text), {"it": Ending(items=[1]), "n": BOOM})
    assert host.states()["it"] is State.OK
    assert play.state is JobState.ERROR


def test_too_many_elements_are_an_error_and_a_bad_condition_too() -> None:
    host, play = run(plan_of(iterator("{max_iterations: 3}")), FOUR)
    assert "FANOUT_LIMIT" in shown(play)[3]
    _, play = run(plan_of(iterator("{mode: while, condition: '1 / 0 > 1'}")))
    assert any(line.startswith("it ERROR [ExprError") for line in shown(play))
    _, play = run(plan_of(iterator("{mode: while, condition: 'iteration < 9', max_iterations: 2}")))
    assert any(line.startswith("it ERROR [FANOUT_LIMIT") for line in shown(play))
    assert host.states()["n"] is State.SKIPPED


def test_a_joblet_inside_an_iteration_runs_once_for_each_element() -> None:
    text = job("it:iterator k:@j", data=["it.item -> k.rows"])
    inner = "inputs: {rows: t.input}\ncomponents: [{name: t, type: transform}]\n"
    host, play = run(plan_of(text, {"j": inner}), {"it": Ending(items=[1, 2])})
    assert play.state is JobState.OK
    assert host.states()["k.__t[#2]"] is State.OK


def test_writes_that_are_too_large_or_not_declared_fail_their_writer() -> None:
    host, play = run(plan_of(job("a:task")), {"a": Ending(writes={"k": "x" * 70_000})})
    assert any(line.startswith("a ERROR [GLOBAL_TOO_LARGE") for line in shown(play))
    deep: object = 1
    for _ in range(99):
        deep = [deep]
    _, play = run(plan_of(job("a:task")), {"a": Ending(writes={"k": deep})})
    assert play.state is JobState.OK
    host, play = run(plan_of(job("a:task")), {"a": Ending(writes={"k": {"x": deep}, "m": 1})})
    assert any(line.startswith("a ERROR [GLOBAL_TOO_LARGE: k") for line in shown(play))
    assert host.globals()["m"] == 1
    strict = {"strict": ComponentDefinition(name="strict", globals=("k",), after=())}
    host, play = run(plan_of(job("a:strict"), registry=strict), {"a": Ending(writes={"k": 1, "m": 2})})
    assert any(line.startswith("a ERROR [UNDECLARED_WRITE") for line in shown(play))
    assert host.globals()["k"] == 1


def test_a_subjob_error_names_the_first_error_in_the_order_of_the_plan_whoever_ended_first() -> None:
    text = job("s:task b:task a:task h:task", ["s (ok) a, b", "s (subjob_error) h"])
    for slow in "ab":
        ends = {name: Ending(raises=name, takes=9 if name == slow else 1) for name in "ab"}
        _, play = run(plan_of(text), ends)
        (fired,) = [one for _, one in play.effects if isinstance(one, EdgeFired) and one.target == "h"]
        assert fired.reason == "sub-job s ERROR: b"
    fork = job("f:task x:task y:task h:task", ["f (parallelise) x, y", "f (subjob_error) h"])
    _, play = run(plan_of(fork), {"y": BOOM})
    (fired,) = [one for _, one in play.effects if isinstance(one, EdgeFired) and one.target == "h"]
    assert fired.reason == "sub-job f ERROR: y"
    call = job("k:@j h:task", ["k (subjob_error) h"])
    _, play = run(plan_of(call, {"j": job("p:task q:task", ["p (ok) q"])}), {"k.__q": BOOM})
    (fired,) = [one for _, one in play.effects if isinstance(one, EdgeFired) and one.target == "h"]
    assert fired.reason == "sub-job k ERROR: k.__q"


def test_a_deleted_key_reads_as_missing() -> None:
    text = job("a:task b:task c:task", ["a (ok) b", 'b (if1): "k == 1" c'])
    host, _ = run(plan_of(text), {"a": Ending(writes={"k": 1}), "b": Ending(deletes=("k",))})
    assert host.states()["c"] is State.SKIPPED
    assert "k" not in host.globals()


def test_a_key_that_is_written_and_deleted_at_once_is_gone_and_the_foreign_one_returns() -> None:
    text = job("a:task b:task", ["a (subjob_ok) b"])
    host, play = run(plan_of(text), {"a": Ending(writes={"k": 1}), "b": Ending(writes={"k": 2}, deletes=("k",))})
    assert play.state is JobState.OK
    assert host.globals() == {"k": 1}


def test_an_exported_overwrite_crosses_and_another_is_audited() -> None:
    text = job("a:task b:task", ["a (subjob_ok) b"])
    endings = {"a": Ending(writes={"k": 1}), "b": Ending(writes={"k": 2})}
    host, play = run(plan_of(text), endings)
    assert host.globals()["k"] == 1
    assert [effect.key for _, effect in play.effects if isinstance(effect, GlobalDropped)] == ["k"]
    host, _ = run(
        plan_of(text.replace("{name: b, type: 'task'}", "{name: b, type: task, global_export: [k]}")), endings
    )
    assert host.globals()["k"] == 2
    host, _ = run(plan_of("job_config: {globals_export: all}\n" + text), endings)
    assert host.globals()["k"] == 2


def test_a_write_behind_a_join_wins_over_its_branches() -> None:
    text = job("f:task a:task b:task j:task", ["f (parallelise) a, b", "a, b (synchronise) j"])
    host, play = run(plan_of(text), {name: Ending(writes={"k": name}) for name in "abj"})
    assert host.globals()["k"] == "j"
    assert "k='j' @(0,2) old='b'" in shown(play)


def test_a_joblet_output_that_nobody_made_starves_its_reader() -> None:
    inner = (
        "outputs: {rows: t.main}\ncomponents: [{name: g, type: task}, {name: t, type: task}]\n"
        "connections:\n  control:\n    - 'g (if1): \"1 == 2\" t'\n"
    )
    host, _ = run(plan_of(job("k:@j r:sink", data=["k.rows -> r.input"]), {"j": inner}))
    assert host.states()["k.__proxy_out"] is State.OK
    assert host.states()["r"] is State.SKIPPED


def test_an_edited_job_keeps_the_sub_jobs_that_did_not_change() -> None:
    text = job("a:task b:task c:task", ["a (subjob_ok) b", "b (subjob_ok) c"])
    old = plan_of(text)
    host, play = run(old, {"c": BOOM})
    assert play.state is JobState.ERROR
    new = plan_of(text.replace("{name: b, type: 'task'}", "{name: b, type: task, params: {x: 1}}"))
    found = difference(Index(old), Index(new))
    assert (found.kept, found.changed) == (("a", "c"), ("b",))
    _, again = run(new, host=host, is_resumed=True)
    assert again.state is JobState.OK
    assert [line for line in shown(again) if line.startswith("restored")] == ["restored a"]


def test_a_resume_may_begin_with_fresh_globals() -> None:
    plan = plan_of(job("a:task b:task c:task", ["a (subjob_ok) b", 'b (if1): "k == 1" c']))
    for is_fresh, state in ((False, State.OK), (True, State.SKIPPED)):
        host, _ = run(plan, {"a": Ending(writes={"k": 1}), "b": BOOM})
        host.fresh_globals = is_fresh
        run(plan, host=host, is_resumed=True)
        assert host.states()["c"] is state


def test_a_failed_branch_restarts_from_the_fork() -> None:
    text = job("f:task a:task b:task j:task", ["f (parallelise) a, b", "a, b (synchronise) j"])
    host, _ = run(plan_of(text), {"b": BOOM, "f": Ending(writes={"k": 1})})
    _, again = run(plan_of(text), host=host, is_resumed=True)
    assert again.timeline[0] == (
        0, ["job RUNNING", "restored f (prefix: f)", "restored a", "sub-job b RUNNING", "b RUNNING"],
    )  # fmt: skip
    assert again.state is JobState.OK
    assert host.globals() == {"k": 1}


def test_nothing_is_collected_of_a_run_that_never_started() -> None:
    assert collect(Index(plan_of(job("a:task"))), VirtualControlHost().rows).subs == ()


def test_stream_consumers_start_with_their_producers_and_hear_of_their_failure() -> None:
    stream = {
        "feed": ComponentDefinition(name="feed", outputs={"out": Port(type="Stream<Any>")}, mode="stream"),
        "eat": ComponentDefinition(name="eat", inputs={"in": Port(type="Stream<Any>")}, mode="stream"),
    }
    plan = plan_of(job("p:feed c:eat", data=["p.out -> c.in"]), registry=stream)
    assert plan.data[0].is_stream
    host, play = run(plan, {"p": Ending(takes=5, raises="boom"), "c": Ending(takes=9)})
    assert play.timeline[0][1][-1] == "c RUNNING"
    assert [type(effect).__name__ for at, effect in play.effects if at == 5][-1] == "InputError"
    assert host.states()["c"] is State.OK


def test_a_stream_consumer_that_has_not_begun_when_its_producer_fails_is_skipped() -> None:
    stream = {
        "feed": ComponentDefinition(name="feed", outputs={"out": Port(type="Stream<Any>")}, mode="stream"),
        "table": ComponentDefinition(name="table", outputs={"out": Port(type="Table<Any>")}),
        "eat": ComponentDefinition(
            name="eat", inputs={"in": Port(type="Stream<Any>"), "other": Port(type="Table<Any>")}, mode="stream"
        ),
    }
    plan = plan_of(job("p:feed t:table c:eat", data=["p.out -> c.in", "t.out -> c.other"]), registry=stream)
    host, _ = run(plan, {"p": Ending(takes=2, raises="boom"), "t": Ending(takes=5)})
    assert host.states()["c"] is State.SKIPPED


def runs_of(play_: Play) -> list[str]:
    return [line.removesuffix(" RUNNING") for line in shown(play_) if line.endswith(" RUNNING") and line[0] in "xyn"]


def test_failed_iterations_that_were_let_pass_are_executed_again_by_a_resume() -> None:
    """A4: the iterator as a whole was OK, and what read it is executed again with what the iterations give now."""
    plan = plan_of(iterator("{fail_strategy: continue}"))
    host, play = run(plan, {**FOUR, "x[#2]": BOOM, "n": BOOM})
    assert (play.state, host.states()["it"]) == (JobState.ERROR, State.OK)
    host, again = run(plan, FOUR, host=host, is_resumed=True)
    assert again.state is JobState.OK
    assert runs_of(again) == ["x[#2]", "n"]
    assert {host.states()[f"x[#{number}]"] for number in range(1, 5)} == {State.OK}


def test_an_iteration_around_a_failed_one_is_executed_again_as_a_whole() -> None:
    plan = plan_of(
        "components: [{name: it, type: iterator}, {name: in, type: iterator, params: {fail_strategy: continue}},"
        " {name: x, type: transform}, {name: n, type: task}]\n"
        "connections: {data: [it.item -> in.input, in.item -> x.input], control: [it (ok) n]}\n"
    )
    items = {"it": Ending(items=[1, 2]), "in": Ending(items=[1, 2])}
    host, play = run(plan, {**items, "x[#2][#1]": BOOM, "n": BOOM})
    assert (play.state, host.states()["it"], host.states()["in[#2]"]) == (JobState.ERROR, State.OK, State.OK)
    host, again = run(plan, items, host=host, is_resumed=True)
    assert again.state is JobState.OK
    assert runs_of(again) == ["x[#2][#1]", "x[#2][#2]", "n"]


def test_a_kill_asks_whatever_runs_to_stop_and_lets_no_attempt_follow() -> None:
    host = VirtualControlHost()
    host.start(plan_of(job("a:task b:task c:task", ["a (ok) c"])), Start(second=1), 0)
    effects = host.apply(1, [Kill()])
    asked = [effect for effect in effects if isinstance(effect, StopInstance)]
    assert [(effect.instance, effect.attempt, effect.is_last) for effect in asked] == [("a", 1, True), ("b", 1, True)]


def test_what_a_kill_cut_short_is_not_finished_and_a_resume_executes_it_again() -> None:
    plan = plan_of(job("a:task b:task", ["a (ok) b"]))
    host = VirtualControlHost()
    host.start(plan, Start(second=1), 0)
    host.apply(1, [Kill()])
    host.apply(2, [Settled(instance="a", attempt=1, is_cut=True)])
    assert host.states() == {"a": State.RUNNING, "b": State.WAIT}
    assert host.result() == (JobState.ABORTED, "KILLED")
    _, again = run(plan, host=host, is_resumed=True)
    assert [effect.instance for _, effect in again.effects if isinstance(effect, Run)] == ["a", "b"]
    assert again.state is JobState.OK


@pytest.mark.parametrize(
    ("ended", "result"),
    [(Settled(instance="a", attempt=1, is_cut=True), State.OK), (Settled(instance="a", attempt=1, is_left=True), None)],
)
def test_what_was_asked_to_stop_before_a_kill_is_over_only_if_somebody_ended_it(
    ended: Settled, result: State | None
) -> None:
    host = VirtualControlHost()
    host.start(plan_of(job("a:task b:task", ["a (ok) b"])), Start(second=1), 0)
    host.apply(1, [Stop(instance="a")])
    host.apply(2, [Kill()])
    host.apply(3, [ended])
    assert host.states()["a"] is (result or State.RUNNING)
    assert host.result() == (JobState.ABORTED, "KILLED")


def test_what_is_over_in_a_killed_run_is_counted_once_however_often_it_is_told() -> None:
    host = VirtualControlHost()
    host.start(plan_of(job("a:task b:task c:task", ["a (ok) c"])), Start(second=1), 0)
    host.apply(1, [Kill()])
    host.apply(2, [Settled(instance="a", attempt=1, is_cut=True)])
    host.apply(3, [Settled(instance="a", attempt=1, is_cut=True), Settled(instance="a", attempt=1)])
    assert host.next_timer() == 31, "b still runs"
    host.apply(4, [Settled(instance="b", attempt=1)])
    assert host.result() == (JobState.ABORTED, "KILLED")


def test_what_stops_early_without_a_kill_is_ok() -> None:
    host = VirtualControlHost()
    host.start(plan_of(job("a:task")), Start(second=1), 0)
    host.apply(1, [Stop(instance="a")])
    host.apply(2, [Settled(instance="a", attempt=1, is_cut=True)])
    assert host.states() == {"a": State.OK}
