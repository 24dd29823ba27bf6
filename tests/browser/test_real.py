"""Three journeys on a real pipeline: `pondage dev` with Spark behind the page, from nothing to rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import SCREENS
from tests.browser.real import EXAMPLES, Real, real
from tests.browser.test_pages import ALL_RULES, barriers
from tests.browser.waiting import wait_enabled, wait_none
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

"""Spark begins with the first work, and that takes as long as the machine is busy."""


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory, browser: Browser, built: None) -> Iterator[Real]:
    assert browser.is_connected()
    with real(tmp_path_factory.mktemp("real") / "harbour") as made:
        yield made


@pytest.fixture
def show(browser: Browser, harbour: Real) -> Iterator[Callable[[str], Page]]:
    window = browser.new_context(viewport={"width": 1440, "height": 1000}, accept_downloads=True)
    window.set_default_timeout(PATIENCE_S * 1000)

    def showing(query: str) -> Page:
        tab = window.new_page()
        address, _, fragment = harbour.url.partition("#")
        tab.goto(f"{address}?{query}#{fragment}")
        return tab

    yield showing
    window.close()


def tell(tab: Page, verb: str, pond: str) -> None:
    """Press a verb of a Pond."""
    tab.get_by_role("button", name=verb, exact=True).click()
    tab.get_by_role("button", name=f"{verb} {pond}", exact=True).click()


def test_from_nothing_a_pond_is_deployed_tapped_read_broken_explained_and_mended(
    harbour: Real, show: Callable[[str], Page]
) -> None:
    tab = show("page=overview")
    tab.get_by_text("Nothing is deployed").wait_for()
    harbour.pondage("deploy")
    tab.get_by_role("heading", name="All is well").wait_for()
    tab.get_by_role("link", name="Ponds").click()
    tab.get_by_role("link", name="cargo").first.click()
    tell(tab, "Tap", "cargo")
    tab.locator("h1 .state-idle").wait_for()
    tab.get_by_role("button", name="Tables", exact=True).click()
    tab.get_by_role("button", name="Show 20 rows").click()
    tab.get_by_role("cell", name="110", exact=True).wait_for()
    harbour.broken.touch()
    tab.get_by_role("button", name="Now", exact=True).click()
    tell(tab, "Pulse", "cargo")
    tab.locator("h1 .state-failed").wait_for()
    tab.get_by_text("The last good data stays published").wait_for()
    tab.get_by_role("link", name="Its Runs").click()
    tab.locator("a.cell-failed").first.click()
    tab.get_by_text("ValueError: container 7 is empty").first.wait_for()
    tab.get_by_text("ponds.py").first.wait_for()
    harbour.broken.unlink()
    tab.get_by_role("button", name="Clear", exact=True).click()
    tab.get_by_role("link", name="cargo").first.click()
    tab.locator("h1 .state-idle").wait_for()
    wait_none(tab.get_by_text("It failed for the data"))
    tab.get_by_role("link", name="Its Runs").click()
    tab.locator("a.cell-completed").first.click()
    tab.get_by_text("Spark stages").wait_for()
    tab.locator(".stage-table tbody tr").first.wait_for()  # what Spark did is told of a Run that is over


def test_a_job_fails_on_spark_and_is_resumed_when_its_file_has_come(harbour: Real, show: Callable[[str], Page]) -> None:
    harbour.pondage("deploy")
    tab = show("page=runs&view=jobs")
    tab.get_by_role("button", name="Run", exact=True).click()
    tab.locator("h1 .state-error").wait_for()
    tab.get_by_text("second failed").wait_for()
    (harbour.root / "second.csv").write_text("ship\n7\n")
    tab.get_by_role("button", name="Resume").click()
    tab.locator("form.action-note").get_by_role("button", name="Resume", exact=True).click()
    tab.locator("h1 .state-ok").wait_for()
    tab.get_by_text("taken over from the run before").first.wait_for()
    assert any((harbour.root / "out" / "second").glob("*.json"))


def test_a_flow_is_refused_at_its_place_mended_run_and_fetched(harbour: Real, show: Callable[[str], Page]) -> None:
    harbour.pondage("deploy")
    tab = show("page=flows")
    text = tab.get_by_label("The tree, as JSON")
    tab.get_by_text("fits: 2 edges").wait_for()
    right = text.input_value()
    wrong = right.replace('"amount": 120.0', '"amount": "many"')
    text.fill(wrong)
    problem = tab.locator(".flow-problem").first
    problem.wait_for()
    wait_enabled(tab.get_by_role("button", name="Submit", exact=True), is_enabled=False)
    line = problem.get_by_role("button").inner_text()
    assert "many" in wrong.split("\n")[int(line.split()[-1]) - 1]
    assert "TYPE_MISMATCH" in problem.inner_text()
    text.fill(right)
    tab.get_by_text("fits: 2 edges").wait_for()
    tab.get_by_role("button", name="Submit", exact=True).click()
    tab.locator(".flow-live .state-ok").wait_for()
    tab.get_by_role("link", name="Open it").click()
    tab.locator("h1 .state-ok").wait_for()
    tab.get_by_role("button", name="Extract", exact=True).wait_for()
    SCREENS.mkdir(parents=True, exist_ok=True)
    tab.screenshot(path=SCREENS / "flow-done-light.png")
    assert barriers(tab, ALL_RULES) == []
    with tab.expect_download() as fetched:
        tab.get_by_role("button", name="Extract", exact=True).click()
    assert "1,120.0" in fetched.value.path().read_text()


def test_the_cleaning_example_is_built_run_and_repaired_with_clicks_and_keys_only(
    harbour: Real, show: Callable[[str], Page]
) -> None:
    harbour.pondage("deploy")
    tab = show("page=flows")
    tab.get_by_text("fits: 2 edges").wait_for()
    tab.get_by_role("button", name="Clear").click()
    panel = tab.get_by_label("What is chosen")

    def add(program: str, name: str, *, of: str = "") -> None:
        tab.get_by_label("Find a program").fill(program)
        tab.get_by_label("Find a program").press("Enter")
        panel.get_by_label("Name", exact=True).fill(name)
        panel.get_by_label("Name", exact=True).press("Enter")
        if of:
            panel.get_by_role("button", name=f"Connect {name}.input", exact=True).click()
            panel.get_by_label(f"Where {name}.input comes from").select_option(of)
            panel.get_by_role("button", name=f"Disconnect {of} from {name}.input").wait_for()

    def pair(under: str, key: str) -> None:
        panel.get_by_label(f"A name for {under}").fill(key)
        panel.get_by_label(f"A name for {under}").press("Enter")

    def fetch(output: str, kind: str) -> None:
        panel.get_by_role("button", name=f"Fetch {output}", exact=True).click()
        panel.get_by_label(f"Format of {output.partition('.')[0]}").select_option(kind)

    add("read_csv", "orders")
    panel.get_by_role("textbox", name="location").fill("landing")
    # There is no such file: the flow will fail, and is repaired below.
    panel.get_by_role("textbox", name="file").fill("order.csv")
    for column, type_ in (("id", "bigint"), ("region", "string"), ("amount", "double")):
        pair("columns", column)
        panel.get_by_role("textbox", name=f"{column} type").fill(type_)
    add("check_rows", "check", of="orders.main")
    pair("rules", "NO_REGION")
    rule = panel.get_by_role("textbox", name="NO_REGION")
    rule.fill("len(reg")
    panel.get_by_role("button", name="Write region").click()
    tab.keyboard.type(") > 0")
    pair("rules", "NEGATIVE")
    panel.get_by_role("textbox", name="NEGATIVE").fill("amount >= 0")
    add("ignore_errors", "good", of="check.main")
    fetch("good.main", "parquet")
    add("collect_errors", "bad", of="check.main")
    fetch("bad.main", "ndjson")
    add("aggregate", "sums", of="good.main")
    panel.get_by_role("button", name="Take region for by").click()
    pair("values", "total")
    panel.get_by_label("function").select_option("sum")
    panel.get_by_role("combobox", name="column").fill("amount")
    fetch("sums.main", "csv")
    tab.get_by_text("fits: 4 edges").wait_for()

    submit = tab.get_by_role("button", name="Submit", exact=True)
    submit.click()
    tab.locator(".flow-live .state-error").wait_for()
    tab.locator(".react-flow__node[data-id=orders] .at-error").wait_for()
    tab.locator(".react-flow__node[data-id=orders]").click()
    panel.get_by_role("textbox", name="file").fill("orders.csv")
    built = json.loads(tab.get_by_label("The tree, as JSON").input_value())
    example = json.loads((EXAMPLES / "flows" / "cleaning.json").read_text())
    assert (built["nodes"], built["edges"]) == (example["nodes"], example["edges"])
    wait_enabled(submit, is_enabled=True)
    submit.click()
    tab.locator(".flow-live .state-ok").wait_for()
    tab.locator(".react-flow__node[data-id=sums] .at-ok").wait_for()
    SCREENS.mkdir(parents=True, exist_ok=True)
    tab.screenshot(path=SCREENS / "flow-built-light.png")
    assert barriers(tab, ALL_RULES) == []
    tab.get_by_role("link", name="Open it").click()
    row = tab.get_by_role("row").filter(has=tab.get_by_text("sums.main", exact=True))
    with tab.expect_download() as fetched:
        row.get_by_role("button", name="Extract", exact=True).click()
    assert fetched.value.path().read_text().splitlines() == ["region,total", "EU,31.0"]
