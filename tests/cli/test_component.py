"""`pondage component`: the library, and the components of a project."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Call

OWN = '''
from pondage import component


@component("shout", inputs={"input": "Table<Any>"}, outputs={"main": "Table<Any>"}, deterministic=True)
def shout(input, *, params, run):
    """Say it louder."""
    return input
'''


def test_the_library_is_listed_and_shown_without_spark(call: Call, project: Path) -> None:
    names = [one["name"] for one in call("component", "list", "--json").json]  # type: ignore[index]
    assert {"read_csv", "filter", "join", "iterator", "fail"} <= set(names)
    assert "fixture_failure" not in names, "only a simulation plays it"
    assert "input…" in call("component", "list").out
    shown = call("component", "show", "split").out
    assert "reject" in shown
    assert "\nA row for which it cannot be told" in shown
    assert "\n    " not in str(call("component", "show", "split", "--json").json["doc"])
    assert "where" in shown
    assert call("component", "show", "split", "--json").json["outputs"].keys() == {"main", "reject"}  # type: ignore[union-attr]
    missing = call("component", "show", "filtre")
    assert missing.code == 1
    assert "filter" in missing.err
    del project


def test_the_components_of_a_project_stand_beside_the_library_and_jobs_may_name_them(call: Call, project: Path) -> None:
    (project / "ponds").mkdir()
    (project / "ponds" / "own.py").write_text(OWN, encoding="utf-8")
    shown = call("component", "show", "shout", "--json").json
    assert shown["entry"] == "ponds.own:shout"  # type: ignore[index, call-overload]
    job = project / "job.yaml"
    job.write_text(
        "components:\n"
        "  - {name: t, type: table, params: {columns: {id: bigint}, rows: [[1]]}}\n"
        "  - {name: s, type: shout}\n"
        "  - {name: f, type: filter, params: {where: 'id > 0'}}\n"
        "connections: {data: [t.main -> s.input, s.main -> f.input]}\n",
        encoding="utf-8",
    )
    said = call("job", "validate", str(job))
    assert said.code == 0, said.err
    (project / "ponds" / "own.py").write_text(OWN.replace('"shout"', '"filter"'), encoding="utf-8")
    refused = call("job", "validate", str(job))
    assert refused.code == 1
    assert "has the name of one of the library" in refused.err


def test_queues_are_shown_bound_to_new_code_and_rendered_for_kubernetes(call: Call, project: Path) -> None:
    assert "nothing waits" in call("component", "queues").out
    assert call("component", "queues", "--json").json == {"newest": "", "queues": []}
    missing = call("component", "rebind", "7", "--to", "abc")
    assert (missing.code, "begins with 'abc'" in missing.err) == (1, True)
    manifest = call("component", "manifest", "filter", "--image", "pondage:1")
    assert manifest.code == 0, manifest.err
    assert "pondage-filter" in manifest.out
    assert "did you mean filter?" in call("component", "manifest", "filtre", "--image", "x").err
