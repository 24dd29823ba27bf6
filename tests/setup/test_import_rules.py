"""The contracts find what they forbid, and pass over rooms that are not built."""

from __future__ import annotations

from typing import Any

import pytest
from grimp import ImportGraph

from scripts.import_contracts import AcyclicContract, HomeContract, RoomContract, room_of

PURE = {"rooms": ["kernel"], "only_packages": ["msgspec"], "only_rooms": ["define", "expr"]}
READERS = {"rooms": ["views"], "never": ["spark"], "through_others": "true"}
CLIENTS = {"rooms": ["cli"], "never": ["spark"]}
DATA = {"packages": ["pyarrow"], "homes": ["spark", "engine.live"]}


def graph_of(*imports: tuple[str, str]) -> ImportGraph:
    graph = ImportGraph()
    for importer, imported in imports:
        for module in (importer, imported):
            parts = module.split(".")
            if parts[0] == "pondage":
                for length in range(1, len(parts) + 1):
                    graph.add_module(".".join(parts[:length]))
            else:
                graph.add_module(parts[0], is_squashed=True)
        graph.add_import(importer=importer, imported=imported, line_number=7, line_contents="import it")
    return graph


def violations(
    contract: type[AcyclicContract] | type[HomeContract] | type[RoomContract],
    options: dict[str, Any],
    graph: ImportGraph,
) -> list[str]:
    made = contract(name="a rule", session_options={}, contract_options=options)
    check = made.check(graph, verbose=False)
    assert check.kept == (not check.metadata["violations"])
    found: list[str] = check.metadata["violations"]
    return found


@pytest.mark.parametrize(
    "imported", ["msgspec", "enum", "pondage.define.pond", "pondage.kernel.demand", "pondage.expr.grammar"]
)
def test_a_pure_room_may_import_what_is_allowed(imported: str) -> None:
    assert violations(RoomContract, PURE, graph_of(("pondage.kernel.control", imported))) == []


@pytest.mark.parametrize("imported", ["rich", "pondage.ledger.store", "pondage.engine.worker"])
def test_a_pure_room_may_import_nothing_else(imported: str) -> None:
    found = violations(RoomContract, PURE, graph_of(("pondage.kernel.control", imported)))
    assert found == [f"pondage.kernel.control:7 imports {imported}"]


def test_a_room_that_may_import_no_other_imports_none() -> None:
    alone = {"rooms": ["define"], "only_packages": ["msgspec"], "only_rooms": []}
    graph = graph_of(("pondage.define.pond", "pondage.expr.grammar"), ("pondage.define.pond", "msgspec"))
    assert violations(RoomContract, alone, graph) == ["pondage.define.pond:7 imports pondage.expr.grammar"]


def test_the_contract_of_a_room_names_nothing_that_it_does_not_import() -> None:
    told = {**PURE, "purpose": "the machines"}
    graph = graph_of(("pondage.kernel.control", "pondage.define.pond"), ("pondage.kernel.control", "msgspec"))
    assert violations(RoomContract, PURE, graph) == []
    assert violations(RoomContract, told, graph) == [
        "kernel may import expr, and does not: take it out of its contract"
    ]


def test_a_module_of_no_room_must_keep_the_rule_of_those_who_import_it() -> None:
    graph = graph_of(("pondage.kernel.control", "pondage.errors"), ("pondage.errors", "rich"))
    assert violations(RoomContract, PURE, graph) == ["pondage.errors:7 imports rich"]


def test_a_chain_through_another_room_is_found_with_every_step() -> None:
    graph = graph_of(("pondage.views.status", "pondage.plan.diff"), ("pondage.plan.diff", "pondage.spark.session"))
    (found,) = violations(RoomContract, READERS, graph)
    assert found == (
        "pondage.views.status:7 imports pondage.plan.diff, which pondage.plan.diff:7 imports pondage.spark.session"
    )


def test_where_only_direct_imports_count_a_chain_is_allowed() -> None:
    chain = [("pondage.cli.dev", "pondage.engine.worker"), ("pondage.engine.worker", "pondage.spark.session")]
    assert violations(RoomContract, CLIENTS, graph_of(*chain)) == []
    direct = ("pondage.cli.query", "pondage.spark.session")
    assert violations(RoomContract, CLIENTS, graph_of(*chain, direct)) == [
        "pondage.cli.query:7 imports pondage.spark.session"
    ]


def test_a_library_may_be_imported_at_home_only() -> None:
    graph = graph_of(
        ("pondage.spark.footers", "pyarrow"),
        ("pondage.engine.live", "pyarrow"),
        ("pondage.engine.worker", "pyarrow"),
    )
    assert violations(HomeContract, DATA, graph) == ["pondage.engine.worker:7 imports pyarrow"]


def test_a_room_that_is_not_built_breaks_nothing() -> None:
    graph = graph_of(("pondage.define.pond", "msgspec"))
    for contract, options in ((RoomContract, PURE), (RoomContract, READERS), (HomeContract, DATA)):
        assert violations(contract, options, graph) == []


@pytest.mark.parametrize(
    "imports",
    [
        # rooms, the folders of a room, a folder and the one it lies in, modules
        [("pondage.plan.diff", "pondage.define.pond"), ("pondage.define.job", "pondage.plan.names")],
        [
            ("pondage.spark.jvm.start", "pondage.spark.files.read"),
            ("pondage.spark.files.write", "pondage.spark.jvm.ask"),
        ],
        [("pondage.spark.session", "pondage.spark.files.read"), ("pondage.spark.files.write", "pondage.spark.names")],
        [("pondage.plan.diff", "pondage.plan.names"), ("pondage.plan.names", "pondage.plan.diff")],
    ],
)
def test_a_circle_is_found_with_the_line_of_each_of_its_imports(imports: list[tuple[str, str]]) -> None:
    found = violations(AcyclicContract, {}, graph_of(*imports))
    assert found
    for one, other in imports:
        assert all(f"{one}:7 imports {other}" in each for each in found)


def test_a_longer_circle_is_shown_in_the_order_of_its_imports() -> None:
    graph = graph_of(
        ("pondage.cli.dev", "pondage.engine.worker"),
        ("pondage.engine.timer", "pondage.ledger.step"),
        ("pondage.ledger.store", "pondage.cli.main"),
    )
    (found,) = violations(AcyclicContract, {}, graph)
    steps = found.removeprefix("a circle: ").split(", ")
    rooms = [(room_of(one.partition(":")[0]), room_of(one.partition(" imports ")[2])) for one in steps]
    assert {*rooms} == {("cli", "engine"), ("engine", "ledger"), ("ledger", "cli")}
    assert all(rooms[at][1] == rooms[(at + 1) % 3][0] for at in range(3))


def test_rooms_in_layers_make_no_circle() -> None:
    graph = graph_of(
        ("pondage.cli.dev", "pondage.engine.worker"),
        ("pondage.engine.worker", "pondage.errors"),
        ("pondage.engine.live.pump", "pondage.engine.worker"),
        ("pondage.engine.live.pump", "pondage"),
        ("pondage", "pondage.errors"),
    )
    assert violations(AcyclicContract, {}, graph) == []
