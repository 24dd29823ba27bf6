"""Ports that are to be inferred: what is asked of Spark, in which rounds, and what an answer does to the plan."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pytest

from pondage.define.job.component import ComponentDefinition
from pondage.define.job.job import Call, DataLink, JobDefinition, JobRefused
from pondage.define.types.port import Port
from pondage.plan.job.inference import planned_with_answers
from pondage.plan.job.planner import PlannedJob, plan_job
from pondage.work.inference import Inferred, Question

ROWS = "Table<{id: bigint, name: string}>"


def typed(name: str, inputs: dict[str, str | Port], outputs: dict[str, str], **more: object) -> ComponentDefinition:
    return ComponentDefinition(
        name=name, startable=not inputs, digest=f"code of {name}", entry=f"shop:{name}",
        inputs={key: Port(type=one) if isinstance(one, str) else one for key, one in inputs.items()},
        outputs={key: Port(type=one) for key, one in outputs.items()}, **more,  # type: ignore[arg-type]
    )  # fmt: skip


REGISTRY = {
    one.name: one
    for one in (
        typed("orders", {}, {"out": ROWS}),
        typed("some", {}, {"out": "Table<Any>"}),
        typed("elements", {}, {"out": "Value<bigint>"}),
        typed("lazy", {"in": "Table<Any>"}, {"out": "infer", "rest": "infer"}),
        typed("element", {"in": "Value<bigint>"}, {"out": "infer"}),
        typed("join", {"left": "Table<Any>", "right": Port("Table<Any>", multi=True)}, {"out": "infer"}),
        typed("after", {"in": "Any"}, {"out": "infer"}),
        typed("file", {}, {"out": "infer"}),
        typed("streaming", {"in": "Stream<Any>"}, {"out": "infer"}, mode="stream"),
        typed("program", {"in": "Table<Any>"}, {"out": "infer"}, command=("true",)),
        typed("counted", {"in": "Table<{n: int}>"}, {}),
        typed("reads", {"in": "Table<Any>"}, {}),
    )
}


class Spark:
    """Stands for the workers: gives what it was told to, and remembers what it was asked."""

    def __init__(self, **answers: Inferred) -> None:
        self.answers = answers
        self.rounds: list[list[tuple[str, dict[str, tuple[str, ...]]]]] = []
        self.keys: list[str] = []

    def ask(self, questions: tuple[Question, ...]) -> Iterable[Inferred]:
        self.rounds.append([(one.component, one.inputs) for one in questions])
        self.keys += [one.key for one in questions]
        known = [(one, self.answers.get(one.component)) for one in questions]
        return [msgspec.structs.replace(answer, key=one.key) for one, answer in known if answer is not None]


def gives(**outputs: str) -> Inferred:
    return Inferred(key="", outputs=outputs)


def planned(spark: Spark, calls: dict[str, str], *edges: str, params: dict[str, object] | None = None) -> PlannedJob:
    ends = [tuple(part.split(".") for part in edge.split(" -> ")) for edge in edges]
    job = JobDefinition(
        calls=tuple(Call(name=name, type=kind, params=params or {}) for name, kind in calls.items()),
        data=tuple(
            DataLink(source=source, source_port=port, target=target, target_port=into)
            for (source, port), (target, into) in ends
        ),
    )
    return planned_with_answers(lambda inference: plan_job(job, {}, REGISTRY, inference=inference), spark.ask)


def test_a_chain_is_asked_round_by_round_and_each_answer_types_what_reads_it() -> None:
    spark = Spark(lazy=gives(out="Table<{n: int}>"))
    calls = {"o": "orders", "a": "lazy", "b": "lazy", "c": "counted"}
    found = planned(spark, calls, "o.out -> a.in", "a.out -> b.in", "b.out -> c.in")
    assert spark.rounds == [[("lazy", {"in": (ROWS,)})], [("lazy", {"in": ("Table<{n: int}>",)})]]
    assert found.unresolved == ()
    assert found.inferred == {"a.out": "Table<{n: int}>", "b.out": "Table<{n: int}>"}


def test_an_answer_that_does_not_meet_the_next_port_refuses_the_job() -> None:
    spark = Spark(lazy=gives(out="Table<{n: string}>"))
    with pytest.raises(JobRefused) as caught:
        planned(spark, {"o": "orders", "a": "lazy", "c": "counted"}, "o.out -> a.in", "a.out -> c.in")
    (problem,) = caught.value.problems
    assert problem.code == "TYPE_MISMATCH"
    assert problem.message.startswith("a.out -> c.in: wanted Table<{n: int}>, got Table<{n: string}>")


def test_what_spark_has_against_the_columns_is_a_problem_at_the_edge_that_brings_them() -> None:
    spark = Spark(
        join=Inferred(key="", problem="there is no `pirce`. Did you mean [`price`]?", port="left"),
        lazy=Inferred(key="", problem="no such column"),
    )
    calls = {"o": "orders", "p": "orders", "j": "join", "k": "lazy", "r": "reads", "s": "reads"}
    edges = ("o.out -> j.left", "p.out -> j.right", "o.out -> k.in", "j.out -> r.in", "k.out -> s.in")
    with pytest.raises(JobRefused) as caught:
        planned(spark, calls, *edges)
    clashes = [one.clash for one in caught.value.problems]
    assert [one and (one.edge, one.got, one.diff) for one in clashes] == [
        ("o.out -> j.left", ROWS, ("there is no `pirce`. Did you mean [`price`]?",)),
        ("o.out -> k.in", ROWS, ("no such column",)),
    ]
    assert {one.code for one in caught.value.problems} == {"TYPE_MISMATCH"}
    assert "Did you mean [`price`]?" in caught.value.problems[0].message


def test_a_problem_that_may_be_any_inputs_is_told_at_all_of_them() -> None:
    spark = Spark(join=Inferred(key="", problem="they do not fit"))
    calls = {"o": "orders", "p": "orders", "q": "orders", "j": "join", "r": "reads"}
    edges = ("o.out -> j.left", "p.out -> j.right", "q.out -> j.right", "j.out -> r.in")
    with pytest.raises(JobRefused) as caught:
        planned(spark, calls, *edges)
    assert [one.clash and one.clash.edge for one in caught.value.problems] == [
        "o.out -> j.left", "p.out -> j.right", "q.out -> j.right",
    ]  # fmt: skip
    assert spark.rounds == [[("join", {"left": (ROWS,), "right": (ROWS, ROWS)})]]


@pytest.mark.parametrize(
    ("source", "kind", "why"),
    [
        ("some", "lazy", "in gets Table<Any>, which does not tell its columns"),
        ("orders", "after", "after reads no table: declare what it gives, or a schema function"),
        ("orders", "streaming", "streaming streams, and is called on no whole table: declare what it gives"),
        ("orders", "program", "program is an external program, and Spark does not run it: declare what it gives"),
        ("elements", "element", "in takes Value<bigint>, whose value is known only when it runs"),
    ],
)
def test_what_cannot_be_asked_stays_unresolved_and_says_why(source: str, kind: str, why: str) -> None:
    spark = Spark()
    found = planned(spark, {"o": source, "a": kind, "r": "reads"}, "o.out -> a.in", "a.out -> r.in")
    assert found.unresolved == ("a.out",)
    assert found.reasons == {"a.out": why}
    assert spark.rounds == []


def test_a_source_is_not_asked_because_its_files_may_change() -> None:
    found = planned(Spark(), {"f": "file", "r": "reads"}, "f.out -> r.in")
    assert found.unresolved == ("f.out",)
    assert "declare what it gives" in found.reasons["f.out"]


def test_who_gets_no_answer_plans_with_what_there_is() -> None:
    spark = Spark()
    calls = {"o": "orders", "a": "lazy", "b": "lazy", "r": "reads"}
    found = planned(spark, calls, "o.out -> a.in", "a.out -> b.in", "b.out -> r.in")
    assert found.unresolved == ("a.out", "b.out")
    assert len(spark.rounds) == 1


def test_a_component_that_cannot_be_called_on_nothing_refuses_no_job() -> None:
    spark = Spark(lazy=Inferred(key="", why="it reads the global 'day', which only a run has"))
    found = planned(spark, {"o": "orders", "a": "lazy", "r": "reads"}, "o.out -> a.in", "a.out -> r.in")
    assert found.reasons == {"a.out": "it reads the global 'day', which only a run has"}


def test_only_ports_that_somebody_reads_are_asked_for() -> None:
    spark = Spark()
    assert planned(spark, {"o": "orders", "a": "lazy"}, "o.out -> a.in").unresolved == ()
    assert spark.rounds == []


def test_the_key_of_a_question_is_its_code_its_types_and_its_parameters() -> None:
    def key(source: str = "orders", params: dict[str, object] | None = None) -> str:
        spark = Spark()
        planned(spark, {"o": source, "a": "lazy", "r": "reads"}, "o.out -> a.in", "a.out -> r.in", params=params)
        return spark.keys[0]

    plain = key()
    assert key() == plain
    assert key(params={"n": 1}) != plain
    REGISTRY["others"] = typed("others", {}, {"out": "Table<{id: bigint}>"})
    assert key("others") != plain
    kept = REGISTRY["lazy"]
    try:
        REGISTRY["lazy"] = msgspec.structs.replace(kept, digest="mended")
        assert key() != plain
        REGISTRY["lazy"] = msgspec.structs.replace(kept, archive="deployed", doc="Words.")
        assert key() == plain, "where the code lies and what is said about it changes no type"
    finally:
        REGISTRY["lazy"] = kept
        del REGISTRY["others"]
