"""Waiting for what a page will show: it draws when it comes to it, and on a busy machine that is later."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

PATIENCE_MS = PATIENCE_S * 1000


def asked(url: str) -> dict[str, str]:
    """What an address says."""
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def wait_asked(tab: Page, **expected: str) -> None:
    """Wait until the address says this, and nothing else."""
    tab.wait_for_url(lambda url: asked(url) == expected)


def wait_none(found: Locator) -> None:
    """Wait until there is none."""
    found.first.wait_for(state="detached")


def wait_enabled(button: Locator, *, is_enabled: bool = True) -> None:
    """Wait until a button can be pressed, or cannot."""
    from playwright.sync_api import expect

    (expect(button).to_be_enabled if is_enabled else expect(button).to_be_disabled)(timeout=PATIENCE_MS)


def wait_still(tab: Page, count: str) -> object:
    """Wait until what a page counts does not change between two looks, and answer it.

    Between them it draws twice: what was to be drawn because of the first time is counted, too.
    """
    before, now = None, tab.evaluate(count)
    while before != now:
        tab.evaluate(_TWO_FRAMES)
        before, now = now, tab.evaluate(count)
    return now


_TWO_FRAMES = """() => new Promise(done => {
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 300)));
})"""
