"""`pondage flow check` with the library: every problem with its pointer, or the typed tree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pondage.cli.look.flow import flow
from pondage.components.registry import built_in

TREE: dict[str, Any] = {
    "version": 1,
    "nodes": {
        "src": {
            "prog": "read_csv@1",
            "params": {"location": "landing", "file": "orders.csv", "columns": {"id": "bigint", "region": "string"}},
        },
        "eu": {"const": {"type": "Table<{region: string}>", "value": [{"region": "EU"}]}},
        "j": {"prog": "join@1", "params": {"on": ["region"], "how": "semi"}},
        "d": {"prog": "dedupe", "params": {"keys": ["id"]}},
    },
    "edges": [["src.main", "j.left"], ["eu.out", "j.right"], ["j.main", "d.input"]],
    "extract": {"clean": {"from": "d.main", "format": "parquet", "retention": "7d"}},
}


def checked(root: Path, monkeypatch: pytest.MonkeyPatch, tree: object, *options: str) -> Result:
    (root / "pondage.toml").write_text('[locations]\nlanding = "data"\n', encoding="utf-8")
    (root / "tree.json").write_text(json.dumps(tree), encoding="utf-8")
    monkeypatch.chdir(root)
    return CliRunner().invoke(flow, ["check", "tree.json", *options], catch_exceptions=False)


def test_a_good_tree_is_shown_with_its_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = checked(tmp_path, monkeypatch, TREE)
    assert done.exit_code == 0
    assert "Table<{id: bigint, region: string}>" in done.output
    assert "ok: 4 nodes, 3 edges" in done.output
    found = json.loads(checked(tmp_path, monkeypatch, TREE, "--json").output)
    assert found["ok"] is True
    assert found["edges"][1] == {
        "source": "eu.out", "target": "j.right", "type": "Table<{region: string}>", "is_stream": False,
        "pointer": "/edges/1",
    }  # fmt: skip
    assert found["extracts"]["clean"]["type"] == "Table<{id: bigint, region: string}>"


def test_a_bad_tree_is_refused_with_pointers_and_both_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = json.loads(json.dumps(TREE))
    tree["nodes"]["src"]["params"]["location"] = "elsewhere"
    tree["nodes"]["n"] = {"const": {"type": "Value<int>", "value": 1}}
    tree["edges"][1][0] = "n.out"
    done = checked(tmp_path, monkeypatch, tree)
    assert done.exit_code == 4
    assert "/nodes/src/params/location: src: there is no location 'elsewhere'" in done.output
    found = json.loads(checked(tmp_path, monkeypatch, tree, "--json").output)
    clash = next(one for one in found["problems"] if one["code"] == "TYPE_MISMATCH")
    assert clash["pointer"] == "/edges/1"
    assert (clash["types"]["want"], clash["types"]["got"]) == ("Table<Any>", "Value<int>")


def test_the_library_offers_no_way_around_locations() -> None:
    for name, one in built_in().items():
        if not one.exposed:
            continue
        properties: Any = one.params.get("properties", {})
        formats = {key: schema.get("format") for key, schema in properties.items()}
        assert formats.get("path", "path") == "path", name
        assert formats.get("location", "location") == "location", name
        assert "url" not in properties, name
        assert one.kind == "plain", name
        # A value may be wired to a port: none of a tree's may say where to look.
        assert all(port.job_only for port in one.inputs.values() if port.type.startswith("Value")), name


def test_components_that_write_globals_or_wait_are_not_for_trees() -> None:
    exposed = {name for name, one in built_in().items() if one.exposed}
    for name in ("set_globals", "log_globals", "sleep", "fail", "iterator", "read_jdbc", "write_jdbc", "file_list"):
        assert name not in exposed
        assert name in built_in()
    assert exposed >= {"read_csv", "write_parquet", "filter", "join", "void_sink", "union"}
    assert all(built_in()[name].globals == () for name in exposed)


def test_the_tree_of_the_documentation_is_accepted_as_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[2] / "docs" / "flows.md").read_text(encoding="utf-8")
    tree = json.loads(text.split("```json\n")[1].split("```")[0])
    shown = text.split("```text\n")[1].split("```")[0].splitlines()
    monkeypatch.setenv("COLUMNS", "140")
    done = checked(tmp_path, monkeypatch, tree)
    assert done.exit_code == 0, done.output
    assert [line.split() for line in done.output.splitlines()[:-1]] == [line.split() for line in shown[:-1]]
    assert done.output.splitlines()[-1].split()[:6] == shown[-1].split()[:6]


def test_a_program_that_is_not_there_is_told_with_the_one_that_may_have_been_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = {"d": {"prog": "dedup@1"}, "n": {"prog": "qqqqq"}}
    said = " ".join(checked(tmp_path, monkeypatch, {"version": 1, "nodes": nodes, "edges": []}).output.split())
    assert "there is no program 'dedup@1'; did you mean 'dedupe'?" in said
    assert "there is no program 'qqqqq'; deploy the project that exposes it" in said
