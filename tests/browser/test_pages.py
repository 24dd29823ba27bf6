"""Every page, light and dark: it opens, nobody is kept out by how it is made, and a picture of it is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pondage.views.runs.runs import runs
from tests.browser.conftest import SCREENS, Open
from tests.browser.site import Site

AXE = Path(__file__).parents[2] / "ui" / "node_modules" / "axe-core" / "axe.min.js"


def newest(at: Site, pond: str, state: str) -> str:
    """The id of a Pond's newest Run in a state."""
    with at.ledger.reading() as tx:
        return runs(tx, "main", pond=pond, state=state, limit=1).runs[0].id


Params = Callable[[Site], dict[str, str]]
PAGES: dict[str, tuple[str, Params, str]] = {
    "overview": ("", lambda _: {}, "text=What is wrong"),
    "canvas": ("canvas", lambda _: {}, ".react-flow__edge"),
    "canvas-chosen": ("canvas", lambda _: {"pond": "sales@2"}, ".chosen-why li"),
    "canvas-groups": ("canvas", lambda _: {"group": "tag", "closed": "raw"}, ".node-group"),
    "ponds": ("node", lambda _: {}, ".pond-table"),
    "pond": ("node", lambda _: {"pond": "sales@2", "do": "tide"}, ".saw-line"),
    "pond-failed": ("node", lambda _: {"pond": "payments_matched", "do": "kill"}, ".gate"),
    "pond-tables": ("node", lambda _: {"pond": "sales", "tab": "tables"}, "text=In a query"),
    "pond-code": ("node", lambda _: {"pond": "reports@1", "tab": "code"}, "text=ponds/reports.py"),
    "pond-lineage": ("node", lambda _: {"pond": "sales", "tab": "lineage"}, "text=Above it"),
    "runs": ("runs", lambda _: {}, "a.cell"),
    "runs-list": ("runs", lambda _: {"view": "list", "state": "failed"}, "text=order 10472"),
    "runs-jobs": ("runs", lambda _: {"view": "jobs"}, "text=nightly_load"),
    "run-failed": ("run", lambda at: {"run": newest(at, "payments_matched", "failed")}, "text=Traceback"),
    "run-done": ("run", lambda at: {"run": newest(at, "sales", "completed")}, "text=Spark stages"),
    "run-open": ("run", lambda at: {"run": newest(at, "reports", "running")}, "progress"),
    "job-failed": ("run", lambda at: {"run": at.filled.failed_job, "kind": "job"}, "text=load failed"),
    "job-open": ("run", lambda at: {"run": at.filled.running_job, "kind": "job"}, ".job-running"),
    "timeline": ("timeline", lambda _: {"hours": "6"}, ".now-line"),
    "reactors": ("reactors", lambda _: {}, "text=half within"),
    "flows": ("flows", lambda _: {}, "text=fits: 2 edges"),
    "flow-open": ("flows", lambda at: {"run": at.filled.flows.going}, "text=waits for more"),
    "flow-ended": (
        "flows",
        lambda at: {"run": at.filled.flows.ended, "component": "scored"},
        "text=as a whole",
    ),
    "plan": ("plan", lambda _: {}, "text=takes over when"),
    "processes": ("processes", lambda _: {}, "text=no worker has the label gpu"),
    "audit": ("audit", lambda _: {}, "text=nobody reads it"),
}
"""What is opened, with which filters, and what it shows when it is there."""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_and_has_no_barrier_light_or_dark(name: str, open_page: Open, at: Site) -> None:
    page, params, shown = PAGES[name]
    tab = open_page(page, **params(at))
    tab.set_viewport_size({"width": 1440, "height": 1150})
    tab.wait_for_selector(shown)
    SCREENS.mkdir(parents=True, exist_ok=True)
    tab.screenshot(path=SCREENS / f"{name}-light.png")
    assert barriers(tab, ALL_RULES) == []
    tab.emulate_media(color_scheme="dark")
    tab.screenshot(path=SCREENS / f"{name}-dark.png")
    assert barriers(tab, COLOURS) == []
    tab.set_viewport_size({"width": 1280, "height": 800})
    # It must not scroll sideways; what is measured by a script follows the window a little later.
    tab.wait_for_function("() => innerWidth === 1280 && document.documentElement.scrollWidth <= 1280")
    tab.set_viewport_size({"width": 480, "height": 900})
    # Only what is in a box that scrolls may be wider than a telephone.
    tab.wait_for_function(f"() => innerWidth === 480 && {FITS}")


def test_the_programs_that_a_tree_may_use_are_found_by_what_they_do(open_page: Open) -> None:
    tab = open_page("flows")
    tab.get_by_label("Find a program").fill("rows condition reject")
    item = tab.locator(".palette-item")
    item.get_by_text("split@1").wait_for()
    assert "input: Table<Any> → main: Table<Any>" in item.first.inner_text()
    assert tab.locator(".palette h3").all_inner_texts() == ["library"]
    assert barriers(tab, ALL_RULES) == []


ALL_RULES = "{runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice']}"
FITS = """[...document.querySelectorAll("main .panel, main .choice, main h1, main pre, main select")]
    .every((each) => each.getBoundingClientRect().right <= innerWidth)"""
COLOURS = "{runOnly: {type: 'rule', values: ['color-contrast']}}"
"""All that is different in the dark."""


def barriers(tab: Any, which: str) -> list[str]:
    """What axe finds wrong with a page, one line for each kind."""
    if not AXE.is_file():
        pytest.skip("needs axe-core: npm ci in ui/")
    # Evaluated by the browser's driver: the page's own policy forbids scripts of others.
    if not tab.evaluate("() => 'axe' in window"):
        tab.evaluate(AXE.read_text())
    found = tab.evaluate(f"() => axe.run(document, {which})")
    return [
        f"{each['id']}: {each['help']}: {', '.join(str(node['target'][0]) for node in each['nodes'][:3])}"
        for each in found["violations"]
    ]
