"""`pondage reactor …` against a real live host, and why a reactor does not fire."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from rich.console import Console
from rich.live import Live

from pondage.cli.follow.screen import LinesScreen, TableScreen
from pondage.define.reactor.reaction import AccumulatorDeclaration, ReactorDeclaration
from pondage.kernel.reaction import new_state, step
from pondage.kernel.reaction.declared import shape_of
from pondage.kernel.reaction.events import Accumulator, Ask, Begin, Push, ReactorCrashed
from pondage.kernel.reaction.look import look
from pondage.ledger.commit import reactor_work
from pondage.ledger.tables.reactors import Lease, ReactorRow
from pondage.views.ponds.status import status
from pondage.views.reactors.reactors import why_reactor
from tests.cli.conftest import Call
from tests.engine.live.hosting import Hosting, hosting


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hosting]:
    with hosting(tmp_path / "project") as made:
        monkeypatch.chdir(made.root)
        made.start()
        made.client().ask(op="state")
        yield made


def test_a_list_without_reactors_is_empty_and_says_what_to_type(project: Path, call: Call) -> None:
    listed = call("reactor", "list")
    assert (listed.code, listed.err) == (0, "")
    assert "no reactor is deployed in environment main" in listed.out
    assert "pondage deploy" in listed.out
    assert call("reactor", "list", "--json").json == []


@pytest.mark.parametrize("listen", ["0.0.0.0:8650", "8650", "host:http"])
def test_live_hosts_that_nobody_could_find_are_not_started(project: Path, call: Call, listen: str) -> None:
    refused = call("live", "--listen", listen)
    assert (refused.code, "BAD_LISTEN" in refused.err, "by which other machines" in refused.err) == (1, True, True)


def test_logs_of_a_reactor_are_those_of_what_workers_did_for_it(live: Hosting, call: Call) -> None:
    nothing = call("logs", "quote")
    assert (nothing.out, "pondage why quote" in nothing.err) == ("", True)
    row = live.row
    assert row is not None
    with live.ledger.transaction() as tx:
        lease = Lease(actor=row.actor, environment=row.environment, name="quote", epoch=1, token="t")
        said = {"code": row.code, "entry": row.entry, "source": "clicks", "every": None}
        reactor_work.take(tx, lease, "dispatch stream", msgspec.json.encode(said).decode())
        tx.change("UPDATE executions SET claimed_at = 1, epoch = 1")
        dispatch = tx.row("SELECT id FROM dispatches WHERE kind = 'stream'")
    assert dispatch is not None
    log = Path(live.config.warehouse) / "logs" / "reactors" / f"{dispatch['id']}-1.log"
    log.parent.mkdir(parents=True)
    log.write_text("2026-11-15T17:40:01.123Z INFO reading clicks\n")
    assert call("logs", "quote").out.endswith("quote.clicks INFO reading clicks\n")
    assert call("logs", "quote", "--ripple", "other").out == ""
    assert call("logs", "quote", "--json").json["reactor"] == "quote"


def test_every_verb_of_a_reactor_does_what_it_says(live: Hosting, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    pushed = call("reactor", "push", "quote", "ticks", '{"number": 1}')
    assert (pushed.code, pushed.out) == (0, "accepted as number 1\n")
    refused = call("reactor", "push", "quote", "ticks", '{"number": "x"}')
    assert (refused.code, refused.out) == (1, "refused: invalid at $.number\n")
    monkeypatch.setattr("sys.stdin", io.StringIO('{"number": 2}\n\n{"number": 3}\n'))
    lines = call("reactor", "push", "quote", "ticks", "--json").out.splitlines()
    assert [msgspec.json.decode(line)["seq"] for line in lines] == [2, 3]
    assert call("reactor", "push", "quote", "ticks", "{}").out == "refused: invalid at $.number\n"
    monkeypatch.setattr("sys.stdin", io.StringIO("\nnonsense\n"))
    assert "line 2: 'nonsense' is no JSON" in call("reactor", "push", "quote", "ticks").err

    listed = call("reactor", "list")
    assert listed.out.splitlines()[1].split() == [
        "quote", "1.0.0", "Live", "any,", "sequential", "ticks,", "config", "process"
    ]  # fmt: skip
    state = call("reactor", "state", "quote", "--json").json
    assert (state["state"], state["ok"]) == ("Live", 3)
    assert "SOURCE" in call("reactor", "state", "quote").out

    assert call("reactor", "pause", "quote").out == "quote: paused\n"
    assert "nothing starts by itself" in call("why", "quote").out
    assert call("reactor", "fire", "quote", "--json").json["outcome"] == "ok"
    assert call("reactor", "fire-with", "quote", 'ticks={"number": 9}', "--json").json["outcome"] == "ok"
    bad = call("reactor", "fire-with", "quote", "ticks=9")
    assert bad.code == 1
    assert "INVALID_BOUNDARY" in bad.err
    assert call("reactor", "resume", "quote").out == "quote: resumed\n"

    call("reactor", "push", "quote", "config", '"raise"')
    letters = call("reactor", "dead", "quote", "--json").out
    (letter,) = msgspec.json.decode(letters)
    assert letter["error"] == "ValueError: as told"
    assert "redrive" in call("reactor", "dead", "quote").out
    again = call("reactor", "redrive", "quote", str(letter["id"]))
    assert again.code == 1
    assert "outcome failed" in again.out
    assert call("reactor", "revive", "quote").out == "quote: nothing of it had failed\n"

    live.until(lambda: len(live.history("reactor hold")) == 2, what="holds are not carried to the ledger")
    kinds = [line["kind"] for line in msgspec.json.decode(call("reactor", "history", "quote", "--json").out)]
    assert kinds == ["hold", "hold"]
    said = call("reactor", "history", "quote").out.splitlines()
    assert [line.rpartition("  ")[2] for line in said] == ["paused", "resumed"]
    assert msgspec.json.decode(call("why", "quote", "--json").out)["reactor"] == "quote"


def test_a_reactor_that_nobody_runs_or_that_is_not_there_is_named(live: Hosting, call: Call) -> None:
    for _, host in live.hosts:
        host.terminate()
        host.wait()
    said = call("why", "quote")
    assert "no live host runs it" in said.out
    assert call("reactor", "list").out.splitlines()[1].split()[2] == "Stopped"
    assert call("status").out.splitlines()[1].split() == ["quote", "1.0.0", "Stopped"]
    missing = call("reactor", "state", "quotes")
    assert missing.code == 1
    assert "NOT_LOADED" in missing.err
    assert "pondage reactor state quote" in missing.err
    unreached = call("reactor", "push", "quote", "ticks", "{}", "--timeout", "0")
    assert "NO_LIVE_HOST" in unreached.err


def test_a_rollback_brings_the_reactors_of_the_deployment_before_back_with_their_code_and_state(
    live: Hosting, call: Call
) -> None:
    before = live.row
    assert before is not None
    live.push(1)
    live.write(version="1.1.0", mark=" new")
    assert "reactor quote 1.1.0 changed" in call("deploy").out
    changed = live.row
    assert changed is not None
    live.start(changed.code)
    live.until(lambda: live.epoch() == 2, what="nobody runs the new code")
    live.push(2)
    assert "reactor quote 1.0.0 changed" in call("rollback").out
    back = live.row
    assert back is not None
    assert (back.declaration, back.digest, back.code) == (before.declaration, before.digest, before.code)
    live.until(lambda: live.epoch() == 3, what="nobody runs the older code")
    live.push(3)
    live.until(lambda: len(live.fires()) == 3, what="the older reactor does not fire")
    assert live.fires() == ["1 1 1", "2 1 2 new", "3 1 3"]


def test_a_live_status_shows_reactors_and_says_when_one_changes(
    live: Hosting, call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    live.until(lambda: (row := live.row) is not None and '"Live"' in row.health, what="it is not live")
    with live.ledger.reading() as tx:
        running = status(tx, live.ledger, "main")
    lines = LinesScreen()
    lines.show(running, running.at)
    lines.show(running, running.at + 10_000_000)
    for _, host in live.hosts:
        host.terminate()
        host.wait()
    with live.ledger.reading() as tx:
        lines.show(status(tx, live.ledger, "main"), running.at + 20_000_000)
    assert [line.split(maxsplit=1)[1] for line in capsys.readouterr().out.splitlines()] == [
        "reactor quote  Live",
        "reactor quote  Stopped",
    ]
    drawn = Console(file=io.StringIO(), width=100)
    with Live(console=drawn, auto_refresh=False) as screen:
        TableScreen(screen).show(running, running.at)
    assert isinstance(drawn.file, io.StringIO)
    assert "quote 1.0.0 Live" in " ".join(drawn.file.getvalue().split())


ALL = ReactorDeclaration(
    name="quote",
    criteria="all",
    durable=False,
    graphs=("g",),
    accumulators=(AccumulatorDeclaration(name="a"), AccumulatorDeclaration(name="b", kind="stream")),
)


def reasons(*events: object) -> list[str]:
    state = new_state(shape_of(ALL))
    for event in events:
        step(state, event, 0)
    row = ReactorRow(
        actor=1, environment=1, environment_name="main", name="quote", project="p", declaration=ALL, entry="",
        digest="", code="", health="", epoch=1, owner=1, address="unix:x", is_removed=False,
    )  # fmt: skip
    return [reason.text for reason in why_reactor(row, look(state)).reasons]


STARTED = [Begin(), Accumulator("a", "started"), Accumulator("b", "started")]
LIVE = [*STARTED, Accumulator("b", "connected")]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (STARTED, "it is warming and does not fire yet: b is Connecting"),
        (LIVE, "it needs something new of every source: a, b has none"),
        ([*LIVE, Push("a", 1)], "it needs something new of every source: b has none; a has"),
        ([*LIVE, Ask("c", "pause")], "it is paused: nothing starts by itself"),
        ([*LIVE, Accumulator("b", "lost")], "it fires without news from: b"),
        ([*LIVE, Ask("c", "force_fire")], "fire 1 runs now, attempt 1"),
        ([*LIVE, *([ReactorCrashed(), Begin()] * 6)], "it has failed: it crashed too often"),
    ],
)
def test_why_names_what_is_missing(events: list[object], expected: str) -> None:
    assert expected in reasons(*events)
