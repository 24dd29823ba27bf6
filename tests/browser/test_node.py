"""Journeys around one Pond: why it runs or does not, and what one tells it."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import msgspec
import pytest

from pondage.cli.main import main
from pondage.kernel.demand.events import Pulse
from pondage.ledger.database.clock import HostClock
from tests.browser.conftest import Open
from tests.browser.history import key, tell, wait_until
from tests.browser.site import Site
from tests.browser.test_journeys import commit_ripple
from tests.browser.waiting import asked, wait_asked, wait_enabled, wait_none


def test_a_pond_is_tapped_runs_fails_is_explained_and_cleared(open_page: Open, at: Site) -> None:
    tab = open_page("node", env="trial", pond="lagoon@1")
    tab.get_by_text("Nobody asks for it").wait_for()
    tab.get_by_role("button", name="Tap", exact=True).click()
    tab.get_by_text("pondage tap lagoon --env trial").wait_for()
    tab.get_by_role("button", name="Tap lagoon", exact=True).click()
    tab.get_by_text("Done.").wait_for()
    held = at.claim("lagoon")
    tab.locator("h1 .state-running").wait_for()
    tab.get_by_text("1 Run has started and is at lagoon.").wait_for()
    at.filled.crew.fail(held, "the dam broke")
    tab.locator("h1 .state-failed").wait_for()
    tab.get_by_text("It failed for the data of").wait_for()
    tab.get_by_text("the dam broke").first.wait_for()
    tab.get_by_role("button", name="Clear", exact=True).click()
    tab.get_by_role("button", name="Clear lagoon", exact=True).click()
    wait_until(lambda: at.state("lagoon", "trial") != "failed", what="it is never cleared")
    tab.locator("h1 .state-failed").wait_for(state="detached")


def test_a_standing_trigger_is_set_paused_is_seen_so_goes_on_and_is_taken_away(open_page: Open, at: Site) -> None:
    tab = open_page("node", env="trial", pond="reef@1")
    tab.get_by_role("button", name="Tide", exact=True).click()
    tab.get_by_label("Never older than").fill("6h")
    tab.get_by_text("pondage tide reef 6h --env trial").wait_for()
    tab.get_by_role("button", name="Tide reef", exact=True).click()
    commit_ripple(at, "reef")
    tab.get_by_text("Its Tide asks for new data").wait_for()
    tab.get_by_role("button", name="Pause", exact=True).click()
    tab.get_by_role("button", name="Pause reef", exact=True).click()
    tab.get_by_text("Its Tide asks for new data").wait_for(state="detached")
    tab.get_by_role("button", name="paused", exact=True).click()
    tab.get_by_role("button", name="Resume reef", exact=True).click()
    tab.get_by_text("Its Tide asks for new data").wait_for()
    tab.get_by_role("button", name="paused", exact=True).wait_for(state="detached")
    tab.get_by_role("button", name="Calm", exact=True).click()
    tab.get_by_role("button", name="Calm reef", exact=True).click()
    tab.get_by_text("Its Tide asks for new data").wait_for(state="detached")


def test_a_run_below_a_spliced_one_says_from_which_run_it_comes(open_page: Open, at: Site) -> None:
    with at.ledger.reading() as tx:
        run, public = tx.one(
            """SELECT r.id AS id, r.public_id AS public_id FROM runs r JOIN environments e ON e.id = r.environment
               WHERE e.name = 'main' AND r.state = 'completed' ORDER BY r.id DESC LIMIT 1""",
            tuple[int, str],
        )

    def mark(above: str) -> None:
        with at.ledger.transaction() as tx:
            tx.change("UPDATE runs SET spliced_from = :above WHERE id = :run", above=above, run=run)

    mark('["board@1#31"]')
    try:
        open_page("run", run=public).get_by_text("stands on board@1#31, spliced").wait_for()
        open_page("runs", view="list").get_by_text("stands on board@1#31, spliced").wait_for()
    finally:
        mark("[]")


def test_a_token_that_may_ask_may_not_kill(open_page: Open) -> None:
    tab = open_page("node", level="demand", env="trial", pond="reef@1")
    tab.get_by_role("button", name="Pulse", exact=True).click()
    wait_enabled(tab.get_by_role("button", name="Pulse reef", exact=True))
    tab.get_by_role("button", name="Kill", exact=True).click()
    wait_enabled(tab.get_by_role("button", name="Kill reef", exact=True), is_enabled=False)
    tab.get_by_text("it needs the level operate").wait_for()


def test_a_pond_is_found_on_the_canvas_and_opened_from_there(open_page: Open) -> None:
    tab = open_page("canvas")
    tab.locator(".react-flow__node[data-id='payments_matched@1']").click()
    tab.wait_for_url(lambda url: asked(url).get("pond") == "payments_matched@1")
    tab.get_by_role("link", name="Open").first.click()
    tab.get_by_role("heading", name="payments_matched@1").wait_for()
    tab.get_by_role("link", name="finance_export").first.click()
    tab.get_by_text("payments_matched above it failed").wait_for()


def test_groups_are_framed_and_collapse_to_one_and_the_address_knows(open_page: Open) -> None:
    tab = open_page("canvas")
    tab.get_by_label("Group", exact=True).select_option("tag")
    tab.get_by_role("button", name="Collapse the group finance").click()
    group = tab.locator(".react-flow__node[data-id='group:finance']")
    group.wait_for()
    wait_none(tab.locator(".react-flow__node[data-id='payments_matched@1']"))
    wait_asked(tab, page="canvas", group="tag", closed="finance")
    assert "is-failed" in (group.locator(".node").get_attribute("class") or ""), "what is worst inside of it"
    tab.get_by_placeholder("Find on the canvas").fill("tax_export")
    tab.locator(".react-flow__node[data-id='orders@1'] .is-dim").wait_for()
    wait_none(group.locator(".is-dim"))  # it is in there
    group.click()
    tab.locator(".react-flow__node[data-id='payments_matched@1']").wait_for()


def test_majors_of_a_pond_stand_side_by_side_and_each_says_which_it_is(open_page: Open) -> None:
    tab = open_page("canvas")
    tab.locator(".react-flow__node[data-id='sales@1']").get_by_text("@1").wait_for()
    # Measured at once, and nothing is between them: the canvas may still be moved into its place.
    tab.wait_for_function(
        """() => {
          const [upper, lower] = [1, 2].map(major =>
            document.querySelector(`.react-flow__node[data-id='sales@${major}']`)?.getBoundingClientRect());
          return upper && lower && 0 < lower.top - upper.bottom && lower.top - upper.bottom < 20;
        }"""
    )


def asks_why(url: str, pond: str) -> bool:
    """Whether it is about this Pond: the newest major goes by its name alone."""
    return unquote(urlsplit(url).path).endswith((f"/v1/why/{pond}", f"/v1/why/{pond.partition('@')[0]}"))


def test_why_on_the_page_is_what_the_command_line_says_in_twenty_states(
    open_page: Open, at: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both read the same moment, so every word must be the same."""
    moment = at.filled.clock.now()
    monkeypatch.setattr(HostClock, "now", lambda _self: moment)
    monkeypatch.chdir(at.live.root)
    tell(at.ledger, Pulse(pond=key("margin")))
    keys = [pond.key for pond in at.status().ponds]
    tab = open_page("node", pond=keys[-1])
    seen: set[tuple[str, ...]] = set()
    compared = 0
    for each in keys:
        name = each if each.startswith("sales") else each.partition("@")[0]
        capsys.readouterr()
        assert main(["why", name, "--json"]) == 0
        said = msgspec.json.decode(capsys.readouterr().out)
        # The page asks again whenever something has happened, maybe still for the Pond before.
        with tab.expect_response(lambda answer, each=each: asks_why(answer.url, each)) as answered:
            tab.evaluate(
                "search => { history.pushState(null, '', search); dispatchEvent(new PopStateEvent('popstate')); }",
                f"?page=node&pond={each}",
            )
        assert answered.value.json() == said, each
        tab.wait_for_function(
            "([name, count]) => document.querySelector('h1')?.textContent.includes(name)"
            " && document.querySelectorAll('.gate').length === count",
            arg=[each, len(said["gates"])],
        )
        shown = tab.evaluate("() => [...document.querySelectorAll('.gate p')].map(each => each.textContent)")
        assert shown == [gate["text"] for gate in said["gates"]], each
        seen.add((said["state"], *(gate["gate"] for gate in said["gates"])))
        compared += 1
    assert compared >= 20
    assert {state for state, *_ in seen} >= {"idle", "queued", "running", "failed", "blocked", "killed"}
    assert len(seen) >= 10, seen
