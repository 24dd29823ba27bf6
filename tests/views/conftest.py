from pathlib import Path

import pytest

from tests.ledger.harness import World, pond


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A shop on a real ledger file: `orders` and `rates` (optional) flow into `sales` (two Ripples), then `reports`."""
    made = World(tmp_path)
    made.deploy(
        pond("orders"),
        pond("rates"),
        pond("sales", sources={"orders": True, "rates": False}, ripples={"clean": [], "sales": ["clean"]}),
        pond("reports", sources={"sales": True}),
    )
    return made
