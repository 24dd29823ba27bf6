"""The rules that every host keeps (section 2 of the specification), on the virtual one."""

import msgspec

from pondage.conform.reaction_host import VirtualReactorHost
from pondage.conform.reaction_scenario import ReactionScenario
from pondage.conform.reaction_world import ReactionWorld
from pondage.kernel.reaction import Effect, is_derivable
from pondage.kernel.reaction.effects import StartFire
from pondage.kernel.reaction.records import Commit, Launch


class Watched(VirtualReactorHost):
    """Checks at each effect what is durable."""

    def __init__(self, shape, perform, later, commit_takes) -> None:
        super().__init__(shape, self._checked(perform), later, commit_takes)
        self.early = 0

    def _checked(self, perform):
        def check(effect: Effect) -> None:
            if self._pending:
                assert isinstance(effect, StartFire)
                assert effect.is_early
                assert all(is_derivable(record) for record in self._pending)
                self.early += 1
            perform(effect)

        return check


def world(events: list[list[object]], **options: object) -> ReactionWorld:
    given = {"id": "H", "reactor": {"sources": {"a": {}}}, "events": events, "until": 3000, "expect": {}, **options}
    return ReactionWorld(msgspec.convert(given, ReactionScenario), Watched)


QUEUED: list[list[object]] = [
    [5, "cmd", "p", "pause"],
    *[[10, "push", "a", number, f"p{number}"] for number in range(1, 7)],
    [50, "cmd", "r", "resume"],
]


def test_h1_nothing_is_visible_before_the_records_before_it_are_durable() -> None:
    played = world(QUEUED, env={"commit_ms": 7, "takes": 3})
    trace = played.play()
    assert all(at == 12 for at, cid, _ in trace.replies if cid.startswith("p") and cid != "p")
    assert isinstance(played.host, Watched)
    assert played.host.early == 0


def test_h2_only_planned_starts_run_ahead_and_only_over_derivable_records() -> None:
    reactor = {"sources": {"a": {}}, "strategy": "sequential", "window": 8}
    played = world(QUEUED, reactor=reactor, env={"commit_ms": 20, "takes": 1})
    trace = played.play()
    assert [fire[0] for fire in trace.fires] == [70, 71, 72, 73, 74, 75]
    assert isinstance(played.host, Watched)
    assert played.host.early == 5
    assert is_derivable(Launch(1, 1, "when_any", ["g"], 0))
    assert not is_derivable(Commit(1, 1, "ok", 0))


def test_h3_the_report_of_another_life_is_dropped() -> None:
    trace = world([[10, "push", "a", 1]], env={"takes": 50}, crashes=[[20, 40]]).play()
    assert [fire[3] for fire in trace.fires] == ["lost", "ok"]
    assert trace.state["last_fire"] == [1, 2, "ok", 90]


def test_h4_what_an_ended_accumulator_says_is_dropped() -> None:
    reactor = {"sources": {"a": {"kind": "stream"}}}
    env = {"connect": {"a": [100, 0]}, "log": {"a": [[1, "x"]]}}
    trace = world([[50, "acc", "a", "crashed"]], reactor=reactor, env=env).play()
    assert [(fire[0], fire[1]) for fire in trace.fires] == [(1050, {"a": "x"})]
    assert trace.state["sources"]["a"]["dup"] == 0  # type: ignore[index]


def test_h6_the_next_deadline_is_the_only_timer() -> None:
    reactor = {
        "sources": {"a": {"kind": "polling", "interval": 100}},
        "on_failure": {"policy": "retry", "base": 30},
        "timeout": 500,
    }
    played = world([], reactor=reactor, env={"polls": {"a": [1]}, "fail": [{"times": 1}]})
    trace = played.play()
    assert [fire[0] for fire in trace.fires] == [100, 130]
    assert played.host.next_timer() == 3100


def test_h7_a_signal_that_waited_is_taken_in_by_the_next_life() -> None:
    reactor = {"sources": {"a": {}}, "publish": "P"}
    trace = world([[10, "push", "a", 1], [150, "target", 150]], reactor=reactor, crashes=[[100, 200]]).play()
    assert trace.ponds[-1] == [200, "publish", "P", 150, 0, None]


def test_a_push_while_the_process_is_down_is_refused() -> None:
    trace = world([[150, "push", "a", 1, "p"]], crashes=[[100, 200]]).play()
    assert trace.replies == [(150, "p", {"accepted": False, "error": "connection_refused"})]
