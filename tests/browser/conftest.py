"""One server, one browser, and a new window of it for each journey."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.site import Site, site
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
ROOT = Path(__file__).parents[2]
SCREENS = ROOT / "build" / "screens"
"""Where the pictures of all pages are kept."""

Open = Callable[..., "Page"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium: nothing is downloaded."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    driver = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    with driver.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=chromium, headless=True, args=list(FLAGS))
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Build the page, so that what is looked at is what the files say; without Node the one that is there must do."""
    node, there = shutil.which("node"), ROOT / "src" / "pondage" / "server" / "page"
    if node is not None and (ROOT / "ui" / "node_modules").is_dir():
        fresh = tmp_path_factory.mktemp("page")
        _build(node, fresh)
        # Other suites read it at the same time, so what is right is left alone.
        if _files(fresh) != _files(there):
            _build(node, there)
    elif not (there / "index.html").is_file():
        pytest.skip("needs the page: npm ci && npm run build, in ui/")


def _build(node: str, place: Path) -> None:
    environment = {**os.environ, "PONDAGE_PAGE_OUT": str(place)}
    subprocess.run([node, "build.mjs"], cwd=ROOT / "ui", check=True, capture_output=True, env=environment)


def _files(place: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in place.iterdir()} if place.is_dir() else {}


@pytest.fixture(scope="session")
def at(tmp_path_factory: pytest.TempPathFactory, browser: Browser, built: None) -> Iterator[Site]:
    """The site; it is not begun when there is no browser to look at it."""
    assert browser.is_connected()
    with site(tmp_path_factory.mktemp("site")) as made:
        yield made


@pytest.fixture
def open_page(browser: Browser, at: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Open pages in a window of this test; at the end nothing that the page said as an error is forgiven."""
    windows = []
    errors: list[str] = []
    # A revoked token is noticed soon, and not in half a minute.
    monkeypatch.setattr("pondage.server.app.CHECK_EVERY_S", 0.3)

    def opening(
        page: str = "",
        *,
        level: str = "admin",
        token: str | None = None,
        dark: bool = False,
        before: str | None = None,
        **params: str,
    ) -> Page:
        window = browser.new_context(
            viewport={"width": 1440, "height": 900}, color_scheme="dark" if dark else "light", reduced_motion="reduce"
        )
        windows.append(window)
        tab = window.new_page()
        if before is not None:
            tab.add_init_script(before)
        tab.set_default_timeout(PATIENCE_S * 1000)
        tab.on("pageerror", lambda error: errors.append(str(error)))
        given = at.token(level) if token is None else token
        tab.goto(at.url(page, token=given, **params))
        return tab

    yield opening
    for window in windows:
        window.close()
    assert not errors, errors
