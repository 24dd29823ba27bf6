"""Plans: how much work planning is, types across the graph, fused groups, the plan's hash."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import msgspec
import pytest

from pondage.conform.control_registry import TEST_REGISTRY
from pondage.define.job.component import ComponentDefinition, component, definition_of
from pondage.define.job.job import Call, ControlLink, DataLink, JobDefinition, JobRefused
from pondage.define.types.port import Port, natural_order
from pondage.define.types.type_registry import BUILT_IN, TypeEntry
from pondage.define.types.types import TypeSyntax, parse_type, resolved
from pondage.define.types.unify import Mismatch, unify
from pondage.errors import DefinitionError
from pondage.kernel.control.shape import JobPlan
from pondage.plan.job.planner import PlannedJob, plan_job


def counted(function: Callable[[], object]) -> int:
    """Count the calls of Python functions: the same on every machine."""
    count = 0

    def on_event(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(on_event)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


def wide(size: int) -> JobDefinition:
    calls = tuple(Call(name=f"c{number}", type="task") for number in range(size))
    control = [ControlLink(kind="ok", source=f"c{number // 2}", target=f"c{number}") for number in range(1, size)]
    control += [ControlLink(kind="ok", source=f"c{number - 1}", target=f"c{number}") for number in range(2, size, 7)]
    found = {(edge.source, edge.target): edge for edge in control}
    return JobDefinition(calls=calls, control=tuple(found.values()))


def called(size: int) -> JobDefinition:
    calls = [Call(name="s", type="source"), *(Call(name=f"k{number}", type="@j") for number in range(size // 4))]
    data = [DataLink(source="s", source_port="main", target="k0", target_port="a")]
    data += [
        DataLink(source=f"k{number - 1}", source_port="b", target=f"k{number}", target_port="a")
        for number in range(1, size // 4)
    ]
    return JobDefinition(calls=tuple(calls), data=tuple(data))


JOBLET = JobDefinition(
    calls=(Call(name="x", type="transform"), Call(name="y", type="task")),
    control=(ControlLink(kind="ok", source="x", target="y"),),
    inputs={"a": ("x", "input")},
    outputs={"b": ("y", "main")},
)


@pytest.mark.parametrize("make", [wide, called])
def test_the_work_of_planning_grows_with_the_size_and_a_thousand_components_are_little(
    make: Callable[[int], JobDefinition],
) -> None:
    small, large = (
        counted(lambda size=size: plan_job(make(size), {"j": JOBLET}, TEST_REGISTRY))  # type: ignore[misc]
        for size in (250, 1000)
    )
    assert large < 4.6 * small
    # A Python call is far below a microsecond; a second of CPU is millions of them.
    assert large < 400_000


def typed(name: str, given: dict[str, str], made: dict[str, str], **extra: object) -> ComponentDefinition:
    inputs = {port: Port(type=text) for port, text in given.items()}
    outputs = {port: Port(type=text) for port, text in made.items()}
    return ComponentDefinition(name=name, inputs=inputs, outputs=outputs, **extra)  # type: ignore[arg-type]


REGISTRY = {
    one.name: one
    for one in (
        typed("orders", {}, {"out": "Table<{id: bigint not null, region: string}>"}),
        typed("dedupe", {"in": "Table<{id: bigint | R}>"}, {"out": "Table<{id: bigint | R}>"}, vars={"R": "row"}),
        typed("regions", {"in": "Table<{id: bigint, region: string}>"}, {}),
        typed("texts", {"in": "Table<{id: string, region: string}>"}, {}),
        typed("named", {"in": "Table<Order@1.2>"}, {"out": "Table<Order@1.0>"}),
        typed("named2", {"in": "Table<Order@2>"}, {}),
        typed("lazy", {"in": "Table<Any>"}, {"out": "infer"}),
        typed("free", {}, {"out": "Table<{a: int | R}>"}, vars={"R": "row"}),
    )
}


def chained(*types: str) -> PlannedJob:
    calls = tuple(Call(name=f"c{number}", type=kind) for number, kind in enumerate(types))
    data = tuple(
        DataLink(source=f"c{number}", source_port="out", target=f"c{number + 1}", target_port="in")
        for number in range(len(types) - 1)
    )
    return plan_job(JobDefinition(calls=calls, data=data), {}, REGISTRY)


def test_types_flow_through_row_variables() -> None:
    assert chained("orders", "dedupe", "regions").plan.components
    with pytest.raises(JobRefused) as caught:
        chained("orders", "dedupe", "texts")
    assert [problem.code for problem in caught.value.problems] == ["TYPE_MISMATCH"]
    assert "c1.out -> c2.in" in caught.value.problems[0].message


def test_named_types_meet_by_name_and_major_version() -> None:
    with pytest.raises(JobRefused):
        chained("orders", "named")
    with pytest.raises(JobRefused):
        plan_job(
            JobDefinition(
                calls=(Call(name="a", type="src"), Call(name="b", type="named2")),
                data=(DataLink(source="a", source_port="out", target="b", target_port="in"),),
            ),
            {},
            {**REGISTRY, "src": typed("src", {}, {"out": "Table<Order@1.0>"})},
        )


def test_a_named_type_is_seen_through_when_the_project_declares_it() -> None:
    order = TypeEntry(name="Order", version="1.0.0", definition="{id: bigint, region: string}")
    job = JobDefinition(
        calls=(Call(name="a", type="src"), Call(name="b", type="regions")),
        data=(DataLink(source="a", source_port="out", target="b", target_port="in"),),
    )
    registry = {**REGISTRY, "src": typed("src", {}, {"out": "Table<Order@1.0>"})}
    assert plan_job(job, {}, registry, types={**BUILT_IN, order.key: order}).plan.components
    other = msgspec.structs.replace(order, definition="{id: bigint, region: int}")
    with pytest.raises(JobRefused) as caught:
        plan_job(job, {}, registry, types={**BUILT_IN, other.key: other})
    clash = caught.value.problems[0].clash
    assert clash is not None
    assert (caught.value.problems[0].code, clash.edge) == ("TYPE_MISMATCH", "a.out -> b.in")
    assert "region" in " ".join(clash.diff)


def test_what_only_spark_knows_is_unresolved_and_what_nothing_determines_is_ambiguous() -> None:
    assert chained("orders", "lazy", "regions").unresolved == ("c1.out",)
    with pytest.raises(JobRefused) as caught:
        chained("free", "regions")
    assert "AMBIGUOUS_TYPE" in [problem.code for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("got", "want", "accept", "meets"),
    [
        ("{a: int not null}", "{a: int}", "exact", True),
        ("{a: int}", "{a: int not null}", "exact", False),
        ("{a: int, b: int}", "{a: int}", "exact", False),
        ("{a: int, b: int}", "{a: int}", "subset", True),
        ("{b: int, a: int}", "{a: int, b: int}", "exact", False),
        ("{a: int}", "{a: bigint}", "exact", False),
        ("{a: int}", "{a: bigint}", "upcast", True),
        ("{a: bigint}", "{a: int}", "upcast", False),
        ("Table<Any>", "Stream<{a: int}>", "exact", True),
        ("array<int>", "array<string>", "exact", False),
        ("decimal(10,2)", "decimal(10,3)", "exact", False),
        ("map<string, int>", "map<string, int>", "exact", True),
        ("Panic", "{node: string | R}", "exact", True),
    ],
)
def test_how_two_types_meet(got: str, want: str, accept: str, meets: bool) -> None:
    bindings: dict[str, object] = {}
    try:
        unify(parse_type(got), parse_type(want, {"R": "row"}), bindings, accept=accept)  # type: ignore[arg-type]
        found = True
    except Mismatch:
        found = False
    assert found is meets


@pytest.mark.parametrize(
    "text",
    ["", "Table<", "Table<int,int>", "{a int}", "{a: int, a: int}", "decimal(a,b)", "int<int>", "Table<{}> x", "9",
     "array<" * 40 + "int" + ">" * 40],
)  # fmt: skip
def test_a_text_that_is_no_type_is_refused_with_a_column(text: str) -> None:
    with pytest.raises(TypeSyntax) as caught:
        parse_type(text)
    assert caught.value.column >= 1


def test_a_type_is_written_as_it_is_read() -> None:
    for text in ("Table<{id: bigint not null, tags: array<string> | R}>", "Result<Order@2>", "Bytes<text/csv>"):
        found = parse_type(text, {"R": "row"})
        assert parse_type(str(resolved(found, {})), {"R": "row"}) == found


def fusible(name: str, given: dict[str, Port], *made: str) -> ComponentDefinition:
    return ComponentDefinition(
        name=name, inputs=given, outputs={port: Port() for port in made}, deterministic=True, after=(), globals=()
    )


def test_deterministic_table_components_are_fused_up_to_what_others_read() -> None:
    registry = {
        "src": fusible("src", {}, "out"),
        "map": fusible("map", {"in": Port()}, "out"),
        "two": fusible("two", {"left": Port(), "right": Port()}, "out"),
    }
    calls = [Call(name=name, type=kind) for name, kind in
             (("a", "src"), ("b", "map"), ("c", "src"), ("d", "two"), ("e", "map"), ("f", "map"))]  # fmt: skip
    ends = [("a", "b", "in"), ("b", "d", "left"), ("c", "d", "right"), ("d", "e", "in"), ("d", "f", "in")]
    data = [DataLink(source=one, source_port="out", target=other, target_port=port) for one, other, port in ends]
    job = JobDefinition(calls=tuple(calls), data=tuple(data))

    def groups(plan: JobPlan) -> list[list[str]]:
        return [[plan.components[at].name for at in group] for group in plan.groups]

    assert [sorted(group) for group in groups(plan_job(job, {}, registry).plan)] == [["a", "b", "c", "d"]]
    assert groups(plan_job(job, {}, registry, fuses=False).plan) == []


def test_the_hash_of_a_plan_follows_its_content_and_a_plan_goes_through_json() -> None:
    one = plan_job(wide(5), {}, TEST_REGISTRY).plan
    assert one.hash == plan_job(wide(5), {}, TEST_REGISTRY).plan.hash != plan_job(wide(6), {}, TEST_REGISTRY).plan.hash
    assert msgspec.json.decode(msgspec.json.encode(one), type=JobPlan) == one


def test_a_component_is_declared_by_a_decorator_and_stays_a_function() -> None:
    @component("doubled", version="1.2.0", inputs={"rows": "Table<Any>"}, outputs={"main": Port()}, after=["n"])
    def double(rows: int) -> int:
        """Twice as much."""
        return 2 * rows

    assert double(2) == 4
    definition = definition_of(double)
    assert definition is not None
    assert (definition.name, definition.doc, definition.after) == ("doubled", "Twice as much.", ("n",))
    assert natural_order(["p10", "p2", "p1"]) == ["p1", "p2", "p10"]
    with pytest.raises(DefinitionError):
        component("x", inputs={"stop": "Any"})(double)
