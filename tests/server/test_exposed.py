"""A project's own programs in trees that others submit: known to the ledger by a deploy, wherever the files are."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pondage.cli.client.remote import Server
from pondage.define.job.component import ComponentDefinition, Resources, Scaling
from pondage.define.job.exposed import Exposed
from pondage.define.types.port import Port
from pondage.define.types.type_registry import TypeEntry
from pondage.errors import PondageError
from pondage.ledger.act.exposed import given
from pondage.ledger.step.job_inputs import program_of
from pondage.operations.trees import FlowCheckView
from pondage.project.archive import pack_project
from pondage.project.project import load_project
from pondage.views.jobs.jobs import find_run
from tests.server import test_remote
from tests.server.conftest import token_of
from tests.server.test_remote import Far

far = test_remote.far

PROGRAMS = """
from pondage import component, external_program

@component("louder", inputs={{"words": "Table<Word>"}}, outputs={{"main": "Table<Word>"}}, after=(), globals=(),
           deterministic=True, exposed=True)
def louder(words, *, params, run):
    "Says it louder."
    return words.limit({n})

@component("hidden", inputs={{"words": "Table<Word>"}})
def hidden(words, *, params, run):
    return words

lines = external_program("lines", command=["sh", "programs/lines.sh"], inputs={{"text": "Bytes<text/plain>"}},
                         outputs={{"count": "Value<bigint>"}}, deterministic=True, exposed=True)
"""
SETTINGS = """[project]
name = "words"
modules = ["programs.py"]

[types.Word]
version = "1.0.0"
definition = "{word: string, times: bigint}"
doc = "A word and how often it is said."
"""
TREE: dict[str, Any] = {
    "version": 1,
    "nodes": {
        "said": {"const": {"type": "Table<Word>", "value": [{"word": "oh", "times": 2}]}},
        "loud": {"prog": "louder@1"},
        "often": {"prog": "filter@1", "params": {"where": "times > 1"}},
    },
    "edges": [["said.out", "loud.words"], ["loud.main", "often.input"]],
    "extract": {"found": {"from": "often.main", "format": "csv"}},
}


@pytest.fixture(autouse=True)
def author(far: Far) -> Path:
    """The author's folder, where `far` calls from."""
    here = Path.cwd()
    (here / "ponds.py").unlink()
    (here / "pondage.toml").write_text(SETTINGS)
    (here / "programs").mkdir()
    (here / "programs" / "lines.sh").write_text("echo\n")
    (here / "programs.py").write_text(PROGRAMS.format(n=3))
    return here


def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without any project, with a tree."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "tree.json").write_text(json.dumps(TREE))
    monkeypatch.chdir(folder)
    return folder


def checked(far: Far, tree: dict[str, Any] = TREE) -> dict[str, Any]:
    said = Server(far.url, far.token).asked("POST", "/v1/flows/check", {"text": json.dumps(tree)}, dict[str, Any])
    assert isinstance(said, dict)
    return said


def submitted(far: Far, tree: dict[str, Any] = TREE) -> str:
    began = Server(far.url, far.token).asked("POST", "/v1/flows", {"tree": tree, "name": "said"}, dict[str, str])
    assert isinstance(began, dict)
    return str(began["run"])


def codes(far: Far, run: str) -> dict[str, str]:
    """Which code each execution of a run waits for, by its components."""
    rows = far.world.rows(
        """SELECT q.components AS components, q.code AS code FROM dispatches d JOIN queues q ON q.id = d.queue
           JOIN job_runs r ON r.actor = d.actor WHERE r.public_id = :run""",
        run=run,
    )
    return {str(row["components"]): str(row["code"]) for row in rows}


def deployed(far: Far, name: str) -> ComponentDefinition:
    with far.world.ledger.reading() as tx:
        return given(tx, "main").components[name]


def newest(far: Far) -> str:
    return str(far.world.one("SELECT archive FROM deployments ORDER BY id DESC LIMIT 1"))


def test_a_tree_names_a_program_that_nobody_exposes_until_its_project_is_deployed(far: Far) -> None:
    refused = checked(far)
    assert {(one["code"], one["pointer"]) for one in refused["problems"]} >= {("UNKNOWN_PROG", "/nodes/loud/prog")}
    assert any("pondage deploy" in one["message"] for one in refused["problems"])
    planned = msgspec.json.decode(far("plan", "--json").out)
    assert [(one["kind"], one["name"], one["change"]) for one in planned["exposed"]] == [
        ("component", "lines", "added"),
        ("component", "louder", "added"),
        ("type", "Word@1", "added"),
    ]
    done = far("deploy")
    assert "+ component louder 1.0.0 added" in done.out, done.err
    assert "nothing to deploy" in far("plan").out
    view = checked(far)
    assert view["ok"], view["problems"]
    assert {(edge["source"], edge["type"]) for edge in view["edges"]} == {
        ("said.out", "Table<Word>"),
        ("loud.main", "Table<Word>"),
    }
    hidden = {**TREE, "nodes": {**TREE["nodes"], "loud": {"prog": "hidden"}}}
    assert ("UNKNOWN_PROG", "/nodes/loud/prog") in {
        (one["code"], one["pointer"]) for one in checked(far, hidden)["problems"]
    }


def test_what_runs_keeps_its_code_and_a_new_submit_takes_the_newest_deploy(far: Far) -> None:
    far("deploy")
    first, before = submitted(far), newest(far)
    # One execution: the program fuses with those of the library, as it does when its author submits the tree.
    assert codes(far, first) == {"louder": before}
    Path("programs.py").write_text(PROGRAMS.format(n=9))
    assert "~ component louder 1.0.0 changed" in far("deploy").out
    second = submitted(far)
    assert newest(far) != before
    assert (codes(far, first), codes(far, second)) == ({"louder": before}, {"louder": newest(far)})
    Path("programs.py").write_text("VALUE = 1\n")
    Path("pondage.toml").write_text(SETTINGS.partition("[types")[0])
    assert "- component louder 1.0.0 removed" in far("deploy").out
    assert not checked(far)["ok"]
    assert "+ component louder 1.0.0 added" in far("rollback").out
    assert codes(far, submitted(far)) == codes(far, second)


def test_a_changed_file_of_a_program_in_another_language_is_deployed(far: Far) -> None:
    far("deploy")
    Path("programs", "lines.sh").write_text("echo more\n")
    planned = far("plan").out
    assert "~ component lines 1.0.0 changed" in planned
    assert "louder" not in planned
    Path("programs", "lines.sh").write_text("echo\n")
    Path("other.py").write_text("VALUE = 2\n")
    assert "nothing to deploy" in far("plan").out


def test_the_mailbox_of_a_program_stays_over_a_deploy_of_other_files(far: Far) -> None:
    far("deploy")
    before = deployed(far, "lines")
    Path("programs.py").write_text(PROGRAMS.format(n=9))
    far("deploy")
    after = deployed(far, "lines")
    assert before.archive != after.archive
    assert program_of(before, before.archive, {}).hash == program_of(after, after.archive, {}).hash
    Path("programs", "lines.sh").write_text("echo more\n")
    far("deploy")
    changed = deployed(far, "lines")
    assert program_of(changed, changed.archive, {}).hash != program_of(after, after.archive, {}).hash


def test_a_tree_is_checked_and_submitted_from_a_folder_without_a_project(
    far: Far, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far("deploy")
    elsewhere(tmp_path, monkeypatch)
    assert "ok: 3 nodes" in far("flow", "check", "tree.json").out
    run = msgspec.json.decode(far("flow", "submit", "tree.json", "--json").out)["run"]
    assert codes(far, run) == {"louder": newest(far)}
    shown = msgspec.json.decode(far("component", "show", "louder", "--json").out)
    assert (shown["project"], shown["archive"], shown["doc"]) == ("words", newest(far), "Says it louder.")
    assert "words" in far("type", "show", "Word").out
    assert far("component", "show", "hidden").code == 1


def test_programs_of_two_projects_meet_in_one_tree_each_with_its_own_code(far: Far) -> None:
    far("deploy")
    first = newest(far)
    Path("pondage.toml").write_text(SETTINGS.replace('"words"', '"more"'))
    refused = far("deploy")
    assert "error[FOREIGN_COMPONENT]" in refused.err
    Path("programs.py").write_text(PROGRAMS.format(n=1).replace('"louder"', '"softer"').replace('"lines"', '"rows"'))
    Path("pondage.toml").write_text(SETTINGS.replace('"words"', '"more"').replace("bigint", "double"))
    assert "error[FOREIGN_TYPE]" in far("deploy").err
    Path("pondage.toml").write_text(SETTINGS.replace('"words"', '"more"'))
    assert far("deploy").code == 0
    nodes = {**TREE["nodes"], "often": {"prog": "softer"}}
    both = {**TREE, "nodes": nodes, "edges": [["said.out", "loud.words"], ["loud.main", "often.words"]]}
    run = submitted(far, both)
    with far.world.ledger.reading() as tx:
        stored = far.world.ledger.job(tx, find_run(tx, "main", run).definition).stored
    assert stored.archive == ""
    assert {one.name: one.archive for one in stored.components.values()} == {
        "const": "",
        "louder": first,
        "softer": newest(far),
    }
    assert codes(far, run) == {"const": ""}


def test_an_environment_below_uses_what_is_deployed_above_until_it_has_its_own(far: Far) -> None:
    far("deploy")
    other = far("plan", "--env", "dev", "--json")
    assert {one["change"] for one in msgspec.json.decode(other.out)["exposed"]} == {"unchanged"}
    far("deploy", "--env", "dev")
    with far.world.ledger.reading() as tx:
        assert sorted(given(tx, "dev").components) == ["lines", "louder"]
    Path("programs.py").write_text(PROGRAMS.format(n=9))
    far("deploy", "--env", "dev")
    with far.world.ledger.reading() as tx:
        found = [given(tx, name).components["louder"] for name in ("dev", "main")]
    assert found[0].archive != found[1].archive
    assert found[0].digest != found[1].digest


def own(**changes: Any) -> ComponentDefinition:
    found: dict[str, Any] = {
        "name": "mine",
        "exposed": True,
        "entry": "programs:mine",
        "outputs": {"main": Port(type="Any")},
    }
    return ComponentDefinition(**{**found, **changes})


HOSTILE = [
    (Exposed(components=(own(name="filter"),)), "DUPLICATE_NAME"),
    (Exposed(components=(own(name="../x"),)), "BAD_NAME"),
    (Exposed(components=(own(archive="0" * 64),)), "FOREIGN_CODE"),
    (Exposed(components=(own(exposed=False),)), "NOT_EXPOSED"),
    (Exposed(components=(own(entry="pondage.components.files:read_csv"),)), "NOT_EXPOSED"),
    (Exposed(components=(own(inputs={"a/b": Port(type="Any")}),)), "BAD_NAME"),
    (Exposed(components=(own(inputs={"in": Port(type="Table<")}),)), "BAD_TYPE"),
    (Exposed(components=(own(params={"type": 5}),)), "BAD_SCHEMA"),
    (Exposed(components=(own(params={"properties": {"a": {"pattern": "("}}}),)), "BAD_SCHEMA"),
    (Exposed(components=(own(params={"properties": {"a": {"pattern": r"(a)\1"}}}),)), "BAD_SCHEMA"),
    (Exposed(components=(own(resources=Resources(memory=("2g", "1g"))),)), "BAD_SIZE"),
    (Exposed(components=(own(scaling=Scaling(min=2, max=1)),)), "BAD_SCALING"),
    (Exposed(types={"Table": TypeEntry(name="Table", definition="{id: bigint}")}), "BAD_TYPE"),
    (Exposed(types={"Other@1": TypeEntry(name="Word", version="1", definition="{id: bigint}")}), "BAD_TYPE"),
]


def test_what_no_declaration_could_say_is_refused_and_nothing_is_stored(far: Far) -> None:
    archive = pack_project(load_project(Path.cwd())).data
    server = Server(far.url, token_of(far.world, "operate"))
    for exposed, code in HOSTILE:
        with pytest.raises(PondageError) as refused:
            server.asked("POST", "/v1/deploy", {"project": "words", "archive": archive, "exposed": exposed}, object)
        assert refused.value.code == code, exposed
    assert far.world.rows("SELECT id FROM deployments") == []


def test_a_text_that_would_hold_an_expression_up_is_checked_at_once_and_nobody_waits(far: Far) -> None:
    """27 characters took 7 s, and each one more twice as long: here are a thousand."""
    evil = {"type": "object", "properties": {"to": {"type": "string", "pattern": r"^([a-z0-9]+[.-]?)+@example$"}}}
    archive = pack_project(load_project(Path.cwd())).data
    server = Server(far.url, token_of(far.world, "operate"))
    server.asked(
        "POST", "/v1/deploy",
        {"project": "words", "archive": archive, "exposed": Exposed(components=(own(params=evil),))}, object,
    )  # fmt: skip
    reader = Server(far.url, token_of(far.world, "read"))
    for address, codes in (("a" * 1_000 + "!", ["PARAMS_SCHEMA"]), ("a.b@example", [])):
        tree = {"version": 1, "nodes": {"one": {"prog": "mine@1", "params": {"to": address}}}, "edges": []}
        said = reader.asked("POST", "/v1/flows/check", {"text": json.dumps(tree)}, FlowCheckView)
        assert isinstance(said, FlowCheckView)
        assert [each.code for each in said.problems if each.code == "PARAMS_SCHEMA"] == codes
