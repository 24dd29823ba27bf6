"""Journeys through the page on a ledger that the simulator filled: each does what somebody would do."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from pondage.cli.main import main
from pondage.kernel.demand.events import Pulse
from pondage.ledger.tables import api_tokens, reactors
from pondage.views.runs.runs import runs
from tests.browser.conftest import SCREENS, Open
from tests.browser.filled import commit
from tests.browser.flowing import put_more
from tests.browser.history import key, tell, wait_until
from tests.browser.site import Site
from tests.browser.test_pages import newest
from tests.browser.waiting import asked, wait_asked, wait_enabled, wait_none, wait_still

if TYPE_CHECKING:
    from playwright.sync_api import Page, Response


# ------------------------------------------------------------------------------------------------------------- who


def test_nobody_sees_anything_without_a_token_and_a_right_one_opens_it(open_page: Open, at: Site) -> None:
    tab = open_page(token="")
    tab.get_by_role("heading", name="Open it with a token").wait_for()
    tab.get_by_role("textbox", name="Token").fill("pondage_wrong")
    tab.get_by_role("button", name="Open").click()
    tab.get_by_text("BAD_TOKEN").wait_for()
    tab.get_by_role("textbox", name="Token").fill(at.token())
    tab.get_by_role("button", name="Open").click()
    tab.get_by_text("What is wrong").wait_for()


def test_a_token_leaves_the_address_at_once_and_no_other_server_is_ever_asked(open_page: Open, at: Site) -> None:
    tab = open_page(token="")
    asked_for: list[str] = []
    tab.on("request", lambda request: asked_for.append(request.url))
    token = at.token("read")
    tab.goto("about:blank")
    tab.goto(at.url("runs", token=token))
    tab.wait_for_selector("a.cell")
    assert token not in tab.url
    assert all(each.startswith((at.address, "blob:", "data:", "about:")) for each in asked_for)
    assert not any(token in each for each in asked_for)


def test_a_token_that_is_revoked_ends_what_it_opened(open_page: Open, at: Site) -> None:
    tab = open_page(token=at.token("read"))
    tab.get_by_text("What is wrong").wait_for()
    with at.ledger.transaction() as tx:
        api_tokens.revoke(tx, api_tokens.every(tx)[-1].id)
    tab.get_by_role("heading", name="This token does not open it").wait_for()
    tab.get_by_text("revoked").first.wait_for()


def test_a_token_that_has_expired_opens_nothing_and_says_what_to_type(open_page: Open, at: Site) -> None:
    tab = open_page(token=at.token("read", lasts_us=1))
    tab.get_by_role("heading", name="This token does not open it").wait_for()
    tab.get_by_text("expired").first.wait_for()
    tab.get_by_text("pondage token create").first.wait_for()


def test_a_token_that_is_too_weak_sees_and_cannot_act_and_is_told_why(open_page: Open, at: Site) -> None:
    run = newest(at, "payments_matched", "failed")
    tab = open_page("run", level="read", run=run)
    button = tab.get_by_role("button", name="Retry now")
    wait_enabled(button, is_enabled=False)
    assert "it needs the level operate" in (button.get_attribute("title") or "")
    strong = open_page("run", level="operate", run=run)
    wait_enabled(strong.get_by_role("button", name="Retry now"))


# ----------------------------------------------------------------------------------------------------------- around


def test_everything_is_found_with_the_keyboard_alone(open_page: Open) -> None:
    tab = open_page()
    tab.get_by_text("What is wrong").wait_for()
    tab.keyboard.press("/")
    tab.keyboard.type("quote")
    tab.get_by_role("option", name="Reactor quote").wait_for()
    tab.keyboard.press("Enter")
    tab.get_by_role("heading", name="quote").wait_for()
    wait_asked(tab, page="reactors", reactor="quote")
    tab.keyboard.press("g")
    tab.keyboard.press("a")
    tab.get_by_role("heading", name="Audit").wait_for()
    tab.keyboard.press("?")
    tab.get_by_role("dialog").wait_for()
    tab.keyboard.press("Escape")
    tab.go_back()
    tab.get_by_role("heading", name="Reactors").wait_for()


def test_another_environment_is_chosen_and_goes_along_with_every_link(open_page: Open) -> None:
    tab = open_page("runs")
    tab.wait_for_selector("a.cell")
    tab.get_by_label("Environment").select_option("trial")
    tab.get_by_role("link", name="harbour").wait_for()
    wait_none(tab.get_by_role("link", name="payments_matched", exact=True))
    tab.get_by_role("link", name="Audit").click()
    tab.get_by_role("heading", name="Audit").wait_for()
    wait_asked(tab, page="audit", env="trial")


def test_filters_are_in_the_address_so_that_a_link_shows_the_same_to_others(open_page: Open, at: Site) -> None:
    tab = open_page("runs")
    tab.wait_for_selector("a.cell")
    tab.get_by_label("State").select_option("failed")
    tab.get_by_role("button", name="List").click()
    tab.get_by_placeholder("a Pond or a reason").fill("10472")
    tab.get_by_text("order 10472 has two payments").first.wait_for()
    filters = {"page": "runs", "state": "failed", "view": "list", "find": "10472"}
    wait_asked(tab, **filters)
    other = open_page(**filters)
    other.get_by_text("order 10472 has two payments").first.wait_for()
    wait_none(other.get_by_text("warehouse 7 sent an empty file"))
    assert other.get_by_placeholder("a Pond or a reason").input_value() == "10472"


def test_dark_is_chosen_with_a_key_and_kept(open_page: Open) -> None:
    tab = open_page()
    tab.get_by_text("What is wrong").wait_for()
    ground = "() => getComputedStyle(document.body).backgroundColor"
    light = tab.evaluate(ground)
    tab.keyboard.press("t")
    tab.keyboard.press("t")
    tab.get_by_role("button", name="Colours: Dark").wait_for()
    tab.wait_for_function(f"light => ({ground})() !== light", arg=light)
    dark = tab.evaluate(ground)
    tab.reload()
    tab.get_by_text("What is wrong").wait_for()
    assert tab.evaluate(ground) == dark


def test_words_of_ours_are_explained_where_they_stand(open_page: Open) -> None:
    tab = open_page("processes")
    tab.get_by_role("heading", name="Processes").locator("[data-word]").first.hover()
    tab.get_by_role("tooltip").wait_for()
    assert "alive" in tab.get_by_role("tooltip").inner_text()
    tab.get_by_role("link", name="Overview").click()
    tab.get_by_text("Runs avoided today").hover()
    tab.get_by_role("tooltip").get_by_text("would have made").wait_for()


# ------------------------------------------------------------------------------------------------------------- live

COUNTING = """
window.setInterval = () => 0;
window.counted = {commits: 0, messages: 0, renders: 0};
let before = null;
window.__REACT_DEVTOOLS_GLOBAL_HOOK__ = {
  supportsFiber: true, inject: () => 1, onCommitFiberUnmount() {}, onPostCommitFiberRoot() {}, checkDCE() {},
  onCommitFiberRoot(_, root) {
    const shell = root.current.child;
    if (shell !== before && (shell.flags & 1) !== 0) window.counted.renders += 1;
    window.counted.commits += 1;
    before = shell;
  },
};
const Plain = window.WebSocket;
window.WebSocket = class extends Plain {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", () => { window.counted.messages += 1; });
  }
};
"""
"""Counts what the feed says, how often the page renders, and all that React commits (the library that draws edges takes
over its nodes in commits of its own); and stops the clock, which draws once a second."""


def test_two_hundred_ponds_are_three_requests_and_little_to_carry(open_page: Open, at: Site) -> None:
    tab = open_page(token="")
    answers: list[Response] = []
    sockets: list[str] = []
    carried = 0

    def told(frame: object) -> None:
        nonlocal carried
        carried += len(gzip.compress(frame if isinstance(frame, bytes) else str(frame).encode()))

    def opened(socket: object) -> None:
        sockets.append(socket.url)  # type: ignore[attr-defined]
        socket.on("framereceived", told)  # type: ignore[attr-defined]

    tab.goto("about:blank")
    tab.on("response", lambda answer: answers.append(answer))
    tab.on("websocket", opened)
    tab.goto(at.url("canvas", token=at.token(), env="many"))
    tab.wait_for_selector("[data-id='p199@1'], .react-flow__node")
    tab.wait_for_load_state("networkidle")
    own = [(each.url, len(gzip.compress(each.body()))) for each in answers if each.url.startswith(at.address)]
    weight = sum(size for _, size in own) + carried
    asking = [urlsplit(url).path for url, _ in own if "/v1/" in url] + [urlsplit(url).path for url in sockets]
    tab.screenshot(path=SCREENS / "canvas-many-light.png")
    assert len(asking) <= 3, asking
    assert len(own) - len(asking) + len(sockets) <= 2, "one page and one script"
    assert weight <= 250_000, (weight, own, carried)


def test_a_message_of_the_feed_is_drawn_once(open_page: Open, at: Site) -> None:
    tab = open_page("canvas", env="many", before=COUNTING)
    tab.wait_for_selector(".react-flow__node")
    tab.wait_for_function("() => window.counted.commits > 3")
    before = wait_still(tab, "() => window.counted")
    for number in (3, 13, 23):
        said = tab.evaluate("() => window.counted.messages")
        tell(at.ledger, Pulse(pond=key(f"p{number:03}")), environment="many")
        tab.wait_for_function("said => window.counted.messages > said", arg=said)
    after = wait_still(tab, "() => window.counted")
    messages, renders, commits = (after[each] - before[each] for each in ("messages", "renders", "commits"))
    assert messages >= 3
    assert renders <= messages, (before, after)
    assert commits <= 3 * messages, (before, after)


def test_a_page_that_lost_its_server_goes_on_by_itself_where_it_was(open_page: Open, at: Site) -> None:
    tab = open_page(token="")
    feeds: list[str] = []
    tab.on("websocket", lambda opened: feeds.append(opened.url))
    with at.another() as address:
        tab.goto(at.url("runs", token=at.token(), env="trial").replace(at.address, address))
        tab.get_by_role("link", name="island").wait_for()
        tab.evaluate("() => { window.isTheSame = true; }")
    tab.locator(".connection-lost").wait_for()
    tell(at.ledger, Pulse(pond=key("island")), environment="trial")
    with at.ledger.reading() as tx:
        missed = runs(tx, "trial", pond="island", limit=1).runs[0]
    with at.another(urlsplit(address).port or 0):
        tab.locator(".connection-live").wait_for()
        tab.locator(f"a.cell[href*='{missed.id}']").wait_for()
        assert tab.evaluate("() => window.isTheSame"), "nothing was loaded again"
    assert ["after=" in each for each in feeds] == [False, *[True] * (len(feeds) - 1)], feeds
    assert len(feeds) > 1
    commit_ripple(at, "island")


# -------------------------------------------------------------------------------------------------------------- acts


def commit_ripple(at: Site, node: str, error: str | None = None) -> None:
    """Let the crew end a Ripple."""
    held = at.claim(node)
    if error is None:
        at.filled.crew.end(held)
    else:
        at.filled.crew.fail(held, error)


def test_a_log_is_followed_while_it_is_written(open_page: Open, at: Site) -> None:
    held = next(each for each in at.filled.crew.open if each.claim.node == "enriched")
    tab = open_page("run", run=newest(at, "reports", "running"))
    tab.get_by_text("reading 12 files").wait_for()
    at.filled.crew.say(held, "WARNING 3 orders have no country")
    tab.get_by_text("3 orders have no country").wait_for()
    tab.get_by_role("button", name="Errors").click()
    wait_none(tab.get_by_text("reading 12 files"))


def test_a_run_is_killed_with_a_reason_that_the_audit_keeps(open_page: Open, at: Site) -> None:
    tell(at.ledger, Pulse(pond=key("harbour")), environment="trial")
    at.claim("harbour")
    tab = open_page("runs", env="trial")
    tab.locator("tr", has_text="harbour").locator("a.cell-running").click()
    tab.get_by_role("button", name="Kill").click()
    tab.get_by_label("Why?").fill("it reads the wrong port")
    tab.get_by_text("pondage kill harbour --note 'it reads the wrong port'").wait_for()
    tab.locator("form.action-note").get_by_role("button", name="Kill", exact=True).click()
    tab.get_by_role("button", name="Clear").wait_for()
    tab.get_by_role("link", name="Audit").click()
    row = tab.locator("tr", has_text="it reads the wrong port")
    row.wait_for()
    assert "kill" in row.inner_text()
    assert "harbour@1" in row.inner_text()
    tab.go_back()
    tab.get_by_role("button", name="Clear").click()
    wait_until(lambda: at.state("harbour", "trial") == "idle", what="it is never cleared")


def test_a_failed_run_is_retried_and_its_traceback_was_there(open_page: Open, at: Site) -> None:
    tell(at.ledger, Pulse(pond=key("island")), environment="trial")
    commit_ripple(at, "island", "the tide was too high")
    tab = open_page("runs", env="trial")
    tab.locator("tr", has_text="island").locator("a.cell-failed").first.click()
    tab.get_by_text("ValueError: the tide was too high").wait_for()
    tab.get_by_role("button", name="Retry now").click()
    tab.locator("form.action-note").get_by_role("button", name="Retry now", exact=True).click()
    commit_ripple(at, "island")
    tab.get_by_role("link", name="Runs", exact=True).first.click()
    tab.locator("tr", has_text="island").locator("a.cell-completed").last.wait_for()
    wait_until(lambda: at.state("island", "trial") == "idle", what="it is never well again")


def test_a_job_that_failed_is_resumed_and_goes_on_where_it_was(open_page: Open, at: Site) -> None:
    tab = open_page("run", run=at.filled.failed_job, kind="job")
    tab.get_by_text("load failed").wait_for()
    tab.get_by_text("nothing came to its input").first.wait_for()
    tab.get_by_role("button", name="Resume").click()
    tab.get_by_label("Why?").fill("the customer is there now")
    tab.locator("form.action-note").get_by_role("button", name="Resume", exact=True).click()
    tab.get_by_text("taken over from the run before").first.wait_for()
    for node in ("load", "archive", "notify"):
        commit(at.ledger, at.filled.crew, at.claim(node))
    tab.locator("h1 .state-ok").wait_for()
    tab.get_by_role("link", name=at.filled.failed_job).wait_for()


def test_segments_are_drawn_on_the_edges_of_a_flow_as_they_are_written(open_page: Open, at: Site) -> None:
    tab = open_page("flows", run=at.filled.flows.going)
    row = tab.locator("tr", has_text="clicks.out")
    row.get_by_text("37 of 40").wait_for()
    tab.locator(".job-edge", has_text="40 segments").wait_for()
    put_more(at.ledger, at.filled.flows.held["clicks"], 40)
    tab.locator(".job-edge", has_text="41 segments").wait_for()
    row.get_by_text("37 of 41").wait_for()
    tab.get_by_role("button", name="scored: running").click()
    tab.get_by_text("only scored").wait_for()
    tab.wait_for_url(lambda url: asked(url).get("component") == "scored")


def test_what_is_pushed_to_a_reactor_fires_it(open_page: Open, at: Site) -> None:
    tab = open_page("reactors", reactor="quote")
    before = int(str(at.live.state()["fires"]))
    tab.get_by_label("a value, as JSON").fill('{"number": 77}')
    tab.get_by_role("button", name="Push", exact=True).click()
    tab.get_by_text("it is durable").wait_for()
    tab.get_by_text(f"{before + 1}, ").first.wait_for()
    tab.get_by_text('{"number":77}').wait_for()
    tab.get_by_label("a value, as JSON").fill('{"number": "many"}')
    tab.get_by_role("button", name="Push", exact=True).click()
    tab.get_by_text("Refused: invalid").wait_for()
    tab.get_by_label("a value, as JSON").fill("{number")
    tab.get_by_role("button", name="Push", exact=True).click()
    tab.get_by_text("This is no JSON").wait_for()


def test_a_reactor_is_paused_and_goes_on_and_a_dead_letter_is_sent_again(open_page: Open, at: Site) -> None:
    tab = open_page("reactors", reactor="quote")
    tab.get_by_text("ValueError: as told").wait_for()
    tab.get_by_role("button", name="Pause").click()
    tab.locator("form.action-note").get_by_role("button", name="Pause", exact=True).click()
    tab.get_by_text("nothing starts by itself").wait_for()
    tab.get_by_role("button", name="Resume", exact=True).click()
    tab.get_by_role("button", name="Pause").wait_for()
    before = int(str(at.live.state()["fires"]))
    tab.get_by_role("button", name="Send again").click()
    wait_until(lambda: int(str(at.live.state()["fires"])) > before, what="the letter is never fired again")


def test_what_a_live_reactor_cannot_go_on_with_is_said_with_the_time_and_what_to_type(
    open_page: Open, at: Site
) -> None:
    with at.ledger.reading() as tx:
        row = next(each for each in reactors.deployed(tx) if each.name == "quote")
    lease = reactors.Lease(actor=row.actor, environment=row.environment, name=row.name, epoch=row.epoch, token="t")
    tab = open_page("reactors", reactor="quote")
    overview = open_page()
    tab.get_by_role("button", name="Pause").wait_for()
    try:
        with at.ledger.transaction() as tx:
            reactors.cannot_go_on(tx, lease, "publication@5", "no space left on the device")
        tab.locator(".pick .tag", has_text="stuck").wait_for()
        tab.get_by_text("publication@5 does not go on since 2").wait_for()
        tab.get_by_text("pondage reactor skip quote publication@5").first.wait_for()
        overview.get_by_text("publication@5 does not go on since 2").wait_for()
    finally:
        with at.ledger.transaction() as tx:
            reactors.goes_on(tx, row.actor)
    tab.locator(".pick .tag", has_text="stuck").wait_for(state="detached")


def test_a_simulation_stands_beside_what_really_happened(
    open_page: Open, at: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(at.live.root)
    began = datetime.fromtimestamp(at.filled.clock.now() / 1_000_000 - 600, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    words = [
        "simulate",
        "--env",
        "trial",
        "--for",
        "10m",
        "--start",
        began,
        "--pulse",
        "sandbank@5m",
        "--save",
        "a calm day",
    ]
    assert main(words) == 0
    tell(at.ledger, Pulse(pond=key("sandbank")), environment="trial")
    commit_ripple(at, "sandbank")
    tab = open_page("timeline", env="trial", hours="1")
    tab.get_by_label("Beside it").select_option(label="a calm day")
    tab.locator(".timeline-row", has_text="sandbank").locator(".bar-planned").wait_for()
    tab.get_by_text("the simulation has 1 Run here").wait_for()
    tab.locator(".timeline-row", has_text="sandbank").locator("a.bar").first.wait_for()


def test_a_run_appears_on_the_timeline_while_one_looks(open_page: Open, at: Site) -> None:
    tab = open_page("timeline", env="trial", hours="1")
    tab.wait_for_selector(".now-line")
    shown = tab.locator(".timeline-row", has_text="fleet").locator("a.bar")
    assert shown.count() == 0
    tell(at.ledger, Pulse(pond=key("fleet")), environment="trial")
    for node in ("harbour", "seen", "boats", "fleet"):
        commit_ripple(at, node)
    shown.wait_for()
    shown.click()
    tab.get_by_role("heading", name="fleet #1").wait_for()
    tab.get_by_role("link", name="#1").first.wait_for()


# --------------------------------------------------------------------------------------------------------- building


def handle(tab: Page, end: str) -> tuple[float, float]:
    """Where a port is, on the screen."""
    node, _, port = end.partition(".")
    box = tab.locator(f".react-flow__node[data-id={node}] .react-flow__handle[data-handleid={port}]").bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def draw(tab: Page, source: str, target: str) -> None:
    """Draw a connection with the mouse; what fits is known before it is let go."""
    tab.mouse.move(*handle(tab, source))
    tab.mouse.down()
    (x, y), (to_x, to_y) = handle(tab, source), handle(tab, target)
    tab.mouse.move((x + to_x) / 2, (y + to_y) / 2, steps=4)
    tab.get_by_text("that fit are lit").wait_for()
    tab.mouse.move(to_x, to_y, steps=4)


def test_what_fits_lights_up_and_what_does_not_cannot_be_connected_and_says_both_types(open_page: Open) -> None:
    tab = open_page("flows")
    tab.get_by_text("fits: 2 edges").wait_for()
    tab.get_by_role("button", name="greet@1").click()
    tab.get_by_text("2 problems").wait_for()
    tree = tab.get_by_label("The tree, as JSON")
    before = tree.input_value()
    draw(tab, "big.main", "greet.input")
    told = tab.locator(".tree-told.is-unfit")
    told.wait_for()
    assert "Table<{id: bigint, amount: double}> does not fit Table<{name: string | R}>" in told.inner_text()
    assert tab.locator(".react-flow__node[data-id=greet] .is-unfit", has_text="input").count() == 1
    assert tab.locator(".react-flow__node[data-id=rest] .is-fit", has_text="input").count() == 1
    tab.mouse.up()
    tab.get_by_role("alert").get_by_text("the column is missing").wait_for()
    assert tree.input_value() == before
    draw(tab, "big.main", "rest.input")
    tab.mouse.up()
    tab.get_by_role("button", name="Undo").wait_for()
    tab.wait_for_function(
        "() => document.querySelector('.flow-text textarea').value.includes('[\"big.main\", \"rest.input\"]')"
    )


def test_the_picture_and_the_text_are_always_the_same_and_every_step_can_be_undone(open_page: Open) -> None:
    tab = open_page("flows")
    tab.get_by_text("fits: 2 edges").wait_for()
    nodes, tree = tab.locator(".react-flow__node"), tab.get_by_label("The tree, as JSON")
    first = tree.input_value()
    tree.fill(first.replace('"rest"', '"left"').replace("rest.input", "left.input"))
    tab.locator(".react-flow__node[data-id=left]").wait_for()
    wait_none(tab.locator(".react-flow__node[data-id=rest]"))
    tab.get_by_text("fits: 2 edges").wait_for()
    tab.locator(".react-flow__node[data-id=left]").click()
    tab.keyboard.press("Delete")
    wait_none(tab.locator(".react-flow__node[data-id=left]"))
    assert "left" not in tree.input_value()
    tab.keyboard.press("Control+z")
    tab.locator(".react-flow__node[data-id=left]").wait_for()
    tab.keyboard.press("Control+z")
    tab.locator(".react-flow__node[data-id=rest]").wait_for()
    assert tree.input_value() == first
    tab.keyboard.press("Control+y")
    tab.locator(".react-flow__node[data-id=left]").wait_for()
    tree.fill("{")
    tab.get_by_text("The text is no tree now").wait_for()
    assert nodes.count() == 3
    wait_enabled(tab.get_by_role("button", name="Submit", exact=True), is_enabled=False)


def test_a_constant_is_typed_into_a_grid(open_page: Open) -> None:
    tab = open_page("flows")
    tab.get_by_text("fits: 2 edges").wait_for()
    tab.locator(".react-flow__node[data-id=orders]").click()
    tab.get_by_role("button", name="+ row").click()
    tab.get_by_label("id of row 3").fill("9007199254740993")
    tab.get_by_label("amount of row 3").fill("many")
    tab.locator("input[aria-invalid=true]").wait_for()
    assert tab.get_by_label("amount of row 3").get_attribute("aria-invalid") == "true"
    tab.get_by_label("amount of row 3").fill("7.5")
    tab.get_by_text("fits: 2 edges").wait_for()
    assert '{"id": 9007199254740993, "amount": 7.5}' in tab.get_by_label("The tree, as JSON").input_value()
