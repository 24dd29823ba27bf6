"""Verbs of reactors through a server, beside the same on the machine of the live host."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pondage.cli.client.desk import Here, There
from pondage.cli.client.remote import Server
from pondage.cli.client.session import Session
from pondage.cli.client.settings import Settings
from pondage.ledger.tables import api_tokens
from pondage.ledger.tables.history import this_person
from pondage.operations import reactors
from pondage.project.project import load_project
from pondage.server.call import Service
from pondage.server.serving import ServeOptions, bound, serving
from tests.engine.live.hosting import Hosting, hosting
from tests.server.test_twins import said


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosting]:
    with hosting(tmp_path_factory.mktemp("live") / "project") as made:
        made.start()
        made.client().ask(op="state")
        yield made


@pytest.fixture(scope="module")
def far(live: Hosting) -> Iterator[list[str]]:
    service = Service(ledger=live.ledger, environment="main", warehouse=live.root, project=load_project(live.root))
    with live.ledger.transaction() as tx:
        token, _ = api_tokens.create(tx, live.ledger.ids, name="far", level="admin", environments=("main",))
    options = ServeOptions(port=0)
    with bound(options) as listening, serving(service, options, listening):
        yield ["--server", f"http://127.0.0.1:{listening.getsockname()[1]}", "--token", token]


def still(said: Any) -> Any:
    """What was said, without what passes with time between two looks."""
    if isinstance(said, dict):
        return {name: still(value) for name, value in said.items() if name not in ("at", "now", "age_us")}
    return [still(each) for each in said] if isinstance(said, list) else said


@pytest.mark.parametrize(
    "line", ["reactor list", "reactor state quote", "reactor dead quote", "reactor history quote", "why quote"]
)
def test_a_reading_verb_of_reactors_says_the_same_from_near_and_far(
    line: str, live: Hosting, far: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(live.root)
    arguments = line.split()
    near, there = said(capsys, arguments), said(capsys, [*arguments, *far])
    assert (there.code, there.out) == (near.code, near.out), there.err
    near, there = said(capsys, [*arguments, "--json"]), said(capsys, [*arguments, "--json", *far])
    assert still(msgspec.json.decode(there.out)) == still(msgspec.json.decode(near.out))


def test_a_reactor_is_commanded_from_afar(
    live: Hosting, far: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said(capsys, ["reactor", "push", "quote", "ticks", '{"number": 1}', *far]).out.startswith("accepted")
    refused = said(capsys, ["reactor", "push", "quote", "ticks", '{"number": "x"}', *far])
    assert (refused.code, refused.out) == (1, "refused: invalid at $.number\n")
    assert said(capsys, ["reactor", "pause", "quote", *far]).out == "quote: paused\n"
    assert said(capsys, ["reactor", "fire", "quote", *far]).code == 0
    assert said(capsys, ["reactor", "fire-with", "quote", 'ticks={"number": 3}', *far]).code == 0
    assert said(capsys, ["reactor", "resume", "quote", *far]).code == 0
    assert said(capsys, ["reactor", "sleep", "quote", *far]).out == "quote: paused\n"
    assert said(capsys, ["reactor", "kill", "quote", *far]).out == "quote: halted\n"
    assert said(capsys, ["reactor", "resume", "quote", *far]).code == 0
    assert said(capsys, ["reactor", "redrive", "quote", "77", *far]).code == 1
    assert said(capsys, ["reactor", "pause", "nothing", *far]).code == 1


def test_a_reactor_is_repaired_from_afar(
    live: Hosting, far: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = said(capsys, ["reactor", "skip", "quote", "journal@99999", *far])
    assert (refused.code, "NO_ITEM" in refused.err, "pondage why quote" in refused.err) == (1, True, True)
    reset = said(capsys, ["reactor", "reset", "quote", "--to", "empty", "--note", "stuck", *far])
    assert reset.out.startswith("quote: begins again; ")
    letters = msgspec.json.decode(said(capsys, ["reactor", "dead", "quote", "--json", *far]).out)
    assert any(str(each["id"]).startswith("journal@") for each in letters)
    undone = said(capsys, ["reactor", "redrive", "quote", str(letters[-1]["id"]), *far])
    assert (undone.code, "undecodable" in undone.err) == (1, True)
    with live.ledger.reading() as tx:
        rows = [(row["verb"], row["note"]) for row in tx.rows("SELECT verb, note FROM audit ORDER BY id")]
    assert ("reactor skip", "journal@99999") in rows
    assert ("reactor reset", "empty stuck") in rows
    assert said(capsys, ["reactor", "push", "quote", "ticks", '{"number": 1}', *far]).code == 0
    assert "by hand" in said(capsys, ["reactor", "history", "quote", *far]).out


def test_a_reactor_is_watched_from_near_and_far_alike(live: Hosting, far: list[str]) -> None:
    near = Here(Session(project=load_project(live.root), ledger=live.ledger))
    there = There(Server(far[1], far[3]), Settings())
    first = [next(desk.follow(reactors.reactor_watch, reactor="quote")) for desk in (near, there)]
    assert {str(each["state"]["state"]) for each in first} == {"Live"}  # type: ignore[index]


def test_a_command_is_audited_once_with_a_name_from_near_and_far(
    live: Hosting, far: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(live.root)
    for where, who in (([], this_person().who), (far, "token far")):
        with live.ledger.reading() as tx:
            before = len(tx.rows("SELECT id FROM audit"))
        assert said(capsys, ["reactor", "resume", "quote", *where]).code == 0
        with live.ledger.reading() as tx:
            (row,) = tx.rows("SELECT who, verb, target FROM audit ORDER BY id")[before:]
        assert str(row["who"]).startswith(who)
        assert (row["verb"], row["target"]) == ("reactor resume", "quote")
