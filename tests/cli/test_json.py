"""`--json` of every verb that answers something."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
import pytest

from pondage.cli.main import program
from pondage.kernel.demand.events import Kill, Pulse
from pondage.kernel.demand.shape import PondKey
from pondage.views.ponds.status import StatusView
from tests.cli.conftest import Call
from tests.ledger.harness import World

WITHOUT = {
    "demo": "a walk for people, which runs other verbs",
    "dev": "runs until it is ended",
    "live": "runs until it is ended",
    "worker": "runs until it is ended",
    "serve": "runs until it is ended",
    "flow extract": "answers the bytes of an output",
    "component manifest": "answers a manifest in YAML",
    "mailbox close": "the ports of a program, for shells",
    "mailbox health": "the ports of a program, for shells",
    "mailbox panic": "the ports of a program, for shells",
    "mailbox pop": "the ports of a program, for shells",
    "mailbox put": "the ports of a program, for shells",
    "mailbox take": "the ports of a program, for shells",
    "mailbox wait-stop": "the ports of a program, for shells",
}


def verbs(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(command)
    if not isinstance(command, click.Group):
        yield " ".join(path), command
        return
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from verbs(found, (*path, name))


def test_every_verb_that_answers_something_answers_json() -> None:
    all_of_them = dict(verbs(program))
    without = {name for name, verb in all_of_them.items() if "--json" not in {o for p in verb.params for o in p.opts}}
    assert without == set(WITHOUT)
    assert len(all_of_them) > 70, "the groups were looked into"


@pytest.mark.parametrize(
    "arguments",
    [
        ("tap", "sales"),
        ("pulse", "sales"),
        ("wave", "sales"),
        ("tide", "sales", "5m"),
        ("calm", "sales"),
        ("clear", "sales"),
        ("kill", "sales"),
        ("sleep", "sales"),
        ("wake", "sales"),
        ("force", "sales"),
    ],
    ids=lambda each: each[0],
)
def test_what_tells_a_pond_something_answers_how_it_is_now(
    world: World, call: Call, arguments: tuple[str, ...]
) -> None:
    said = call(*arguments, "--json")
    assert said.code == 0
    view = msgspec.json.decode(said.out, type=StatusView)
    assert [pond.key for pond in view.ponds] == ["sales@1"]


def test_ponds_that_are_told_together_are_answered_together(world: World, call: Call) -> None:
    world.send(Kill(pond=PondKey("sales@1")))
    world.send(Pulse(pond=PondKey("orders@1")))
    view = msgspec.json.decode(call("clear", "sales", "reports", "--json").out, type=StatusView)
    assert {pond.key: pond.state for pond in view.ponds} == {"reports@1": "idle", "sales@1": "idle"}


def test_a_new_project_says_which_files_it_has(tmp_path: Path, call: Call) -> None:
    said = call("init", str(tmp_path / "shop"), "--json").json
    assert all(Path(each).is_file() for each in said["files"])  # type: ignore[attr-defined]
    assert said["directory"] == str(tmp_path / "shop")
