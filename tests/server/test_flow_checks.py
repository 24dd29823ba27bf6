"""A tree is checked while somebody writes it: everything that is wrong at its place, or the types on its edges."""

import msgspec

from tests.server.conftest import As

TREE = {
    "version": 1,
    "nodes": {
        "orders": {"const": {"type": "Table<{id: bigint, amount: double}>", "value": [{"id": 1, "amount": 2.0}]}},
        "big": {"prog": "split@1", "params": {"where": "amount > 100"}},
        "rest": {"prog": "void_sink@1"},
    },
    "edges": [["orders.out", "big.input"], ["big.reject", "rest.input"]],
    "extract": {"found": {"from": "big.main", "format": "csv"}},
}


def text(**changes: object) -> str:
    return msgspec.json.encode({**TREE, **changes}).decode()


def test_a_tree_that_fits_is_answered_with_the_types_on_its_edges(client: As) -> None:
    said = client("read").post("/v1/flows/check", {"text": text()}).json
    assert said["ok"], said
    row = "Table<{id: bigint, amount: double}>"
    assert [(edge["source"], edge["target"], edge["type"]) for edge in said["edges"]] == [
        ("orders.out", "big.input", row),
        ("big.reject", "rest.input", row),
    ]
    assert said["extracts"] == {"found": {"source": "big.main", "format": "csv", "type": row}}
    assert {node["name"] for node in said["nodes"]} == {"orders", "big", "rest"}


def test_what_is_wrong_is_told_with_the_pointer_to_its_place(client: As) -> None:
    asking = client("read")
    edges = [["orders.out", "big.inputt"], ["big.reject", "rest.input"]]
    said = asking.post("/v1/flows/check", {"text": text(edges=edges)}).json
    assert not said["ok"]
    assert ("UNKNOWN_PORT", "/edges/0") in {(each["code"], each["pointer"][:8]) for each in said["problems"]}
    broken = asking.post("/v1/flows/check", {"text": '{"version": 1,'}).json
    assert [each["code"] for each in broken["problems"]] == ["JSON_SYNTAX"]


def test_a_constant_is_a_problem_until_somebody_has_stored_it(client: As) -> None:
    asking = client("operate")
    ref = "sha256:" + "ab" * 32
    nodes = {"c": {"const": {"type": "Bytes<text/csv>", "ref": ref}}, "rest": {"prog": "void_sink@1"}}
    given = {"text": text(nodes=nodes, edges=[["c.out", "rest.input"]], extract={})}
    said = asking.post("/v1/flows/check", given).json
    assert ("UNKNOWN_REF", "/nodes/c/const/ref") in {(each["code"], each["pointer"]) for each in said["problems"]}
    assert asking.get(f"/v1/flows/constants/{ref}").status == 404
    stored = asking.post("/v1/flows/constants", {"data": "aWQKMQo="}).json["ref"]
    assert asking.get(f"/v1/flows/constants/{stored}").json == {"ref": stored}
    nodes["c"]["const"]["ref"] = stored
    given = {"text": text(nodes=nodes, edges=[["c.out", "rest.input"]], extract={})}
    assert "UNKNOWN_REF" not in {each["code"] for each in asking.post("/v1/flows/check", given).json["problems"]}


def test_the_plan_of_a_flow_that_runs_has_the_types_that_were_inferred(client: As) -> None:
    asking = client("operate")
    run = asking.post("/v1/flows", {"tree": TREE}).json["run"]
    edges = asking.get(f"/v1/jobs/runs/{run}/graph").json["edges"]
    row = "Table<{id: bigint, amount: double}>"
    assert [(edge["label"], edge["type"]) for edge in edges] == [("out → input", row), ("reject → input", row)]


def test_a_tree_that_is_not_whole_is_told_its_types_and_what_fits(client: As) -> None:
    nodes = {**TREE["nodes"], "hello": {"prog": "greet@1"}}  # type: ignore[dict-item]
    said = (
        client("read")
        .post("/v1/flows/check", {"text": text(nodes=nodes, edges=TREE["edges"]), "port": "big.main"})
        .json
    )
    assert not said["ok"]
    row = "Table<{id: bigint, amount: double}>"
    assert said["types"]["big.main"] == row
    assert said["fits"]["rest.input"] == {"got": row, "want": "Any", "why": ""}
    assert "the column is missing" in said["fits"]["hello.input"]["why"]
    assert client("read").post("/v1/flows/check", {"text": "{", "port": "big.main"}).json["fits"] == {}
