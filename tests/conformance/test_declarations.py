"""Every fact of `conformance/reaction_declarations.json`, and that none of them is passed over."""

from pathlib import Path

import msgspec
import pytest

from pondage import Accumulator, Graph, Reactor
from pondage.define.reactor.graph import GraphFailure
from pondage.define.reactor.reaction import AccumulatorDeclaration, FailureDeclaration, ReactorDeclaration, problems_of
from pondage.define.reactor.topology import Route, Walk, read_topology, topology_problems
from pondage.ledger.tables.subscription import Subscription, follow
from pondage.plan.deploy.reactor_registry import ReactorRegistry, RegistryError

FILE = Path(__file__).parents[2] / "conformance" / "reaction_declarations.json"
FACTS = {fact["id"]: fact for fact in msgspec.json.decode(FILE.read_bytes())}
TESTED = {"RX-142", "RX-143", "RX-144", "RX-145", "RX-146", "RX-147", "RX-148"}


def test_every_fact_of_the_file_has_a_test() -> None:
    assert set(FACTS) == TESTED
    assert {fact["suite"] for fact in FACTS.values()} == {
        "registry",
        "declaration",
        "topology",
        "graph",
        "subscription",
    }


def declared(given: dict[str, object]) -> ReactorDeclaration:
    return msgspec.convert(given, ReactorDeclaration)


class Desk:
    """A registry that answers as the file says it."""

    def __init__(self) -> None:
        self.registry = ReactorRegistry()

    def answer(self, event: list[object]) -> dict[str, object]:
        try:
            return getattr(self, f"on_{event[0]}")(*event[1:])
        except RegistryError as error:
            return {"error": error.code, **error.details}

    def on_load_reactor(self, environment: str, given: dict[str, object]) -> dict[str, object]:
        loaded = self.registry.load(environment, declared(given))
        if loaded.outcome != "replaced":
            return {loaded.outcome: loaded.reactor}
        return {
            "replaced": loaded.reactor,
            "version": loaded.version,
            "kept": list(loaded.kept),
            "added": list(loaded.added),
            "removed": list(loaded.removed),
        }

    def on_unload_reactor(self, environment: str, name: str) -> dict[str, object]:
        return {"deleted": list(self.registry.unload(environment, name)), "unloaded": name}

    def on_find(self, environment: str | None, name: str, sees_all: bool = False) -> dict[str, object]:
        return {"reactor": list(self.registry.find(environment, name))}

    def on_bind(self, environment: str, graph: str, reactor: str) -> dict[str, object]:
        self.registry.bind(environment, graph, reactor)
        return {"bound": graph}

    def on_unbind(self, environment: str, graph: str) -> dict[str, object]:
        self.registry.unbind(environment, graph)
        return {"unbound": graph}


@pytest.mark.parametrize("fact", ["RX-142", "RX-143", "RX-144"])
def test_the_registry_answers_as_the_facts_say(fact: str) -> None:
    desk = Desk()
    answers = [desk.answer(event) for event in FACTS[fact]["events"]]
    assert answers == FACTS[fact]["expect"]


def test_a_token_sees_its_own_environments_only() -> None:
    registry = ReactorRegistry()
    for environment in ("e1", "e2"):
        registry.load(environment, declared({"name": "r", "accumulators": [{"name": "a"}]}))
    assert registry.find(None, "r", ["e2"]) == ("e2", "r")
    with pytest.raises(RegistryError, match="no reactor r") as failure:
        registry.find(None, "r", ["e3"])
    assert failure.value.code == "NOT_LOADED"
    with pytest.raises(RegistryError):
        registry.unbind("e1", "g")


@pytest.mark.parametrize("place", range(len(FACTS["RX-145"]["events"])))
def test_everything_wrong_with_a_reactor_is_named_at_once(place: int) -> None:
    given, expected = FACTS["RX-145"]["events"][place], FACTS["RX-145"]["expect"][place]
    assert [list(problem) for problem in problems_of(declared(given))] == expected


def test_the_author_gets_the_same_errors_with_the_place() -> None:
    with pytest.raises(GraphFailure) as failure:
        Reactor("r", sources=[Accumulator("a", int, policy="hope", capacity=0)], criteria="some")
    codes = [problem.code for problem in failure.value.problems]
    assert codes == ["UNKNOWN_CRITERIA", "UNKNOWN_POLICY", "BAD_CAPACITY"]
    assert failure.value.code == "UNKNOWN_CRITERIA"
    assert "test_declarations.py" in (failure.value.place or "")


def test_policies_that_are_no_policy_are_named() -> None:
    wrong = ReactorDeclaration(
        name="r",
        accumulators=(AccumulatorDeclaration(name="a"),),
        on_failure=FailureDeclaration(policy="retry", then="retry"),
        gate="demand",
        on_source_failed="cry",
    )
    assert [tuple(problem) for problem in problems_of(wrong)] == [
        ("UNKNOWN_FAILURE_POLICY", "retry"),
        ("GATE_WITHOUT_POND", "r"),
        ("UNKNOWN_SOURCE_FAILURE", "cry"),
    ]


@pytest.mark.parametrize("place", range(len(FACTS["RX-146"]["events"])))
def test_everything_wrong_with_a_topology_is_named(place: int) -> None:
    topology, functions, sources = FACTS["RX-146"]["events"][place]
    found = topology_problems(read_topology(topology), functions, sources)
    assert [list(problem) for problem in found] == FACTS["RX-146"]["expect"][place]


@pytest.mark.parametrize("place", range(len(FACTS["RX-147"]["events"])))
def test_a_route_runs_its_branch_only_and_a_join_runs_once(place: int) -> None:
    functions = {
        "in": lambda a: Route("hi" if a > 5 else "lo", a),
        "h": lambda x: x * 10,
        "l": lambda x: x,
        "j": lambda *values: sum(value for value in values if value is not None),
    }
    topology = read_topology(FACTS["RX-147"]["given"]["topology"])
    walk = Walk(topology, FACTS["RX-147"]["events"][place])
    for name, arguments in walk.calls():
        walk.settle(name, functions[name](*arguments))
    assert [walk.visited, walk.result()] == FACTS["RX-147"]["expect"][place]


def test_fan_out_and_fan_in() -> None:
    def split(a: int) -> int:
        return a

    def double(x: int) -> int:
        return 2 * x

    def triple(x: int) -> int:
        return 3 * x

    def join(one: int, other: int) -> list[int]:
        return [one, other]

    graph = Graph(
        "g",
        on=Reactor("r", sources=[Accumulator("a", int)]),
        topology={
            "split": {"inputs": ["a"], "next": ["double", "triple"]},
            "triple": {"next": "join"},
            "double": {"next": "join"},
            "join": {},
        },
        functions=[split, double, triple, join],
    )
    assert graph.run(a=7) == {"join": [21, 14]}


def test_a_wrong_graph_is_refused_when_it_is_declared() -> None:
    def n(a: int) -> int:
        return a

    with pytest.raises(GraphFailure) as failure:
        Graph("g", on=None, topology={"n": {"inputs": ["a"], "next": "q"}}, functions=[n])
    assert [problem.code for problem in failure.value.problems] == ["TRIGGERLESS_INPUT", "UNKNOWN_NODE"]


def test_a_reactor_starts_a_job_for_each_good_fire_once_in_order() -> None:
    fact = FACTS["RX-148"]
    said = fact["given"]["predicate"]

    def predicate(fire: int) -> bool:
        if said[str(fire)] == "error":
            raise ZeroDivisionError
        return bool(said[str(fire)])

    subscription, answers = Subscription(), []
    for fires in fact["events"]:
        followed = follow(subscription, fires, predicate, max_errors=fact["given"]["max_errors"])
        subscription = followed.subscription
        answers.append([list(followed.started), subscription.watermark, subscription.errors, list(followed.dead)])
    assert answers == fact["expect"]
