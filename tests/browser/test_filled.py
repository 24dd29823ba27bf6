"""The ledger that journeys begin with has what they look for."""

from pathlib import Path

from pondage.views.ponds.status import status
from pondage.views.runs.work import work
from tests.browser.filled import filled


def test_the_shop_is_in_every_state_that_the_page_draws(tmp_path: Path) -> None:
    made = filled(tmp_path / "ledger.db", tmp_path / "warehouse")
    with made.ledger.reading() as tx:
        shown = status(tx, made.ledger, "main")
        states = {pond.name: pond.state for pond in shown.ponds}
        waits = [each.waits for each in work(tx, made.ledger, "main").work if each.node == "forecast"]
        assert len(status(tx, made.ledger, "many").ponds) == 200
    made.ledger.close()
    assert set(states.values()) == {"idle", "queued", "running", "failed", "blocked", "killed"}
    assert states["payments_matched"] == "failed"
    assert states["finance_export"] == "blocked"
    assert waits == ["no worker has the label gpu"]
    assert any(len(pond.active) > 1 for pond in shown.ponds)
    assert any(pond.next.text == "its next window opens" for pond in shown.ponds)
