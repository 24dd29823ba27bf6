"""Take the pictures of the documentation, from the ledger that the journeys use: `python -m tests.browser.pictures`."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from playwright.sync_api import sync_playwright

from pondage.cli.main import main as pondage
from pondage.views.plans.saved_simulations import saved
from tests.browser.conftest import FLAGS, ROOT
from tests.browser.site import Site, site
from tests.browser.test_pages import newest

LARGEST = 150_000


def pictures(at: Site) -> dict[str, tuple[str, str, bool]]:
    """What is shown under each name: an address, what to wait for, and whether it is dark."""
    failed = newest(at, "payments_matched", "failed")
    return {
        "overview": (at.url(), "text=What is wrong", False),
        "canvas": (at.url("canvas"), ".react-flow__edge", False),
        "pond": (at.url("node", pond="payments_matched@1"), ".saw-line", False),
        "run": (at.url("run", run=failed), "text=Traceback", False),
        "flow": (at.url("flows", run=at.filled.flows.going), "text=waits for more", False),
        "timeline": (at.url("timeline", hours="6"), ".bar-planned", True),
        "reactors": (at.url("reactors"), "text=half within", True),
    }


def main() -> int:
    """Write `docs/images/*.png`; the exit code is 1 when one is too large."""
    target = ROOT / "docs" / "images"
    target.mkdir(exist_ok=True)
    chromium = shutil.which("chromium")
    assert chromium is not None, "apt-get install chromium"
    with tempfile.TemporaryDirectory() as directory, site(Path(directory)) as at, sync_playwright() as started:
        simulation = _simulated(at)
        browser = started.chromium.launch(executable_path=chromium, args=list(FLAGS))
        for name, (address, shown, is_dark) in pictures(at).items():
            window = browser.new_context(
                viewport={"width": 1180, "height": 720}, color_scheme="dark" if is_dark else "light"
            )
            tab = window.new_page()
            tab.goto(f"{address}{f'&simulation={simulation}' if name == 'timeline' else ''}#token={at.token()}")
            tab.wait_for_selector(shown)
            tab.wait_for_timeout(700)
            tab.screenshot(path=target / f"{name}.png")
            window.close()
        browser.close()
    sizes = {file.name: file.stat().st_size for file in sorted(target.glob("*.png"))}
    sys.stdout.write("".join(f"{size:>8} {name}\n" for name, size in sizes.items()))
    return 1 if max(sizes.values()) > LARGEST else 0


def _simulated(at: Site) -> str:
    """Keep a simulation of the last hours and answer its id."""
    before = Path.cwd()
    os.chdir(at.live.root)
    begin = at.filled.clock.now() // 1_000_000 - 6 * 3600
    start = datetime.fromtimestamp(begin, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    with contextlib.redirect_stdout(io.StringIO()):
        pondage(["simulate", "--for", "6h", "--start", start, "--save", "as it was planned"])
    os.chdir(before)
    with at.ledger.reading() as tx:
        return saved(tx, "main").simulations[0].id


if __name__ == "__main__":
    sys.exit(main())
