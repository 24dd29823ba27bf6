"""Column lineage as the work of a Ripple shows it: looked at once for each code and schema, then known."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from pondage.ledger.data import lineage
from pondage.ledger.database.driver import LedgerUnavailable
from pondage.ledger.kinds.ripple import RippleTask
from pondage.ledger.ledger import Ledger

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_log = logging.getLogger(__name__)


class LineageKeeper:
    """Knows for which code the ledger has the lineage already. Safe to use from several threads."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._known: set[tuple[str, str]] = set()

    def watcher(self, dispatch: int, task: RippleTask) -> Callable[[DataFrame], None] | None:
        """Answer what must see the Ripple's DataFrame; None when its lineage is known."""
        key = lineage.lineage_key(task.ripple, task.inputs)
        seen = (task.dataset_id, key)
        if not task.inputs or seen in self._known:
            return None
        with self._ledger.reading() as tx:
            if lineage.is_known(tx, dataset_id=task.dataset_id, key=key):
                self._known.add(seen)
                return None

        def watch(frame: DataFrame) -> None:
            from pondage.spark.ripple.lineage import column_lineage

            found = column_lineage(frame, task.inputs)
            if found is None:
                return
            try:
                with self._ledger.transaction() as tx:
                    lineage.keep(tx, dispatch=dispatch, key=key, lineage=found)
            except LedgerUnavailable:
                _log.warning("the column lineage of %s.%s is kept another time", task.pond, task.ripple.name)
                return
            self._known.add(seen)

        return watch
