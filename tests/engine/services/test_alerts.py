"""Alerts: one for each root cause, from the outbox, to a real receiver, signed, and to no address that is not meant."""

import hashlib
import hmac
import http.server
import queue
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pondage.connect import webhook
from pondage.connect.webhook import WebhookError, deliver, is_public
from pondage.define.project.alert import AlertRule
from pondage.engine.services.alerts import Alerter, sender
from pondage.engine.services.outbox import Outbox
from pondage.errors import ProjectError
from pondage.kernel.demand.events import Clear, Pulse
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.ledger.tables import history
from pondage.ledger.tables.history import Caller, OutboxRow
from pondage.ledger.upkeep import alerts
from pondage.ledger.upkeep.alerts import Trouble
from pondage.project.project import load_project
from pondage.views.ponds.troubles import facts, troubles
from tests.engine.plain import engine_config
from tests.ledger.harness import World, pond
from tests.patience import PATIENCE_S

KEY = "a key that nobody guesses"
RULE = AlertRule(name="oncall", url="https://hooks.example.com/x", secret="env:ALERT_KEY", stale_us=60_000_000)


class Receiver(http.server.HTTPServer):
    """Takes messages, and answers with the statuses that it was given, then with 204."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.statuses: list[int] = []
        self.taken: list[tuple[dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook?team=data"

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [msgspec.json.decode(body) for _, body in self.taken]


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.taken.append(({"path": self.path, **dict(self.headers)}, body))
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 204)
        self.send_header("Location", "/elsewhere")
        self.end_headers()

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


class Watched:
    """A shop whose alerts go to a receiver."""

    def __init__(self, world: World, path: Path, receiver: Receiver) -> None:
        self.world = world
        # Time passes here without any heartbeat: who is silent has a test of its own.
        on = ("failure", "stale", "expectation", "spliced")
        self.rule = msgspec.structs.replace(RULE, url=receiver.url, allow_private=True, on=on)
        config = engine_config(path)
        self.alerter = Alerter(world.ledger, {"oncall": self.rule})
        self.outbox = Outbox(world.ledger, str(path), alert=sender(world.ledger, config))
        self.worker = world.worker()

    def look(self) -> None:
        self.alerter.run_once()
        self.outbox.run_once()

    def fail(self, key: str, code: str = "BOOM") -> None:
        self.world.send(Pulse(pond=key))  # type: ignore[arg-type]
        held = self.worker.claim()
        assert held is not None
        self.worker.fail(held, code)

    def troubles(self, **changes: Any) -> list[Trouble]:
        rule = msgspec.structs.replace(self.rule, **changes)
        with self.world.ledger.reading() as tx:
            return troubles(facts(tx, self.world.ledger, "main", rule.on), rule)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(lambda clock: SqliteDriver(tmp_path / "ledger.db", clock))
    made.deploy(pond("orders"), pond("sales", sources={"orders": True}), pond("reports", sources={"sales": True}))
    yield made
    made.ledger.close()


@pytest.fixture
def shop(world: World, tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> Watched:
    monkeypatch.setenv("ALERT_KEY", KEY)
    return Watched(world, tmp_path, receiver)


def test_a_failure_is_told_once_with_what_it_blocks_and_then_that_it_is_over(shop: Watched, receiver: Receiver) -> None:
    shop.world.send(Pulse(pond="reports@1"))
    shop.worker.drain()
    shop.world.pass_time(10)
    shop.fail("reports@1")
    for _ in range(3):
        shop.look()
    assert [(each["kind"], each["subject"], each["state"]) for each in receiver.messages] == [
        ("failure", "orders@1", "open")
    ]
    assert receiver.messages[0]["affected"] == ["reports@1", "sales@1"]
    assert "it went wrong" in receiver.messages[0]["text"]
    shop.world.pass_time(600)
    shop.look()
    assert len(receiver.messages) == 1, "the Ponds below are stale now, and that is the same cause"
    shop.world.send(Clear(pond="orders@1"))
    shop.look()
    assert len(receiver.messages) == 1, "a cleared failure is not over before something else has ended"
    shop.worker.drain()
    shop.look()
    first, last = receiver.messages
    assert (last["state"], last["id"]) == ("resolved", first["id"])
    assert last["resolved_at"] > last["opened_at"]


def test_a_message_is_signed_with_its_time_and_carries_no_secret(shop: Watched, receiver: Receiver) -> None:
    shop.fail("orders@1")
    shop.look()
    headers, body = receiver.taken[0]
    stamp = headers["Pondage-Timestamp"]
    expected = hmac.new(KEY.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
    assert headers["Pondage-Signature"] == f"v1={expected}"
    assert headers["path"] == "/hook?team=data"
    assert KEY not in str(shop.world.rows("SELECT payload FROM outbox")) + body.decode()


def test_what_is_not_taken_is_sent_again_by_the_outbox_under_the_same_id(shop: Watched, receiver: Receiver) -> None:
    receiver.statuses = [500, 302]
    shop.fail("orders@1")
    for _ in range(3):
        shop.look()
        shop.world.pass_time(10)
    assert [headers["path"] for headers, _ in receiver.taken] == ["/hook?team=data"] * 3, "no redirect is followed"
    assert len({headers["Pondage-Delivery"] for headers, _ in receiver.taken}) == 1
    assert not shop.world.rows("SELECT id FROM outbox WHERE done_at IS NULL")


def test_a_failed_expectation_is_one_alert_and_a_failure_for_whoever_asks_only_for_those(shop: Watched) -> None:
    shop.fail("orders@1", "EXPECTATION")
    assert [each.kind for each in shop.troubles()] == ["expectation"]
    assert [each.kind for each in shop.troubles(on=("failure",))] == ["failure"]
    assert shop.troubles(on=("spliced",)) == []
    assert shop.troubles(ponds=("reports",)) == []


def test_stale_outlets_are_told_by_the_first_pond_that_is_late(shop: Watched) -> None:
    shop.world.deploy(pond("other", sources={"sales": True}), pond("orders"), pond("sales", sources={"orders": True}),
                      pond("reports", sources={"sales": True}))  # fmt: skip
    for outlet in ("reports@1", "other@1"):
        shop.world.send(Pulse(pond=outlet))
    shop.worker.drain()
    assert shop.troubles(on=("stale",)) == []
    shop.world.pass_time(300)
    (found,) = shop.troubles(on=("stale",))
    assert (found.cause, found.affected) == ("orders@1", ("other@1", "reports@1"))
    shop.world.send(Pulse(pond="reports@1"))
    shop.worker.drain()
    (found,) = shop.troubles(on=("stale",))
    assert (found.cause, found.affected) == ("other@1", ("other@1",))
    assert shop.troubles(on=("stale",), ponds=("reports",)) == []


def test_a_spliced_run_is_told_until_the_next_one(shop: Watched) -> None:
    shop.world.send(Pulse(pond="sales@1"))
    shop.worker.drain()
    with shop.world.ledger.transaction() as tx:
        tx.change("UPDATE runs SET is_spliced = 1 WHERE pond = (SELECT id FROM ponds WHERE name = 'sales')")
    (found,) = shop.troubles(on=("spliced",))
    assert (found.subject, found.affected) == ("sales@1", ("reports@1",))
    shop.world.pass_time(5)
    shop.world.send(Pulse(pond="sales@1"))
    shop.worker.drain()
    assert shop.troubles(on=("spliced",)) == []


def test_a_machine_that_falls_silent_is_one_alert(shop: Watched) -> None:
    shop.world.worker(pid=2)
    assert shop.troubles(on=("silent",)) == []
    shop.world.pass_time(45)
    (found,) = shop.troubles(on=("silent",))
    assert (found.subject, len(found.affected)) == ("m", 2)


def test_two_who_look_at_once_tell_it_once(shop: Watched, receiver: Receiver) -> None:
    shop.fail("orders@1")
    (found,) = shop.troubles()
    with shop.world.ledger.transaction() as tx:
        identity = 1
        assert alerts.raise_alert(tx, shop.world.ledger.ids, identity, shop.rule, found)
        assert not alerts.raise_alert(tx, shop.world.ledger.ids, identity, shop.rule, found)
    shop.look()
    assert len(receiver.messages) == 1


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.9.9", "169.254.169.254", "100.64.0.1", "0.0.0.0", "::1", "::",
     "fe80::1", "fe80::1%eth0", "fd00::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::",
     "224.0.0.1", "ff02::1", "::127.0.0.1", "255.255.255.255"],
)  # fmt: skip
def test_an_address_of_the_own_network_is_refused_in_every_spelling(address: str) -> None:
    assert not is_public(address)
    with pytest.raises(WebhookError) as refused:
        deliver("https://hooks.example.com/x", b"{}", secret="k", delivery="1", resolve=lambda *_: [address])
    assert refused.value.code == "WEBHOOK_PRIVATE"


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "::ffff:93.184.216.34"])
def test_an_address_of_the_internet_is_not(address: str) -> None:
    assert is_public(address)


def test_a_name_with_one_private_address_among_others_is_refused() -> None:
    with pytest.raises(WebhookError, match="private"):
        deliver("http://x.example", b"", secret="k", delivery="1", resolve=lambda *_: ["93.184.216.34", "127.0.0.1"])


def test_the_connection_goes_to_the_address_that_was_looked_at_whatever_the_name_means_later(
    receiver: Receiver,
) -> None:
    """A name that is pointed elsewhere after the check is asked nothing any more: it is resolved once."""
    asked: list[str] = []

    def resolve(host: str, _port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    url = f"http://never-resolves.invalid:{receiver.server_port}/hook"
    deliver(url, b"{}", secret="k", delivery="1", allow_private=True, resolve=resolve)
    assert asked == ["never-resolves.invalid"]
    assert receiver.taken[0][0]["Host"] == f"never-resolves.invalid:{receiver.server_port}"


def test_a_private_webhook_is_kept_in_the_outbox_with_the_reason(shop: Watched, receiver: Receiver) -> None:
    shop.alerter = Alerter(shop.world.ledger, {"oncall": msgspec.structs.replace(shop.rule, allow_private=False)})
    shop.fail("orders@1")
    shop.look()
    (row,) = shop.world.rows("SELECT error FROM outbox WHERE kind = 'alert'")
    assert "WEBHOOK_PRIVATE" in str(row["error"])
    assert not receiver.taken


def test_a_rule_is_tried_with_a_message_that_means_nothing(shop: Watched, receiver: Receiver) -> None:
    with shop.world.ledger.transaction() as tx:
        alerts.put_test(tx, shop.world.ledger.ids, 1, shop.rule, by=Caller("me"))
    shop.outbox.run_once()
    assert [(each["state"], each["kind"]) for each in receiver.messages] == [("test", "test")]


class Silent:
    """A real socket that takes connections and never answers."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/hook"
        self.taken: list[socket.socket] = []

    def take(self) -> None:
        self.socket.settimeout(PATIENCE_S)
        self.taken.append(self.socket.accept()[0])

    def close(self) -> None:
        for each in (*self.taken, self.socket):
            each.close()


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Silent]:
    """Whoever waited for it would wait for ever."""
    monkeypatch.setattr(webhook, "TIMEOUT_S", None)
    monkeypatch.setenv("ALERT_KEY", KEY)
    made = Silent()
    yield made
    made.close()


def test_a_webhook_that_never_answers_keeps_nobody_else_waiting(
    world: World, tmp_path: Path, receiver: Receiver, silent: Silent
) -> None:
    ended: queue.Queue[str] = queue.Queue()
    send = sender(world.ledger, engine_config(tmp_path))

    def alert(row: OutboxRow) -> None:
        try:
            send(row)
        finally:
            ended.put("silent" if silent.url in row.payload else "good")

    outbox = Outbox(world.ledger, str(tmp_path), alert=alert, at_once=2)
    with world.ledger.transaction() as tx:
        for name, url in (("bad", silent.url), ("good", receiver.url), ("bad", silent.url), ("bad", silent.url)):
            rule = msgspec.structs.replace(RULE, name=name, url=url, allow_private=True)
            alerts.put_test(tx, world.ledger.ids, 1, rule, by=Caller("me"))
        history.put_outbox(tx, environment=1, kind="publish", payload={"pond": 1})
    outbox.run_once()
    silent.take()
    assert ended.get(timeout=PATIENCE_S) == "good"
    while len(world.rows("SELECT id FROM outbox WHERE done_at IS NOT NULL")) < 2:
        outbox.run_once()
    assert receiver.messages
    waiting = "SELECT id FROM outbox WHERE kind = 'alert' AND done_at IS NULL"
    assert len(world.rows(waiting)) == 3, "the silent ones are still being told, at most two of them at once"
    outbox.run_once()
    silent.take()
    silent.close()
    assert [ended.get(timeout=PATIENCE_S) for _ in range(2)] == ["silent", "silent"]


def test_whoever_answers_a_little_at_a_time_is_cut_off(monkeypatch: pytest.MonkeyPatch, silent: Silent) -> None:
    monkeypatch.setattr(webhook, "LONGEST_S", 0.05)
    with pytest.raises(WebhookError, match="does not answer"):
        deliver(silent.url, b"{}", secret=KEY, delivery="d", allow_private=True)


def test_an_outbox_without_a_sender_leaves_alerts_to_others(world: World, tmp_path: Path) -> None:
    with world.ledger.transaction() as tx:
        history.put_outbox(tx, environment=1, kind="alert", payload={})
    Outbox(world.ledger, str(tmp_path)).run_once()
    assert world.rows("SELECT id FROM outbox WHERE done_at IS NULL")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [('[alerts.x]\nurl = "ftp://y"\nsecret = "k"', "alerts.x.url"),
     ('[alerts.x]\nurl = "https://y"', "alerts.x.secret"),
     ('[alerts.x]\nurl = "https://y"\nsecret = "k"\non = ["stale"]', "alerts.x.stale"),
     ('[alerts.x]\nurl = "https://y"\nsecret = "k"\nstale = "soon"', "alerts.x.stale"),
     ('[alerts.x]\nurl = "https://y"\nsecret = "k"\non = ["fire"]', "alerts.x.on"),
     ('[alerts."a b"]\nurl = "https://y"', "alerts.a b")],
)  # fmt: skip
def test_a_wrong_rule_is_refused_with_its_place(tmp_path: Path, text: str, wrong: str) -> None:
    (tmp_path / "pondage.toml").write_text(text)
    with pytest.raises(ProjectError) as refused:
        load_project(tmp_path)
    assert wrong in str(refused.value)


def test_a_rule_is_read_with_its_defaults(tmp_path: Path) -> None:
    (tmp_path / "pondage.toml").write_text('environment = "live"\n[alerts.x]\nurl = "https://y/z"\nsecret = "k"\n')
    rule = load_project(tmp_path).alerts["x"]
    assert (rule.environments, rule.on) == (("live",), ("failure", "expectation", "spliced", "silent", "differing"))
