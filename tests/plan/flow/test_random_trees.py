"""A thousand random trees: each is accepted with the types that were computed otherwise, or refused exactly."""

from __future__ import annotations

from collections import Counter

from pondage.define.job.flow import FlowRefused
from pondage.kernel.control.events import Start
from pondage.kernel.control.state import JobState, State
from pondage.simulate.control_drive import Ending, play
from pondage.simulate.control_virtual import VirtualControlHost
from tests.plan.flow.mutations import MUTATIONS
from tests.plan.flow.programs import planned
from tests.plan.flow.random_trees import RandomTree

SEEDS = 1_000


def test_random_trees_are_accepted_with_the_right_types_or_refused_with_exact_codes_and_pointers() -> None:
    kinds: Counter[str] = Counter()
    for seed in range(SEEDS):
        tree = RandomTree(seed)
        mutation = MUTATIONS[seed // 2 % len(MUTATIONS)] if seed % 2 else None
        wrong = mutation(tree) if mutation else None
        if wrong is None:
            flow = planned(tree.document())
            expected = tree.expected()
            assert {one.pointer: one.type for one in flow.edges if one.pointer in expected} == expected, seed
            assert not flow.unresolved, seed
            kinds["accepted"] += 1
            kinds["stream edges"] += any(one.is_stream for one in flow.edges)
            kinds["tees"] += len({one.source for one in flow.edges}) < len(flow.edges)
            kinds["constants"] += any("const" in node for node in tree.nodes.values())
            kinds["external"] += any(node.get("prog") == "external" for node in tree.nodes.values())
            kinds["panics"] += any(one.is_panic for one in flow.plan.data)
            kinds["stops"] += bool(flow.plan.stops)
            continue
        assert mutation is not None
        kinds[mutation.__name__] += 1
        try:
            planned(tree.document())
            found = set()
        except FlowRefused as error:
            found = {(problem.code, problem.path) for problem in error.problems}
        assert found == wrong, (seed, mutation.__name__)
    assert set(kinds) >= {mutation.__name__ for mutation in MUTATIONS}
    assert min(kinds[name] for name in ("stream edges", "tees", "constants", "external", "panics", "stops")) > 20


def test_random_flows_end_ok_and_a_failure_is_a_panic_unless_somebody_handles_it() -> None:
    ends: Counter[str] = Counter()
    for seed in range(0, 400, 2):
        tree = RandomTree(seed)
        plan = planned(tree.document()).plan
        host = VirtualControlHost()
        assert play(host, plan, lambda _name, _attempt: Ending(), start=Start(second=1)).state is JobState.OK, seed
        handlers = {name for names in tree.handled.values() for name in names}
        assert {name for name, state in host.states().items() if state is not State.OK} <= _below(tree, handlers), seed
        failing = tree.dice.choice([name for name in tree.nodes if name not in handlers])
        host = VirtualControlHost()
        run = play(host, plan, _failing(failing), start=Start(second=1))
        states = host.states()
        if failing in tree.handled:
            assert all(states[name] is State.OK for name in tree.handled[failing]), seed
            assert run.state is JobState.OK, seed
            ends["handled"] += 1
        else:
            assert (run.state, run.code) == (JobState.ERROR, "PANIC"), seed
            ends["panic"] += 1
    assert min(ends.values()) > 20


def _failing(name: str) -> object:
    return lambda instance, _attempt: Ending(raises="it broke", code="BROKEN") if instance == name else Ending()


def _below(tree: RandomTree, names: set[str]) -> set[str]:
    found = set(names)
    for _ in tree.nodes:
        found |= {edge[1].partition(".")[0] for edge in tree.edges if edge[0].partition(".")[0] in found}
    return found
